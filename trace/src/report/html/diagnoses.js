// Diagnoses: which branch makes slow calls of a method slow. Each has its result, its tree, and what it has cost.

// Rows of calls that explain little are left out at first.
const FEW_CHILDREN = 12;
const millis = (value) => time(Math.round(value * 1e6));
const percents = (value) => (value > 0 && value < 0.005 ? "<1 %" : `${Math.round(value * 100) + 0} %`);
const things = (number, one, many) => `${count(number)} ${number === 1 ? one : many}`;

function diagnosesPanel() {
  return make("div", {}, ...data.diagnoses.map(diagnosisPanel));
}

function diagnosisPanel(diagnosis) {
  const { method, context, condition, state, reason, sentence, explained, cost, ended_after_ms } = diagnosis;
  const subject = [method, context && `under ${context}`, condition && `when ${condition}`].filter(Boolean).join(" ");
  const countsAll = diagnosis.slower_than_ms === 0;
  const part = explained == null ? `No result${reason ? `: ${reason}` : ""}` : `${percents(explained)} of the ${countsAll ? "time" : "additional time of slow calls"} is explained`;
  const after = ended_after_ms == null ? "" : ` after ${millis(ended_after_ms)} of the recording`;
  const limit = countsAll ? "; all of them count: no limit was given"
    : diagnosis.slower_than_ms == null ? "; which of them are slow is not known"
    : ` of which ${count(diagnosis.slow)} took longer than ${millis(diagnosis.slower_than_ms)}${diagnosis.learnt ? " (learnt)" : ""}`;
  const spent = [things(cost.classes, "class", "classes"), things(cost.retransforms, "retransformation", "retransformations"), `longest stop ${millis(cost.longest_stop_ms)}`, `agent's CPU ${millis(cost.cpu_ms)}`];
  return make("section", { class: "panel diagnosis" },
    make("h2", {}, sentence ?? part),
    make("p", {}, "Diagnosis of ", make("span", { class: "mono" }, subject)),
    // A damaged recording may have nothing but parts of the tree.
    state ? make("p", { class: "faint" }, `${things(diagnosis.calls, "call", "calls")},${limit}`.replace(",;", ";")) : null,
    diagnosis.tree ? diagnosisTree(diagnosis.tree, countsAll) : null,
    diagnosis.slow_calls?.length ? slowCallsTable(diagnosis) : null,
    ...diagnosis.notices.map((notice) => make("p", { class: "warning" }, notice)),
    state ? make("p", { class: "faint" }, `${state}${after}${reason ? `: ${reason}` : ""} · ${spent.join(", ")}`) : null);
}

// The slowest of the calls that were recorded one by one.
function slowCallsTable({ slow_calls, recorded_slow_calls }) {
  const step = ({ method, calls, ms }) => `${method.split("(")[0].split(".").slice(-2).join(".")} ${millis(ms)}${calls > 1 ? ` in ${count(calls)} calls` : ""}`;
  const row = ({ began_after_ms, thread, ms, path }) => make("tr", {},
    make("td", {}, millis(ms)), make("td", {}, millis(began_after_ms)), make("td", { class: "text" }, thread),
    make("td", { class: "text" }, path.length ? path.map(step).join(" › ") : "no call took a tenth of it"));
  const head = [["Length", null], ["After", null], ["Thread", "text"], ["Where its time went", "text"]];
  return make("div", { class: "scroll" },
    make("p", { class: "faint" }, `${things(recorded_slow_calls, "slow call", "slow calls")} recorded one by one, the slowest that show where their time went:`),
    make("table", {}, make("thead", {}, make("tr", {}, ...head.map(([title, look]) => make("th", { scope: "col", class: look }, title)))), make("tbody", {}, ...slow_calls.map(row))));
}

