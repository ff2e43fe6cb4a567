//! `[control]`: what can be changed while the program runs.

use instrument_core::config::{Problems, TableReader};
use schemars::JsonSchema;

/// What `instr status`, `instr top` and `instr level` may do with the running program.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ControlConfig {
    /// Makes all probes live: their level can be changed at any time, without touching the class again. Only templates with a live
    /// variant, such as the built-in ones, can do that. Probes of rules with level `time` or `full` are live anyway where there is a
    /// governor.
    pub live: bool,
    /// How long a window of level `burst` is open, in milliseconds. Default: 1.
    #[schemars(range(min = 1, max = 10000))]
    pub burst_open_ms: u32,
    /// From the beginning of a window to that of the next, in milliseconds; longer than `burst-open-ms`. Default: 100.
    #[schemars(range(min = 2, max = 60000))]
    pub burst_period_ms: u32,
    /// Listen to the same user's `instr` commands on a Unix domain socket in `/tmp/instr-<user id>`. Default: true.
    pub socket: bool,
    /// Keep the call tree of all calls up to now in memory, for `instr top PID --tree`. Costs the recorder's thread some 50 ns a
    /// call, the application nothing. Default: false.
    pub call_tree: bool,
}

impl Default for ControlConfig {
    fn default() -> ControlConfig {
        ControlConfig { live: false, burst_open_ms: 1, burst_period_ms: 100, socket: true, call_tree: false }
    }
}

pub(super) fn read_control(table: &TableReader<'_, '_>, problems: &mut Problems) -> ControlConfig {
    let default = ControlConfig::default();
    let burst_open_ms = table.number("burst-open-ms", 1..10_001, problems).unwrap_or(default.burst_open_ms);
    let burst_period_ms = table.number("burst-period-ms", 2..60_001, problems).unwrap_or(default.burst_period_ms);
    let spans: Vec<_> = table.keys().filter(|(key, _)| key.starts_with("burst-")).map(|(_, span)| span).collect();
    if let (true, Some(span)) = (burst_open_ms >= burst_period_ms, spans.first()) {
        let message =
            format!("a window of {burst_open_ms} ms does not close before the next, after {burst_period_ms} ms");
        let help = "make `burst-period-ms` longer, or use level `time`, which records always";
        problems.error(span.clone(), message, Some(help.to_owned()));
    }
    ControlConfig {
        live: table.boolean("live", problems).unwrap_or(default.live),
        burst_open_ms,
        burst_period_ms,
        socket: table.boolean("socket", problems).unwrap_or(default.socket),
        call_tree: table.boolean("call-tree", problems).unwrap_or(default.call_tree),
    }
}
