// Walks: who calls hot methods, level by level.

const walkColumns = (metric) => ["Calls", "±", metric ?? "Time", "±", metric === "allocated" ? "Allocated, sampled" : "CPU time", "±"];
const walkPercent = (share) => (share == null ? "" : `${(share * 100).toFixed(1)} %`);
const walkMargin = (margin) => (margin == null ? "" : (margin * 100).toFixed(1));

function walksPanel() {
  return make("div", {}, ...data.walks.map(walkPanel));
}

function walkPanel(walk) {
  const { number, metric, samples, sampler, bias, hot, levels, hooks, end, notices, ended_after_ms } = walk;
  const spots = hot.map(({ method, share, margin }) => make("tr", {},
    make("td", {}, walkPercent(share)), make("td", {}, walkMargin(margin)), make("td", { class: "text" }, method)));
  const cost = [`at most ${things(hooks.most, "probe", "probes")} at a time, ${hooks.now ? `${count(hooks.now)} left` : "none is left"}`, things(hooks.calls, "recorded call", "recorded calls"),
    `${things(hooks.late, "call", "calls")} that began before`, `classes changed ${things(hooks.changes, "time", "times")}`, `longest stop ${millis(hooks.longest_stop_ms)}`];
  return make("section", { class: "panel diagnosis" },
    make("h2", {}, `Walk ${number}, ended after ${millis(ended_after_ms)} of the recording`),
    make("p", { class: "faint" }, `Hot by ${metric === "allocated" ? "allocated bytes" : "processor time"}: ${things(samples, "sample", "samples")} (${sampler})`),
    walkTable(["Share", "±"], "Method", spots),
    ...levels.flatMap((level) => walkLevel(level, metric)),
    ...[...notices, bias && samples ? `${sampler}: ${bias}` : null].filter(Boolean).map((notice) => make("p", { class: "warning" }, notice)),
    ...(end ? end.split("; ").map((text) => make("p", {}, `Ended at ${text}`)) : []),
    make("p", { class: "faint" }, cost.join(", ")));
}

function walkLevel({ level, of, source, calls, callers, without_caller = [], reason }, metric) {
  const columns = walkColumns(metric);
  const rows = callers.map((caller) => make("tr", { class: caller.followed ? "followed" : null },
    make("td", {}, walkPercent(caller.calls_share)), make("td", {}, walkMargin(caller.calls_margin)), make("td", {}, walkPercent(caller.time_share)),
    make("td", {}, walkMargin(caller.time_margin)), make("td", {}, walkPercent(caller.cpu_share)), make("td", {}, walkMargin(caller.margin)),
    make("td", { class: "text" }, caller.method, caller.via ? make("span", { class: "tag" }, `via ${caller.via}`) : null)));
  const none = without_caller.map((without) => make("tr", { class: "unmeasured" },
    ...columns.map((_, at) => make("td", {}, at === 4 ? walkPercent(without.share) : "")), make("td", { class: "text" }, `(none: ${without.reason})`)));
  return [
    make("h2", {}, `Level ${level}: callers of ${of}${calls == null ? "" : `, ${things(calls, "call", "calls")} ${source === "finder" ? "counted by a hook" : "measured"}`}`),
    walkTable(columns, "Caller", [...rows, ...none]),
    reason ? make("p", { class: "faint" }, reason) : null,
  ].filter(Boolean);
}

function walkTable(titles, last, rows) {
  const head = make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)), make("th", { class: "text", scope: "col" }, last));
  return make("div", { class: "scroll walk" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}
