//! The keys of each table, as they are spelled in documentation and suggestions.

/// Tables and lists of tables at the top level.
pub(super) const TOP: &[&str] = &[
    "trace",
    "metrics",
    "agent",
    "sampler",
    "allocation",
    "filter",
    "exclude",
    "control",
    "watch",
    "governor",
    "rule",
];
/// `[trace]`
pub(super) const TRACE: &[&str] = &[
    "file",
    "write",
    "buffer-mb",
    "mode",
    "max-file-mb",
    "when-full",
    "keep-seconds",
    "keep-mb",
    "dump-when-call-ms",
    "dump-when-call",
    "dump-distance-seconds",
    "max-dumps",
    "dump-at-exit",
    "threads",
    "clock",
    "events",
];
/// `[metrics]`
pub(super) const METRICS: &[&str] = &[
    "openmetrics",
    "allow-remote",
    "otlp",
    "ca-file",
    "otlp-traces",
    "interval",
    "stalled-after",
    "cpu-time",
    "callers",
    "max-methods",
    "service",
    "headers",
    "resource",
    "trace-threshold",
    "trace-percent",
];
/// `[agent]`
pub(super) const AGENT: &[&str] = &["stats", "on_error", "templates", "log", "dump", "discard"];
/// `[sampler]`
pub(super) const SAMPLER: &[&str] = &["enabled", "interval", "engine", "depth"];
/// `[allocation]`
pub(super) const ALLOCATION: &[&str] = &["enabled", "interval-kb", "depth"];
/// `[filter]`
pub(super) const FILTER: &[&str] = &["leaf", "max-bytes", "library-max-bytes"];
/// `[exclude]`
pub(super) const EXCLUDE: &[&str] = &["class"];
/// `[control]`
pub(super) const CONTROL: &[&str] = &["live", "burst-open-ms", "burst-period-ms", "socket", "call-tree"];
/// `[watch]`
pub(super) const WATCH: &[&str] = &["real-time", "tick-us"];
/// `[governor]`
pub(super) const GOVERNOR: &[&str] = &["enabled", "budget-percent", "gc-percent", "heap-percent", "recovery-seconds"];
/// `[[rule]]`
pub(super) const RULE: &[&str] = &[
    "name",
    "class",
    "extends",
    "annotated",
    "method-annotated",
    "method",
    "exclude",
    "template",
    "level",
    "mode",
    "preset",
    "constructors",
    "class-initialisers",
    "bridges",
    "governed",
    "outermost",
    "arguments",
    "result",
    "argument-length",
    "render",
];

/// All tables with their keys; `rule` first, because most keys belong there.
pub(super) const TABLES: &[(&str, &[&str])] = &[
    ("rule", RULE),
    ("trace", TRACE),
    ("metrics", METRICS),
    ("agent", AGENT),
    ("sampler", SAMPLER),
    ("allocation", ALLOCATION),
    ("filter", FILTER),
    ("exclude", EXCLUDE),
    ("control", CONTROL),
    ("watch", WATCH),
    ("governor", GOVERNOR),
];
