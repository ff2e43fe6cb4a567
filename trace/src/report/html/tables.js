// Tables that can be sorted and filtered, the call tree, and the window with the callers and callees of a method.
const ROWS_AT_ONCE = 200;

function number(title, value, format, options) {
  return { title, value, format, ...options };
}

function tablePanel({ columns, rows, sort, filter, note }) {
  const state = { sort, descending: true, text: "", shown: ROWS_AT_ONCE };
  const body = make("tbody");
  const heads = columns.map((column, index) => make("th", { class: column.text ? "text" : "", scope: "col" },
    make("button", { onclick: () => { state.descending = state.sort === index ? !state.descending : !column.text; state.sort = index; fill(); } }, column.title)));
  const more = make("button", { onclick: () => { state.shown *= 4; fill(); } });
  const fill = () => {
    const column = columns[state.sort];
    const wanted = state.text.toLowerCase();
    const visible = rows.filter((row) => !wanted || filter(row).toLowerCase().includes(wanted));
    const compare = (a, b) => (column.text ? String(a).localeCompare(String(b)) : a - b);
    visible.sort((a, b) => (state.descending ? -1 : 1) * compare(column.value(a), column.value(b)));
    body.replaceChildren(...visible.slice(0, state.shown).map((row) => make("tr", {}, ...columns.map((entry) => cell(entry, row)))));
    heads.forEach((head, index) => {
      if (index === state.sort) head.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      head.firstChild.textContent = columns[index].title + (index === state.sort ? (state.descending ? " ↓" : " ↑") : "");
    });
    more.hidden = visible.length <= state.shown;
    more.textContent = `Show more (${count(visible.length - state.shown)} left)`;
  };
  fill();
  const tools = make("div", { class: "tools" });
  if (rows.length > 8) {
    tools.append(make("input", { type: "search", placeholder: "Filter…", "aria-label": "Filter", oninput: (event) => { state.text = event.target.value.trim(); fill(); } }));
  }
  if (note) tools.append(make("span", { class: "faint" }, note));
  const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body);
  return make("div", { class: "panel" }, tools.children.length ? tools : null, make("div", { class: "scroll" }, table), more);
}

function cell(column, row) {
  const value = column.value(row);
  if (column.text) return make("td", { class: `text ${column.class || ""}` }, column.show ? column.show(row) : value);
  const text = column.format ? column.format(value, row) : count(value);
  if (!column.whole) return make("td", { class: column.mark ? column.mark(row) : null }, text);
  return shareCell(value, column.whole, text);
}

function shareCell(value, whole, text) {
  const bar = make("i");
  bar.style.setProperty("--part", `${Math.min(100, whole > 0 ? 100 * value / whole : 0)}%`);
  return make("td", { class: "share" }, text, bar);
}

function methodLink(index, isShort) {
  if (index < 0) return make("span", { class: "faint" }, "(outermost)");
  const frame = frames[index];
  const dot = frame.class.lastIndexOf(".") + 1;
  const link = make("button", { class: "link", title: fullName(frame) + frame.descriptor, onclick: () => openMethod(index) },
    isShort ? null : make("span", { class: "package" }, frame.class.slice(0, dot)), `${frame.class.slice(dot)}.${methodName(frame)}`);
  return link;
}

/** Marks a method whose level was changed with the part of the time to which its figures apply. */
function partTag(part, side = "") {
  return part ? make("span", { class: "tag", title: part.explanation }, side + part.text) : null;
}

function methodsPanel() {
  const several = new Set(frames.map((frame) => frame.template)).size > 1;
  const name = (index) => make("span", {}, methodLink(index), several && frames[index].template ? make("span", { class: "tag" }, frames[index].template) : null,
    partTag(frames[index].part));
  const isEstimate = (index, key) => (key === "own" && frames[index].own_estimated) || frames[index].estimated;
  const measured = (title, key, options) => number(title, (index) => frames[index][key], (value, index) => known(value, () => estimate(isEstimate(index, key), amount(value))) + (frames[index][`${key}_margin`] === undefined ? "" : plusMinus(isEstimate(index, key), frames[index][`${key}_margin`])), options);
  const portion = (title, key) => number(title, (index) => frames[index][key], (value) => share(value, data.total), { whole: data.total });
  return tablePanel({
    rows: frames.map((_, index) => index),
    columns: [
      measured("Own", "own"), portion("%", "own"), measured("Total", "total"), portion("%", "total"),
      number(isSampled ? "Samples" : "Calls", (index) => frames[index].calls, (calls, index) => atLeast(frames[index].estimated, calls)),
      ...(isSampled ? [] : [measured("Average", "average"), measured("p50", "p50"), measured("p95", "p95"), measured("p99", "p99"), measured("Max", "max")]),
      { title: "Method", text: true, value: (index) => fullName(frames[index]), show: name },
    ],
    sort: 0,
    filter: (index) => `${fullName(frames[index])} ${frames[index].template} ${frames[index].module ?? ""}`,
    note: isSampled ? samplesNote() : frames.some((frame) => frame.estimated) ? "level watch: ≥ only calls that met a tick are counted, ~ times are estimates from ticks; average, percentiles and max only where all calls seen took two ticks or more; ± the true time is not farther off in 19 cases of 20" : null,
  });
}

