//! The keys of each table, as they are spelled in documentation and suggestions.

/// Tables and lists of tables at the top level.
pub(super) const TOP: &[&str] = &["trace", "agent", "filter", "exclude", "rule"];
/// `[trace]`
pub(super) const TRACE: &[&str] = &["file", "buffer-mb", "max-file-mb", "events"];
/// `[agent]`
pub(super) const AGENT: &[&str] = &["stats", "on_error", "templates", "log", "dump", "discard"];
/// `[filter]`
pub(super) const FILTER: &[&str] = &["leaf", "max-bytes"];
/// `[exclude]`
pub(super) const EXCLUDE: &[&str] = &["class"];
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
];

/// All tables with their keys; `rule` first, because most keys belong there.
pub(super) const TABLES: &[(&str, &[&str])] =
    &[("rule", RULE), ("trace", TRACE), ("agent", AGENT), ("filter", FILTER), ("exclude", EXCLUDE)];
