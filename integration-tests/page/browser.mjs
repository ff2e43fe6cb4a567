// A page of ours in a headless Chromium, and what every such check does.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import chromium from "@sparticuz/chromium";
import { chromium as browsers } from "playwright-core";

// A browser; CHROMIUM = another one than that of the npm package.
export async function launch() {
  return browsers.launch({ executablePath: process.env.CHROMIUM || await chromium.executablePath(), args: chromium.args, headless: true });
}

// Opens a file, which must not take longer than so many seconds, and gathers what the page complains about and asks for.
export async function openPage(name, mostSeconds) {
  const file = resolve(name);
  const browser = await launch();
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, colorScheme: "light" });
  // Only ends what hangs: on a busy machine a browser takes its time.
  page.setDefaultTimeout(180_000);
  const complaints = [];
  const requests = [];
  const steps = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("request", (request) => requests.push(request.url()));
  const began = performance.now();
  await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
  // Two frames later, what was drawn is on the screen.
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  const seconds = (performance.now() - began) / 1000;
  const tab = (name) => page.click(`nav button[data-view="${name}"]`);
  return {
    page,
    tab,
    step: async (name, action) => {
      await action();
      steps.push(name);
    },
    expectNothingStrange: () => {
      assert.deepEqual(requests.filter((url) => !url.startsWith("file:")), []);
      assert.deepEqual(complaints, []);
    },
    // Says what was checked; with SCREENSHOTS set, pictures of these views are taken.
    finish: async (views) => {
      for (const view of process.env.SCREENSHOTS ? views : []) {
        if (!await page.locator(`nav button[data-view="${view}"]`).count()) continue;
        await tab(view);
        await page.screenshot({ path: `${process.env.SCREENSHOTS}-${view}.png` });
      }
      const version = browser.version();
      await browser.close();
      console.log(`Chromium ${version}: ${file}, ${(statSync(file).size / 1e6).toFixed(2)} MB, opened in ${seconds.toFixed(2)} s`);
      for (const name of steps) console.log(`  ok: ${name}`);
      assert.ok(seconds < mostSeconds, `opening took ${seconds.toFixed(2)} s, more than ${mostSeconds} s`);
    },
  };
}