function samplesNote() {
  if (isMemory) return `${count(data.allocations.samples)} samples of allocations, which stand for ${size(data.allocations.bytes)}`;
  const { engine, interval, ticks, truncated, failed } = data.samples;
  const parts = [`${count(ticks)} samples`, interval ? `one each ${time(interval)}` : "", engine, truncated ? `${count(truncated)} cut stacks` : ""];
  return [...parts, ...failed.map(([reason, number]) => `${count(number)} without a stack: ${reason}`)].filter(Boolean).join(" · ");
}

function detailsPanel(rows, title, extra) {
  const length = (value, row) => known(value, () => estimate(row.estimated, time(value)));
  return tablePanel({
    rows, sort: 0, filter: (row) => row.text,
    columns: [
      number("Total", (row) => row.total, time), number("Calls", (row) => row.calls, (calls, row) => atLeast(row.estimated, calls)), number("Average", (row) => row.average, length),
      number("p95", (row) => row.p95, length), number("Max", (row) => row.max, length), ...extra,
      { title, text: true, class: "mono", value: (row) => row.text },
    ],
  });
}

function treePanel() {
  const body = make("tbody", { onkeydown: treeKey });
  const open = new Set([0]);
  const found = { text: "", at: -1, list: [] };
  // The hottest path is open at the beginning.
  for (let node = 0; children[node].length && open.size < 16; ) {
    node = children[node][0];
    if (nodes.total[node] < data.total * 0.05) break;
    open.add(node);
  }
  const rowsOf = (node) => {
    const rows = [rowOf(node)];
    if (!open.has(node)) return rows;
    for (const child of children[node]) rows.push(...rowsOf(child));
    if (nodes.hidden[node]) {
      const text = make("td", { class: "text faint" }, `… ${count(nodes.hidden[node])} more with little ${isMemory ? "memory" : "time"}`);
      text.style.paddingLeft = `${10 + (layout.depth[node] + 1) * 16}px`;
      rows.push(make("tr", {}, make("td", {}, amount(nodes.hidden_total[node])), make("td"), make("td"), make("td"), text));
    }
    return rows;
  };
  const toggle = (node) => {
    if (!open.delete(node)) {
      // A chain of single calls opens as one.
      for (let at = node; ; at = children[at][0]) {
        open.add(at);
        if (children[at].length !== 1 || nodes.hidden[at]) break;
      }
    }
    fill(node);
  };
  const rowOf = (node) => {
    const isEstimate = nodes.estimated[node] === 1;
    const hasMore = children[node].length > 0 || nodes.hidden[node] > 0;
    const sign = make("button", { class: "toggle", "data-node": node, "aria-label": "Open or close", "aria-expanded": String(open.has(node)), onclick: () => toggle(node) }, open.has(node) ? "▾" : "▸");
    const text = make("td", { class: "text" }, hasMore ? sign : make("span", { class: "toggle" }, "·"), node === 0 ? "all threads" : methodLink(nodes.frame[node]));
    text.style.paddingLeft = `${10 + layout.depth[node] * 16}px`;
    return make("tr", { "data-row": node, class: node === found.at ? "found" : "" },
      make("td", {}, estimate(isEstimate, amount(nodes.total[node]))), shareCell(nodes.total[node], data.total, share(nodes.total[node], data.total)),
      make("td", {}, estimate(isEstimate, amount(nodes.own[node]))), make("td", {}, atLeast(isEstimate, nodes.calls[node])), text);
  };
  const fill = (focus) => {
    body.replaceChildren(...rowsOf(0));
    if (focus !== undefined) body.querySelector(`[data-node="${focus}"]`)?.focus();
  };
  fill();
  // Each Enter goes to the next path of a method with this name, the one with the most time first.
  const next = (step) => {
    const wanted = finder.value.trim().toLowerCase();
    if (wanted !== found.text) {
      Object.assign(found, { text: wanted, at: -1, list: [] });
      const isMatch = frames.map((frame) => wanted !== "" && fullName(frame).toLowerCase().includes(wanted));
      for (let node = 1; node < nodes.parent.length; node++) if (isMatch[nodes.frame[node]]) found.list.push(node);
      found.list.sort((a, b) => nodes.total[b] - nodes.total[a]);
    }
    const { list } = found;
    if (list.length) found.at = list[(list.indexOf(found.at) + step + list.length) % list.length];
    places.textContent = wanted === "" ? "" : list.length ? `${count(list.indexOf(found.at) + 1)} of ${count(list.length)} places` : "not found";
    if (found.at < 0) return fill();
    for (let at = nodes.parent[found.at]; ; at = nodes.parent[at]) {
      open.add(at);
      if (at === 0) break;
    }
    fill();
    body.querySelector(`[data-row="${found.at}"]`)?.scrollIntoView({ block: "center" });
  };
  const places = make("span", { class: "faint" });
  const finder = make("input", {
    type: "search", placeholder: "Find a method…", "aria-label": "Find a method in the tree",
    onkeydown: (event) => { if (event.key === "Enter") next(event.shiftKey ? -1 : 1); },
    oninput: () => next(1),
  });
  const close = make("button", { onclick: () => { open.clear(); open.add(0); fill(); } }, "Close all");
  const head = make("tr", {}, ...["Total", "%", "Own", isSampled ? "Samples" : "Calls"].map((title) => make("th", {}, title)), make("th", { class: "text" }, "Call tree of all threads"));
  return make("div", { class: "panel" }, make("div", { class: "tools" }, finder, places, close),
    make("div", { class: "scroll" }, make("table", { class: "tree" }, make("thead", {}, head), body)));
}

