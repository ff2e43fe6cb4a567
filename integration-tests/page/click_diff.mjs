// Opens the HTML page of `instr diff` in a headless Chromium and compares what it shows with its data.
//
// node click_diff.mjs PAGE [MOST_SECONDS]
import assert from "node:assert/strict";
import { openPage } from "./browser.mjs";

const { page, step, tab, finish, expectNothingStrange } = await openPage(process.argv[2], Number(process.argv[3] ?? 3));
const sums = () => page.evaluate(() => ({ total: nodes.total[0], own: nodes.own.reduce((sum, own) => sum + own, 0), paths: nodes.parent.length, all: data.paths }));

await step("the flame graph has the widths of the later recording, and its own times add up", async () => {
  assert.ok(await page.evaluate(() => flame.canvas.height > flame.row));
  const { total, own, paths, all } = await sums();
  assert.equal(total, await page.evaluate(() => diff.totals[1]));
  if (paths === all) assert.equal(own, total);
});
await step("red is more, blue is less: the other way round it is the other way round", async () => {
  const [one, other] = await page.evaluate(() => {
    const hues = () => nodes.parent.map((_, node) => {
      const change = changeOf(node);
      return node === 0 || change === 0 ? "none" : `${Math.sign(change)} ${differenceColour(node, { lightness: "74%" }).split(" ")[0]}`;
    });
    const found = hues();
    diff.nodes.reverse();
    const reversed = hues();
    diff.nodes.reverse();
    return [found, reversed];
  });
  const opposite = { none: "none", "1 hsl(8": "-1 hsl(214", "-1 hsl(214": "1 hsl(8" };
  assert.ok(new Set(one).size > 1, "some path has changed");
  assert.deepEqual(other, one.map((hue) => opposite[hue]));
});
await step("a colour is on the screen where the data says more", async () => {
  const pixel = await page.evaluate(() => {
    const width = flame.holder.clientWidth;
    const wide = (node) => { const [left, right] = edges(node, width); return right - left > 4; };
    const node = nodes.parent.findIndex((_, node) => node > 0 && wide(node) && changeOf(node) > 0.2);
    if (node < 0) return null;
    const [left, right] = edges(node, width);
    const density = flame.canvas.width / width;
    const at = [(left + 1.5) * density, (layout.depth[node] * flame.row + 3) * density];
    return [...flame.canvas.getContext("2d").getImageData(...at, 1, 1).data, right - left];
  });
  assert.ok(pixel, "a method that takes more time");
  assert.ok(pixel[0] > pixel[2], `red of ${pixel}`);
});
await step("the other side has the widths of the earlier recording", async () => {
  await page.click('button[data-side="before"]');
  const { total, own, paths, all } = await sums();
  assert.equal(total, await page.evaluate(() => diff.totals[0]));
  if (paths === all) assert.equal(own, total);
  await page.click('button[data-side="after"]');
});
const wanted = await page.evaluate(() => diff.methods[0].name);
await step("the search highlights", async () => {
  await page.keyboard.press("/");
  await page.keyboard.type(wanted);
  assert.match(await page.innerText("#panels .tools .faint >> nth=1"), /methods, [\d.]+ % of the time$/);
  await page.keyboard.press("Escape");
});
await step("the table begins with the largest difference, filters, and opens a method", async () => {
  await tab("methods");
  const panel = page.locator("#panels > :not([hidden])");
  const row = panel.locator("tbody tr").first();
  assert.ok((await row.innerText()).includes(wanted.split(".").pop()));
  if (await panel.locator("input").count()) {
    await panel.locator("input").fill(wanted);
    assert.ok((await panel.locator("tbody").innerText()).includes(wanted.split(".").pop()));
  }
  await row.locator("button.link").click();
  const text = await page.innerText("dialog");
  assert.ok(text.includes("→") && text.includes("Called by"), text);
  await page.keyboard.press("Escape");
});
await step("dark and light", async () => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.click("#theme");
  assert.notEqual(await background(), light);
  await page.click("#theme");
  assert.equal(await background(), light);
});
await step("nothing from the network, no error", expectNothingStrange);
await finish(["flame", "methods", "recording"]);
