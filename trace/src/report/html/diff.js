// Recordings of two sides beside each other: a flame graph of one side, red where it takes more time than before and blue where it
// takes less, and a table of the methods.
const diff = data.diff;
const SIDES = ["before", "after"];
// Changes of less than this share of all time have no colour.
const LEAST_SHARE = 0.002;
let shownSide = 1;

function showSide(side) {
  shownSide = side;
  Object.assign(nodes, diff.nodes[side]);
  data.total = diff.totals[side];
  data.calls = diff.calls[side];
  arrangeNodes();
}
showSide(1);

// From -1 (gone) by 0 (as before) to 1 (new).
function changeOf(node) {
  const [before, after] = diff.nodes.map((columns) => columns.total[node]);
  if (Math.abs(after - before) < LEAST_SHARE * Math.max(...diff.totals)) return 0;
  return (after - before) / Math.max(before, after);
}

function differenceColour(node, theme) {
  const change = changeOf(node);
  if (node === 0 || change === 0) return `hsl(220 8% ${theme.lightness})`;
  // Half as much again is already striking.
  const strength = Math.min(1, Math.abs(change) * 1.6);
  return `hsl(${change > 0 ? 8 : 214} ${20 + 62 * strength}% ${theme.lightness})`;
}

function signed(difference) {
  return difference === 0 ? "±0" : `${difference > 0 ? "+" : "−"}${time(Math.abs(difference))}`;
}

function percentOf(before, after) {
  if (before === 0) return after === 0 ? "–" : "new";
  return after === 0 ? "gone" : `${after >= before ? "+" : "−"}${Math.abs(100 * (after - before) / before).toFixed(1)} %`;
}

function beforeAfter(before, after, format) {
  return `${format(before)} → ${format(after)} · ${percentOf(before, after)}`;
}

function differenceFacts(node) {
  const frame = frames[nodes.frame[node]];
  const both = (key) => diff.nodes.map((columns) => columns[key][node]);
  const rows = [
    ["total", `${beforeAfter(...both("total"), time)} · ${signed(both("total")[1] - both("total")[0])}`],
    ["own", beforeAfter(...both("own"), time)], ["calls", beforeAfter(...both("calls"), count)],
  ];
  if (frame) rows.push(["signature", frame.method + frame.descriptor]);
  if (nodes.estimated[node] === 1) rows.push(["~", "level watch: estimated from ticks"]);
  return [make("b", {}, nodeName(node)), factList(rows)];
}

const rowOfFrame = new Map(diff.methods.map((row) => [row.frame, row]));

/** What `show` makes of the part of the time that each side's figures apply to, if that is not all of it. */
function sidesOf(row, show) {
  return (row.parts ?? []).map((part, side) => part && show(part, `${SIDES[side]}: `)).filter(Boolean);
}

function methodDifference(index) {
  const row = rowOfFrame.get(index);
  const frame = frames[index];
  const facts = [["Signature", frame.method + frame.descriptor]];
  if (!row) return facts;
  const both = (key) => row.figures.map((figures) => figures?.[key] ?? 0);
  const chance = row.chance == null ? "" : ` · chance alone: ±${chanceOf(row.chance)}`;
  return [
    ["Own", beforeAfter(...both("own"), time) + chance], ["Total", beforeAfter(...both("total"), time)],
    ["Calls", beforeAfter(...both("calls"), count)],
    ...(row.figures.some((figures) => figures?.per_call === null) ? [] : [["Per call", beforeAfter(...both("per_call"), time)]]),
    ...sidesOf(row, (part, side) => ["Recorded", `${side}${part.text}: ${part.explanation}`]), ...facts,
  ];
}

