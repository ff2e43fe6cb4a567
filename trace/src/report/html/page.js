// Head and views of a report.

function head() {
  const name = recording.file.split(/[\\/]/).pop();
  document.getElementById("title").textContent = recording.command_line || name;
  const started = new Date(recording.start_epoch_millis).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
  const parts = [name, started, recording.jvm, recording.pid ? `pid ${recording.pid}` : "", recording.finished ? "" : "not ended"];
  document.getElementById("subtitle").textContent = parts.filter(Boolean).join(" · ");
  const probes = source === "calls" ? data.probes : null;
  const cards = [
    ["duration", time(recording.duration)], ["calls", count(data.calls)], ["methods", count(frames.length)],
    [isMemory ? "allocated memory" : isSampled ? "sampled time" : "time in calls", amount(data.total)], ["lost records", count(data.lost)], ["events", count(data.events)],
    [`in ${count(recording.chunks)} chunks`, size(recording.file_bytes)],
  ];
  if (recording.start_up != null) cards.splice(1, 0, ["start-up", time(recording.start_up)]);
  if (probes && !probes.advice) cards.push(["of the recorded time: probes, left out", `${probes.percent.toFixed(1)} %`]);
  document.getElementById("cards").append(...cards.map(([title, value]) => make("div", { class: "card" }, make("b", {}, value), make("span", { class: "faint" }, title))));
  const warnings = probes?.advice ? [probes.advice, ...data.warnings] : data.warnings;
  document.getElementById("warnings").append(...warnings.map((text) => make("p", { class: "warning" }, text)));
}

function emptyPanel() {
  return make("div", { class: "panel empty" }, make("h2", {}, "No calls recorded."), make("p", {}, "What to check:"),
    make("ul", {}, ...data.check.map((text) => make("li", {}, text))));
}

function threadsPanel() {
  const recorded = data.threads.reduce((sum, row) => sum + row.total, 0);
  return tablePanel({
    rows: data.threads, sort: 0, filter: (row) => row.name,
    columns: [
      number("Total", (row) => row.total, amount), number("%", (row) => row.total, (value) => share(value, recorded), { whole: recorded }),
      ...(isMemory ? [] : [number(isSampled ? "Samples" : "Calls", (row) => row.calls)]), ...(data.lost > 0 && !isSampled ? [number("Lost", (row) => row.lost)] : []), number("Id", (row) => row.id, (value) => (value ? String(value) : "")),
      { title: "Thread", text: true, value: (row) => row.name },
    ],
    note: isSampled ? samplesNote() : "Total = time of the outermost calls of the thread",
  });
}

function slowCallsPanel() {
  return tablePanel({
    rows: data.slowest_calls, sort: 0, filter: (row) => `${row.method}(${row.arguments})`,
    columns: [
      number("Duration", (row) => row.duration, time), number("At", (row) => row.start, time), { title: "Thread", text: true, value: (row) => row.thread },
      { title: "Method", text: true, value: (row) => row.method }, { title: "Arguments", text: true, class: "mono", value: (row) => row.arguments },
    ],
    note: "The longest calls of methods whose rule asks for arguments",
  });
}

function allocatedClassesPanel() {
  return tablePanel({
    rows: data.allocations.classes, sort: 0, filter: (row) => row.name,
    columns: [
      number("Bytes", (row) => row.bytes, size), number("%", (row) => row.bytes, (value) => share(value, data.total), { whole: data.total }),
      number("Samples", (row) => row.samples), { title: "Class of the objects", text: true, value: (row) => row.name },
    ],
    note: samplesNote(),
  });
}

function ioPanel() {
  const counted = (title, key) => number(title, (row) => row[key]);
  return tablePanel({
    rows: data.input_output, sort: 0, filter: (row) => row.method,
    columns: [
      number("Total", (row) => row.total, time), counted("Statements", "statements"), counted("Requests", "requests"),
      counted("Transfers", "transfers"), number("Bytes", (row) => row.bytes, size), { title: "Method", text: true, value: (row) => row.method },
    ],
    note: "Methods whose calls were recorded with a statement, a request or a transfer",
  });
}

function recordingPanel() {
  const facts = [
    ["File", recording.file], ["Command", recording.command_line], ["JVM", recording.jvm], ["JVM options", recording.jvm_options],
    ...recording.configuration.filter(([, value]) => !value.includes("\n")),
  ].filter(([, value]) => value);
  const texts = recording.configuration.filter(([, value]) => value.includes("\n"));
  const panel = make("div", { class: "panel" }, make("h2", {}, "Recording"),
    make("dl", { class: "facts" }, ...facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", { class: "mono" }, text)])));
  for (const [name, text] of texts) panel.append(make("h2", {}, name), make("pre", { class: "mono" }, text));
  if (recording.notes.length) {
    const rows = recording.notes.map(([at, kind, text]) => make("tr", {}, make("td", {}, time(at)), make("td", {}, kind), make("td", { class: "text" }, text)));
    panel.append(make("h2", {}, "Notes"), make("table", {}, make("tbody", {}, ...rows)));
  }
  return panel;
}

const errors = data.http.some((row) => row.client_errors + row.server_errors > 0)
  ? [number("4xx", (row) => row.client_errors), number("5xx", (row) => row.server_errors)] : [];
const hasCalls = data.calls > 0 || isSampled;
const views = [
  ["flame", "Flame graph", hasCalls ? flamePanel : emptyPanel, hasCalls || !(data.diagnoses.length + data.walks.length) ? null : 0],
  ["timeline", "Time line", timelinePanel, data.time_line ? null : 0],
  ["diagnoses", "Diagnoses", diagnosesPanel, data.diagnoses.length],
  ["walks", "Walks", walksPanel, data.walks.length],
  ["methods", "Methods", methodsPanel, frames.length],
  ["groups", "Packages", groupsPanel, data.views.packages.length],
  ["tree", "Call tree", treePanel, null],
  ["objects", "Allocated classes", allocatedClassesPanel, isMemory ? data.allocations.classes.length : 0],
  ["threads", "Threads", threadsPanel, data.threads.length],
  ["slow-calls", "Slow calls", slowCallsPanel, data.slowest_calls.length],
  ["statements", "Statements", () => detailsPanel(data.statements, "Statement", []), data.statements.length],
  ["http", "HTTP", () => detailsPanel(data.http, "Request", errors), data.http.length],
  ["sockets", "Sockets", () => detailsPanel(data.sockets, "Peer", [number("Bytes", (row) => row.bytes, size)]), data.sockets.length],
  ["io", "Input and output", ioPanel, data.input_output.length],
  ["recording", "Recording", recordingPanel, null],
].filter(([name, , , rows]) => rows !== 0 && (hasCalls || ["flame", "diagnoses", "walks", "recording"].includes(name)));