function diagnosisTree(root, countsAll) {
  const columns = TREE_COLUMNS.filter(([title]) => !(countsAll && OF_SLOW_CALLS.includes(title)));
  const body = make("tbody", { onkeydown: diagnosisKey });
  // What was followed is open at the beginning.
  const open = new Set([root]);
  const all = new Set();
  const rowsOf = (node, depth) => {
    const rows = [rowOf(node, depth)];
    if (!open.has(node)) return rows;
    const shown = all.has(node) ? node.children : node.children.filter((child, at) => at < FEW_CHILDREN || child.followed);
    for (const child of shown) rows.push(...rowsOf(child, depth + 1));
    if (shown.length < node.children.length) {
      const more = make("button", { class: "link faint", onclick: () => { all.add(node); fill(); } }, `… ${count(node.children.length - shown.length)} more that explain less`);
      const text = make("td", { class: "text" }, make("span", { class: "toggle" }), more);
      text.style.paddingLeft = indent(depth + 1);
      rows.push(make("tr", {}, ...columns.map(() => make("td")), text));
    }
    return rows;
  };
  const toggle = (node) => {
    if (!open.delete(node)) open.add(node);
    fill();
    rowButtons.get(node)?.focus();
  };
  const rowButtons = new Map();
  const rowOf = (node, depth) => {
    const isOpen = open.has(node);
    const sign = node.children.length ? make("button", { class: "toggle", "aria-label": "Open or close", "aria-expanded": String(isOpen), onclick: () => toggle(node) }, isOpen ? "▾" : "▸") : make("span", { class: "toggle" }, "·");
    rowButtons.set(node, sign);
    const lines = node.lines.length ? make("span", { class: "tag" }, `${node.lines.length === 1 ? "line" : "lines"} ${node.lines.join(", ")}`) : null;
    const via = node.via.length ? make("span", { class: "tag", title: node.via.join("\n") }, `via ${things(node.via.length, "method", "methods")}`) : null;
    const text = make("td", { class: "text", title: node.method }, sign, ...nodeTitle(node), via, lines);
    text.style.paddingLeft = indent(depth);
    const isMeasured = node.calls != null || node.slow_ms != null || node.share != null;
    return make("tr", { class: isMeasured ? (node.followed ? "followed" : null) : "unmeasured" }, ...columns.map(([, show]) => show(node)), text);
  };
  const fill = () => body.replaceChildren(...rowsOf(root, 0));
  const openFollowed = (node) => { if (node.followed) open.add(node); node.children.forEach(openFollowed); };
  openFollowed(root);
  fill();
  const head = make("tr", {}, ...columns.map(([title]) => make("th", { scope: "col", class: title === "Reason" ? "reason" : null }, title)), make("th", { class: "text", scope: "col" }, "Method"));
  return make("div", { class: "scroll" }, make("table", { class: "tree" }, make("thead", {}, head), body));
}

// The package is faint.
function nodeTitle({ kind, method }) {
  if (kind === "own-code") return ["own code"];
  const name = method.split("(")[0];
  const dot = name.lastIndexOf(".", name.lastIndexOf(".") - 1) + 1;
  return [make("span", { class: "package" }, method.slice(0, dot)), method.slice(dot)];
}

function reasonOf({ kind, reason }) {
  const end = reason ?? (["native", "waiting"].includes(kind) ? kind : "");
  return end === "own code" && kind === "own-code" ? "" : end;
}

const plain = (value, format) => make("td", {}, known(value, () => format(value)));
const TREE_COLUMNS = [
  ["Level", (node) => make("td", {}, String(node.level))],
  ["Calls", (node) => plain(node.calls, count)],
  ["Slow", (node) => plain(node.slow_calls, count)],
  ["Time", (node) => plain(node.total_ms, millis)],
  ["Time in slow", (node) => plain(node.slow_ms, millis)],
  ["Share", (node) => (node.share == null ? make("td") : shareCell(Math.max(0, node.share), 1, percents(node.share)))],
  ["Running", (node) => plain(node.running, percents)],
  ["Waiting", (node) => plain(node.waiting, percents)],
  ["Reason", (node) => make("td", { class: "reason" }, reasonOf(node))],
];

// Where all calls count, none of them is slow.
const OF_SLOW_CALLS = ["Slow", "Time in slow"];

function indent(depth) {
  return `${10 + Math.min(depth, 24) * 14}px`;
}

// Up and down from row to row, right opens, left closes.
function diagnosisKey(event) {
  const toggles = [...event.currentTarget.querySelectorAll("button.toggle")];
  const at = toggles.indexOf(document.activeElement);
  if (at < 0) return;
  const isOpen = toggles[at].getAttribute("aria-expanded") === "true";
  const actions = {
    ArrowUp: () => toggles[at - 1]?.focus(), ArrowDown: () => toggles[at + 1]?.focus(),
    ArrowRight: () => (isOpen ? toggles[at + 1]?.focus() : toggles[at].click()),
    ArrowLeft: () => (isOpen ? toggles[at].click() : toggles[at - 1]?.focus()),
  };
  if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}