function head() {
  const names = diff.recordings.map((side) => side[0].file.split(/[\\/]/).pop() + (side.length > 1 ? ` + ${side.length - 1} more` : ""));
  document.getElementById("title").textContent = `${names[0]} → ${names[1]}`;
  document.getElementById("subtitle").textContent = [recording.command_line, recording.jvm, "red: more time than before, blue: less"].filter(Boolean).join(" · ");
  const both = (title, values, format) => make("div", { class: "card" }, make("b", {}, `${format(values[0])} → ${format(values[1])}`), make("span", { class: "faint" }, title));
  document.getElementById("cards").append(
    both("duration", diff.durations, time), both("time in calls", diff.totals, time), both("calls", diff.calls, count));
  document.getElementById("warnings").append(...data.warnings.map((text) => make("p", { class: "warning" }, text)));
}

function differenceFlame() {
  const panel = flamePanel();
  const buttons = SIDES.map((name, side) => make("button", { "data-side": name, onclick: () => choose(side) }, `Widths from ${name}`));
  const choose = (side) => {
    showSide(side);
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(index === side)));
    search(flame.search.value);
    zoomTo(0);
  };
  buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(index === shownSide)));
  panel.prepend(make("div", { class: "tools switch" }, ...buttons,
    make("span", { class: "faint" }, "what is new shows with the widths from after, what is gone with those from before")));
  return panel;
}

// Beyond ten times the whole the number itself says nothing.
function chanceOf(percent) {
  return percent > 1000 ? ">1000 %" : `${percent.toFixed(1)} %`;
}

function differenceTable() {
  const figure = (row, side, key) => row.figures[side]?.[key] ?? 0;
  const column = (title, side, key, format) => number(title, (row) => figure(row, side, key),
    (value, row) => (row.figures[side]?.[key] === null ? "" : row.figures[side] ? estimate(row.figures[side].estimated && format === time, format(value)) : "–"));
  const change = (row) => figure(row, 1, "own") - figure(row, 0, "own");
  const mark = (row) => (row.is_chance !== false || change(row) === 0 ? "faint" : change(row) > 0 ? "worse" : "better");
  const left = diff.all_methods - diff.methods.length;
  return tablePanel({
    rows: diff.methods, sort: 2, filter: (row) => row.name,
    columns: [
      column("Own before", 0, "own", time), column("after", 1, "own", time),
      number("Difference", (row) => Math.abs(change(row)), (_, row) => signed(change(row)), { mark }),
      number("Change", (row) => (row.figures[0] ? change(row) / Math.max(figure(row, 0, "own"), 1) : Infinity),
        (_, row) => `${row.is_chance ? "≈" : row.is_chance === null ? "?" : ""}${percentOf(figure(row, 0, "own"), figure(row, 1, "own"))}`, { mark }),
      number("± chance", (row) => row.chance ?? -1, (value) => (value < 0 ? "–" : chanceOf(value))),
      column("Calls before", 0, "calls", count), column("after", 1, "calls", count),
      column("Per call before", 0, "per_call", time), column("after", 1, "per_call", time),
      { title: "Method", text: true, value: (row) => row.name, show: (row) => make("span", {}, row.frame == null ? row.name : methodLink(row.frame), ...sidesOf(row, partTag)) },
    ],
    note: `± and ≈: what chance alone makes of it, in 19 cases of 20${diff.sees_runs ? "" : ", going by each recording alone: how much runs of the program differ shows only in several recordings of each side"} · ?: cannot be said: too few calls, or a part of the time${left > 0 ? ` · ${count(left)} methods with smaller differences are left out` : ""}`,
  });
}

function bothRecordings() {
  const panel = make("div", { class: "panel" });
  diff.recordings.forEach((recordings, side) => recordings.forEach((one, index) => panel.append(
    make("h2", {}, `${side ? "After" : "Before"}${recordings.length > 1 ? ` ${index + 1}` : ""}`),
    make("dl", { class: "facts" }, ...[["File", one.file], ["Command", one.command_line], ["JVM", one.jvm], ["JVM options", one.jvm_options],
      ["Duration", time(one.duration)]].filter(([, text]) => text).flatMap(([name, text]) => [make("dt", {}, name), make("dd", { class: "mono" }, text)])))));
  return panel;
}

const views = [
  ["flame", "Flame graph of differences", differenceFlame, null],
  ["methods", "Methods", differenceTable, diff.methods.length],
  ["recording", "Recordings", bothRecordings, null],
];
