// Opens exported files in the programs that they are for, in a headless Chromium: Perfetto's UI with its trace_processor
// (Perfetto's format and Chrome's JSON), and speedscope (its own format and collapsed stacks). Prints what these have read.
//
// node open.mjs PERFETTO_UI SPEEDSCOPE FOLDER: directories of the two programs, and one with sample.perfetto, sample.chrome,
// sample.speedscope, sample.collapsed, and tasks.perfetto, tasks.chrome of a recording with tasks. A step that fails ends it with an error.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { launch } from "./browser.mjs";

const [perfetto, speedscope, folder] = process.argv.slice(2);
const PATIENCE = { timeout: 180_000, polling: 300 };
const KINDS = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".woff2": "font/woff2" };
const file = (format) => join(folder, `sample.${format}`);

// Runs `visit` with a page of the program in this directory; nothing beyond this machine is asked for.
async function visit(directory, visitor) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    const body = await readFile(join(directory, path === "/" ? "index.html" : path)).catch(() => null);
    response.writeHead(body ? 200 : 404, { "content-type": KINDS[extname(path)] ?? "text/html" }).end(body);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const origin = `http://127.0.0.1:${server.address().port}/`;
  // This Chromium is one process: a browser for each page.
  const browser = await launch();
  const page = await browser.newPage({ serviceWorkers: "block" });
  await page.route((url) => url.hostname !== "127.0.0.1", (route) => route.abort());
  await page.goto(origin);
  await page.waitForSelector("input[type=file]", { state: "attached", timeout: PATIENCE.timeout });
  await visitor(page);
  await browser.close();
  server.close();
}

// The arrows of tasks, as trace_processor has understood them: from which call to which.
async function arrowsInPerfetto(page, format) {
  await load(page, join(folder, `tasks.${format}`));
  const read = await page.evaluate(async () => {
    const query = `select count(*) as arrows, count(distinct a.id) as givers, count(distinct b.id) as takers
      from flow join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id
      where a.name like '%hand' and b.name like '%work' and a.ts < b.ts and b.ts - a.ts < 1000000`;
    const { arrows, givers, takers } = (await app.trace.engine.query(query)).firstRow({ arrows: 0, givers: 0, takers: 0 });
    const all = (await app.trace.engine.query("select count(*) as flows from flow")).firstRow({ flows: 0 });
    const errors = (await app.trace.engine.query("select count(*) as errors from stats where severity = 'error' and value > 0")).firstRow({ errors: 0 });
    return { arrows, givers, takers, all: all.flows, errors: errors.errors };
  });
  assert.equal(read.errors, 0, `trace_processor reports errors in the arrows of ${format}`);
  assert.deepEqual([read.givers, read.takers, read.all], [read.arrows, read.arrows, read.arrows]);
  console.log(`trace_processor ${format} arrows ${read.arrows}`);
}

async function load(page, path) {
  await page.locator("input[type=file]").first().setInputFiles(path);
  await page.waitForFunction(() => self.app?.trace?.engine, null, PATIENCE);
}

async function openInPerfetto(page, format) {
  await load(page, file(format));
  const read = await page.evaluate(async () => {
    const first = async (sql, columns) => (await app.trace.engine.query(sql)).firstRow(columns);
    const slices = await first("select count(*) as calls, sum(dur) as time from slice", { calls: 0n, time: 0n });
    const threads = await first("select count(distinct track_id) as tracks from slice", { tracks: 0 });
    const errors = await first("select count(*) as errors from stats where severity = 'error' and value > 0", { errors: 0 });
    const open = await first("select count(*) as open from slice where dur < 0", { open: 0 });
    return { calls: String(slices.calls), time: String(slices.time), tracks: threads.tracks, errors: errors.errors, open: open.open };
  });
  assert.equal(read.errors, 0, `trace_processor reports errors in ${format}`);
  assert.equal(read.open, 0, `every call of ${format} has its end`);
  console.log(`trace_processor ${format} slices ${read.calls} threads ${read.tracks} nanoseconds ${read.time}`);
}

// Speedscope's table: what a row says of its symbol's own value, and the name.
async function openInSpeedscope(page, format) {
  await page.locator("input[type=file]").first().setInputFiles(file(format));
  await page.waitForFunction(() => document.title !== "speedscope", null, PATIENCE);
  const head = await page.evaluate(() => document.body.innerText);
  await page.keyboard.press("3");
  await page.waitForFunction(() => document.body.innerText.includes("Symbol Name"), null, PATIENCE);
  const table = await page.evaluate(() => document.body.innerText);
  const row = table.split("Symbol Name")[1].trim().split("\n").map((line) => line.trim());
  return { head, own: row[1], name: row[2] };
}

// Own time of each frame of a profile of events, in its unit.
function ownTimes(profile) {
  const own = new Map();
  const open = [];
  let last = profile.startValue;
  for (const { type, frame, at } of profile.events) {
    if (open.length) own.set(open.at(-1), (own.get(open.at(-1)) ?? 0) + at - last);
    last = at;
    if (type === "O") open.push(frame);
    else assert.equal(open.pop(), frame);
  }
  return own;
}

async function checkSpeedscope(page) {
  const shown = await openInSpeedscope(page, "speedscope");
  const whole = JSON.parse(await readFile(file("speedscope"), "utf8"));
  const [, name, of] = shown.head.match(/(\S+) \(\d+\/(\d+)\)/);
  assert.equal(Number(of), whole.profiles.length, "a profile for each thread");
  const own = ownTimes(whole.profiles.find((profile) => profile.name === name));
  const [frame, most] = [...own].reduce((a, b) => (b[1] > a[1] ? b : a));
  assert.equal(shown.name, whole.shared.frames[frame].name, "the method with the most time of its own");
  const [, number, unit] = shown.own.match(/^([\d.]+)(ns|µs|ms|s) /);
  const nanos = Number(number) * { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 }[unit];
  assert.ok(Math.abs(nanos - most) <= 0.01 * { ns: 1, "µs": 1e3, ms: 1e6, s: 1e9 }[unit], `${shown.own}, not ${most} ns`);
  const calls = whole.profiles.reduce((sum, profile) => sum + profile.events.filter((event) => event.type === "O").length, 0);
  console.log(`speedscope profiles ${of} calls ${calls} first ${shown.name} ${shown.own}`);
}

async function checkCollapsed(page) {
  const shown = await openInSpeedscope(page, "collapsed");
  const own = new Map();
  for (const line of (await readFile(file("collapsed"), "utf8")).trim().split("\n")) {
    const at = line.lastIndexOf(" ");
    const name = line.slice(0, at).split(";").pop();
    own.set(name, (own.get(name) ?? 0) + Number(line.slice(at + 1)));
  }
  const [name, most] = [...own].reduce((a, b) => (b[1] > a[1] ? b : a));
  assert.equal(shown.name, name);
  assert.equal(Number(shown.own.split(" ")[0].replaceAll(",", "")), most);
  console.log(`speedscope collapsed first ${shown.name} ${shown.own}`);
}

for (const format of ["perfetto", "chrome"]) await visit(perfetto, (page) => openInPerfetto(page, format));
for (const format of ["perfetto", "chrome"]) await visit(perfetto, (page) => arrowsInPerfetto(page, format));
await visit(speedscope, checkSpeedscope);
await visit(speedscope, checkCollapsed);
