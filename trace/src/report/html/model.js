"use strict";
// The data of the page, and what is derived from it. Names come from the recorded application: they are only ever
// set as text, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
// Of a recording with several, the address says whether calls, samples or allocations are shown.
const sources = [["calls", data.calls > 0], ["samples", data.samples != null], ["allocations", data.allocations != null]].filter(([, isThere]) => isThere).map(([name]) => name);
const source = sources.find((name) => new URLSearchParams(location.search).has(name)) ?? sources[0] ?? "calls";
const isSampled = source !== "calls";
const isMemory = source === "allocations";
if (source === "samples") showSamples(data.samples);
if (isMemory) showAllocations(data.allocations);
const nodes = data.nodes;
const frames = data.frames;
const recording = data.recording;

// Puts samples where calls would be: each represents the time between two.
function showSamples(samples) {
  const interval = samples.interval || 1;
  const times = (ticks) => ticks.map((number) => number * interval);
  const margin = (ticks) => 1.96 * Math.sqrt(ticks * (1 - ticks / Math.max(1, samples.ticks)) + 1) * interval;
  const of = (row) => ({ ...row, own: row.own * interval, total: row.total * interval, own_margin: margin(row.own), total_margin: margin(row.total), calls: row.total, estimated: true, template: "" });
  Object.assign(data, {
    frames: samples.frames.map(of), total: samples.ticks * interval, time_line: null,
    nodes: { ...samples.nodes, total: times(samples.nodes.total), own: times(samples.nodes.own), hidden_total: times(samples.nodes.hidden_total), estimated: samples.nodes.parent.map(() => 1) },
    threads: samples.threads.map((row) => ({ ...row, total: row.total * interval })),
    views: Object.fromEntries(Object.entries(samples.views).map(([key, rows]) => [key, Array.isArray(rows) ? rows.map(of) : rows])),
  });
  data.paths = data.nodes.parent.length + samples.nodes.hidden.reduce((sum, number) => sum + number, 0);
}

// Puts bytes where the times of calls would be.
function showAllocations(allocations) {
  const of = (row) => ({ ...row, estimated: true, template: "" });
  Object.assign(data, {
    frames: allocations.frames.map(of), total: allocations.bytes, time_line: null,
    nodes: { ...allocations.nodes, estimated: allocations.nodes.parent.map(() => 1) },
    threads: allocations.threads,
    views: Object.fromEntries(Object.entries(allocations.views).map(([key, rows]) => [key, Array.isArray(rows) ? rows.map(of) : rows])),
  });
  data.paths = data.nodes.parent.length + allocations.nodes.hidden.reduce((sum, number) => sum + number, 0);
}

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

function time(nanos) {
  if (nanos < 1000) return `${nanos} ns`;
  for (const [unit, size] of [["µs", 1e3], ["ms", 1e6], ["s", 1e9]]) {
    const value = nanos / size;
    if (value < 999.5) return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
  }
  return `${count(Math.round(nanos / 1e9))} s`;
}

// One for all: `toLocaleString` makes a new one each time.
const numbers = new Intl.NumberFormat("en-US");

function count(number) {
  return numbers.format(number);
}

function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  for (const [unit, amount] of [["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]]) {
    const value = bytes / amount;
    if (value < 999.5 || unit === "TB") return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
  }
}

function share(part, whole) {
  return whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "–";
}

// What the boxes of the flame graph measure: time, or memory.
function amount(number) {
  return isMemory ? size(number) : time(number);
}

function estimate(isEstimate, text) {
  return isEstimate ? `~${text}` : text;
}

// At level watch only calls that met a tick are counted; samples are what they are.
function atLeast(isEstimate, calls) {
  return isEstimate && !isSampled ? `≥${count(calls)}` : count(calls);
}

// Empty for what level watch does not carry.
function known(value, format) {
  return value == null ? "" : format(value);
}

// How far an estimate may be off, in 19 cases of 20.
function plusMinus(isEstimate, margin) {
  return isEstimate && margin !== undefined ? ` ± ${time(margin)}` : "";
}

function simpleName(className) {
  return className.slice(className.lastIndexOf(".") + 1);
}

// Overloaded methods have their parameters.
function methodName(frame) {
  return frame.parameters == null ? frame.method : `${frame.method}(${frame.parameters})`;
}

function fullName(frame) {
  return frame.class ? `${frame.class}.${methodName(frame)}` : methodName(frame);
}

function nodeName(node) {
  return node === 0 ? "all threads" : fullName(frames[nodes.frame[node]]);
}

// The children of each node, the one with the most time first.
const children = nodes.parent.map(() => []);
for (let node = 1; node < nodes.parent.length; node++) children[nodes.parent[node]].push(node);

// Where each node lies in the flame graph: its depth, and its left and right edge from 0 to 1.
const layout = { depth: new Uint16Array(nodes.parent.length), left: new Float64Array(nodes.parent.length), right: new Float64Array(nodes.parent.length) };

function arrangeNodes() {
  for (const list of children) list.sort((a, b) => nodes.total[b] - nodes.total[a]);
  layout.right[0] = 1;
  for (let node = 0; node < nodes.parent.length; node++) {
    const below = children[node].reduce((sum, child) => sum + nodes.total[child], 0);
    // Estimates of callees may be larger than that of their caller: they share its width then.
    const whole = Math.max(nodes.total[node], below);
    let at = layout.left[node];
    const unit = whole > 0 ? (layout.right[node] - layout.left[node]) / whole : 0;
    for (const child of children[node]) {
      layout.depth[child] = layout.depth[node] + 1;
      layout.left[child] = at;
      at += unit * nodes.total[child];
      layout.right[child] = at;
    }
  }
}
if (nodes.total) arrangeNodes();

// Whether a call with the same caller and the same callee is around the calls of a node.
function repeatsCallAroundIt(node) {
  const caller = nodes.frame[nodes.parent[node]];
  for (let at = nodes.parent[node]; at !== 0; at = nodes.parent[at]) {
    if (nodes.frame[at] === nodes.frame[node] && nodes.frame[nodes.parent[at]] === caller) return true;
  }
  return false;
}

// Calls between a method and its callers or callees, merged over the tree. A call inside another call of the same two
// methods counts once in the time, so that no row has more time than the method itself.
function relations(frame) {
  const callers = new Map();
  const callees = new Map();
  const add = (map, other, node) => {
    const row = map.get(other) || { frame: other, calls: 0, total: 0 };
    row.calls += nodes.calls[node];
    if (!repeatsCallAroundIt(node)) row.total += nodes.total[node];
    map.set(other, row);
  };
  for (let node = 1; node < nodes.parent.length; node++) {
    if (nodes.frame[node] === frame) add(callers, nodes.frame[nodes.parent[node]], node);
    if (nodes.frame[nodes.parent[node]] === frame) add(callees, nodes.frame[node], node);
  }
  const sorted = (map) => [...map.values()].sort((a, b) => b.total - a.total);
  return { callers: sorted(callers), callees: sorted(callees) };
}
