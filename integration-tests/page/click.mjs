// Opens an HTML report in a headless Chromium, clicks through it as a person would, and compares what it shows with the data.
//
// node click.mjs PAGE [MOST_SECONDS]; CHROMIUM = another browser than the one of the npm package.
import assert from "node:assert/strict";
import { openPage } from "./browser.mjs";

const { page, step, tab, finish, expectNothingStrange } = await openPage(process.argv[2], Number(process.argv[3] ?? 3));
const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
// The middle of a box of the flame graph, on the screen.
const box = (node) => page.evaluate((node) => {
  const place = flame.canvas.getBoundingClientRect();
  const [left, right] = edges(node, place.width);
  return { x: place.left + (Math.max(left, 0) + Math.min(right, place.width)) / 2, y: place.top + (layout.depth[node] + 0.5) * flame.row };
}, node);

await step("the flame graph is there", async () => {
  assert.ok(await page.evaluate(() => flame.canvas.height > flame.row && nodes.parent.length > 1));
});
await step("own + children + left out = total, for each node", async () => {
  const wrong = await page.evaluate(() => nodes.total.filter((total, node) => {
    const below = children[node].reduce((sum, child) => sum + nodes.total[child], 0) + nodes.hidden_total[node];
    return nodes.estimated[node] ? false : nodes.own[node] + below !== total;
  }).length);
  assert.equal(wrong, 0);
});
await step("a click into the flame graph zooms, Escape goes back", async () => {
  const node = await page.evaluate(() => children[children[0][0]][0] ?? children[0][0]);
  const { x, y } = await box(node);
  await page.mouse.move(x, y);
  const facts = await page.innerText("#tooltip");
  assert.ok(facts.includes(await page.evaluate((node) => time(nodes.total[node]), node)), facts);
  await page.mouse.click(x, y);
  assert.equal(await page.evaluate(() => flame.zoom), node);
  assert.ok((await page.innerText(".path")).includes(await page.evaluate((node) => frames[nodes.frame[node]].method, node)));
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => flame.zoom), 0);
});
await step("arrow keys and Enter do the same", async () => {
  await page.mouse.move(5, 5);
  await page.focus("#flame canvas");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => flame.zoom), await page.evaluate(() => children[0][0]));
  await page.keyboard.press("Escape");
});
const wanted = await page.evaluate(() => {
  const frame = nodes.frame[children[children[0][0]][0] ?? children[0][0]];
  return { frame, name: fullName(frames[frame]) };
});
await step("the search highlights and says how much it is", async () => {
  await page.keyboard.press("/");
  await page.keyboard.type(wanted.name);
  const said = await page.innerText(".tools .faint >> nth=0");
  assert.match(said, /^[\d,]+ methods, [\d.]+ % of the time$/);
  assert.ok(await page.evaluate((frame) => flame.matches[frame], wanted.frame));
});
await step("the call tree opens and closes", async () => {
  await tab("tree");
  const rows = () => page.locator(".tree tbody tr").count();
  const before = await rows();
  await page.locator('.tree button[aria-expanded="false"]').first().click();
  const open = await rows();
  assert.ok(open > before, `${open} rows after ${before}`);
  await page.keyboard.press("ArrowLeft");
  assert.ok(await rows() < open);
});
await step("the tree finds a method", async () => {
  await page.keyboard.press("/");
  await page.keyboard.type(wanted.name);
  await page.keyboard.press("Enter");
  const row = page.locator("tr.found");
  assert.ok(await row.isVisible());
  assert.ok((await row.locator("button.link").getAttribute("title")).startsWith(wanted.name));
});
await step("callers and callees", async () => {
  await page.locator("tr.found button.link").click();
  const text = await page.innerText("dialog");
  assert.ok(text.includes("Called by") && text.includes(wanted.name));
  const calls = await page.evaluate((frame) => relations(frame).callers.reduce((sum, row) => sum + row.calls, 0), wanted.frame);
  assert.ok(calls > 0);
  await page.keyboard.press("Escape");
});
await step("the table of methods filters and sorts", async () => {
  await tab("methods");
  const panel = page.locator("#panels > :not([hidden])");
  const first = async () => (await panel.locator("tbody tr").first().innerText()).split("\t")[4];
  await panel.getByRole("button", { name: "Calls" }).click();
  const most = await page.evaluate(() => count(Math.max(...frames.map((frame) => frame.calls))));
  assert.equal((await first()).replace("≥", ""), most);
  if (await panel.locator("input").count()) {
    await panel.locator("input").fill(wanted.name);
    assert.ok((await panel.locator("tbody").innerText()).includes(wanted.name));
  }
});
await step("modules, packages and classes add up to the same, and lead to their methods", async () => {
  await tab("groups");
  const sums = await page.evaluate(() => GROUPINGS.map(([key]) => data.views[key].reduce((sum, row) => sum + row.own, 0)));
  const own = await page.evaluate(() => frames.reduce((sum, frame) => sum + frame.own, 0));
  assert.deepEqual(sums, [own, own, own]);
  const panel = page.locator("#panels > :not([hidden])");
  await panel.locator('button[data-grouping="classes"]').click();
  const link = panel.locator("tbody button.link").first();
  const name = await link.innerText();
  await link.click();
  assert.equal(await page.locator('nav button[aria-selected="true"]').getAttribute("data-view"), "methods");
  assert.ok((await page.locator("#panels > :not([hidden]) tbody").innerText()).includes(name.split(".").pop()));
});
if (await page.locator('nav button[data-view="timeline"]').count()) {
  await step("the time line zooms, moves and opens a call", async () => {
    await tab("timeline");
    await page.focus("#timeline canvas");
    const width = () => page.evaluate(() => axis.to - axis.from);
    const all = await width();
    await page.keyboard.press("+");
    assert.ok(Math.abs(await width() - all / 2) < all / 100);
    const from = await page.evaluate(() => axis.from);
    await page.keyboard.press("ArrowRight");
    assert.ok(await page.evaluate(() => axis.from) > from);
    await page.keyboard.press("0");
    assert.equal(await width(), all);
    const place = await page.evaluate(() => {
      const lane = axis.lanes.find((lane) => lane.calls.length);
      const call = lane.calls.reduce((a, b) => (data.time_line.length[b] > data.time_line.length[a] ? b : a));
      const line = data.time_line;
      const canvas = axis.canvas.getBoundingClientRect();
      const middle = line.start[call] + line.length[call] / 2;
      return { x: canvas.left + axis.head + middle * plotWidth() / duration(), y: canvas.top + lane.top + axis.strip + (lane.row.get(call) + 0.5) * axis.row };
    });
    await page.mouse.click(place.x, place.y);
    assert.ok(await page.evaluate(() => document.getElementById("method").open));
    await page.keyboard.press("Escape");
  });
}
if (await page.locator('nav button[data-view="diagnoses"]').count()) {
  await step("diagnoses have their result first, the path that was followed is open, and no figure stands for what was not measured", async () => {
    await tab("diagnoses");
    const panel = page.locator("#panels > :not([hidden]) .diagnosis").first();
    const [sentence, followed, last] = await page.evaluate(() => {
      const all = (node) => [node, ...node.children.flatMap(all)];
      const path = all(data.diagnoses[0].tree).filter((node) => node.followed);
      return [data.diagnoses[0].sentence, path.length, path.at(-1)];
    });
    assert.ok((await panel.innerText()).startsWith(sentence));
    assert.equal(await panel.locator("tr.followed").count(), followed);
    assert.ok((await panel.locator("tr.followed").last().innerText()).includes(last.reason));
    const rows = () => panel.locator("tbody tr").count();
    const before = await rows();
    await panel.getByText("more that explain less").first().click();
    assert.ok(await rows() > before);
    const unmeasured = panel.locator("tr.unmeasured").first();
    assert.match(await unmeasured.innerText(), /^\d+\t+[^\t]+$/);
    assert.equal(await unmeasured.locator("td.text").evaluate((cell) => getComputedStyle(cell).fontStyle), "italic");
    await panel.locator('button[aria-expanded="true"]').first().click();
    assert.equal(await rows(), 1);
    await page.keyboard.press("ArrowRight");
    assert.ok(await rows() > before);
  });
}
const methods = await page.evaluate(() => frames.length);
const others = await page.evaluate(() => sources.slice(1));
for (const name of others) {
  await step(`${name} in place of calls`, async () => {
    await Promise.all([page.waitForNavigation(), page.click("#source")]);
    assert.equal(await page.evaluate(() => source), name);
    const [all, total, own] = await page.evaluate(() =>
      [isMemory ? data.allocations.bytes : data.samples.ticks * data.samples.interval, nodes.total[0], nodes.own.reduce((sum, own) => sum + own, 0) + nodes.hidden_total.reduce((sum, hidden) => sum + hidden, 0)]);
    assert.equal(total, all);
    assert.equal(own, total);
    await tab("flame");
    const node = await page.evaluate(() => children[0][0]);
    const { x, y } = await box(node);
    await page.mouse.move(x, y);
    const facts = await page.innerText("#tooltip");
    assert.match(facts, /samples/);
    assert.ok(facts.includes(await page.evaluate((node) => amount(nodes.total[node]), node)), facts);
    if (name === "allocations") {
      await tab("objects");
      const classes = await page.evaluate(() => data.allocations.classes.map((row) => row.name));
      assert.ok((await page.locator("#panels > :not([hidden]) tbody").innerText()).includes(classes[0]));
    }
  });
}
if (others.length) {
  await step("and calls again", async () => {
    await Promise.all([page.waitForNavigation(), page.click("#source")]);
    assert.equal(await page.evaluate(() => frames.length), methods);
  });
}
await step("dark and light", async () => {
  const light = await background();
  await page.click("#theme");
  const dark = await background();
  assert.notEqual(dark, light);
  await page.click("#theme");
  assert.equal(await background(), light);
});
await step("nothing from the network, no error", expectNothingStrange);
await finish(["flame", "timeline", "diagnoses", "groups", "tree"]);
