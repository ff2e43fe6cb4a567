// Checks the callers and callees of a recursive method, as the page's script adds them up. Needs no browser.
//
// node relations.mjs MODEL_JS
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import vm from "node:vm";

// `a` calls itself twice; the outermost and the innermost call of it call `b`, and that `b` calls `a` again, which calls `b`.
const nodes = {
  parent: [0, 0, 1, 2, 1, 3, 5, 6],
  frame: [-1, 0, 0, 0, 1, 1, 0, 1],
  calls: [1, 1, 1, 1, 1, 1, 1, 1],
  total: [3000, 3000, 2500, 2000, 100, 1500, 1400, 1300],
};
const frames = ["a", "b"].map((method) => ({ class: "C", method, descriptor: "()V" }));
const data = { calls: 8, samples: null, allocations: null, nodes, frames, recording: {} };
const document = { getElementById: () => ({ textContent: JSON.stringify(data) }) };
const page = vm.createContext({ document, location: { search: "" }, URLSearchParams, Intl });
vm.runInContext(readFileSync(process.argv[2], "utf8"), page);
const rows = (frame, side) => JSON.parse(vm.runInContext(`JSON.stringify(relations(${frame}).${side})`, page));

assert.deepEqual(rows(0, "callees"), [{ frame: 0, calls: 2, total: 2500 }, { frame: 1, calls: 3, total: 1600 }]);
assert.deepEqual(rows(0, "callers"), [{ frame: -1, calls: 1, total: 3000 }, { frame: 0, calls: 2, total: 2500 }, { frame: 1, calls: 1, total: 1400 }]);
console.log("ok  the time of recursive calls counts once among callers and callees");