function methodFacts(frame) {
  return [
    ["Total", `${estimate(frame.estimated, amount(frame.total))}${plusMinus(frame.estimated, frame.total_margin)} · ${share(frame.total, data.total)}`],
    ["Own", `${estimate(frame.own_estimated ?? frame.estimated, amount(frame.own))}${plusMinus(frame.own_estimated ?? frame.estimated, frame.own_margin)} · ${share(frame.own, data.total)}`],
    isSampled ? ["Samples", count(frame.calls)] : ["Calls", [atLeast(frame.estimated, frame.calls), ...["average", "p50", "p95", "p99", "max"].filter((key) => frame[key] != null).map((key) => `${key} ${estimate(frame.estimated, time(frame[key]))}`)].join(" · ")],
    ["Signature", frame.method + frame.descriptor],
    ...(frame.module ? [["Module", frame.module]] : []),
    ["Template", frame.template || "–"],
  ];
}

function openMethod(index) {
  const dialog = document.getElementById("method");
  const frame = frames[index];
  const side = (title, rows) => make("div", {}, make("h2", {}, title), rows.length
    ? make("div", { class: "scroll" }, make("table", {}, make("tbody", {}, ...rows.slice(0, 100).map((row) => make("tr", {},
      make("td", {}, amount(row.total)), make("td", {}, `${count(row.calls)} ${isSampled ? "samples" : "calls"}`), make("td", { class: "text" }, methodLink(row.frame)))))))
    : make("p", { class: "faint" }, "none that was measured"));
  const { callers, callees } = relations(index);
  const facts = data.diff ? methodDifference(index) : methodFacts(frame);
  dialog.replaceChildren(
    make("div", { class: "tools" },
      make("button", { onclick: () => { dialog.close(); showTab("flame"); flame.search.value = fullName(frame); search(fullName(frame)); } }, "Show in the flame graph"),
      make("button", { onclick: () => dialog.close() }, "Close")),
    make("h2", { class: "mono" }, fullName(frame)),
    frame.part ? make("p", {}, `${frame.part.text}: ${frame.part.explanation}`) : null,
    make("dl", { class: "facts" }, ...facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])),
    side("Called by", callers), side("Calls", callees));
  if (!dialog.open) dialog.showModal();
}
