//! `[control]`: what can be changed while the program runs.

use instrument_core::config::{Boolean, Problems, Table as _, TableReader, number};
use instrument_core::declare_table;

declare_table! {
    /// What `instr status`, `instr top` and `instr level` may do with the running program.
    pub struct ControlConfig = "control" {
        /// Makes all probes live: their level can be changed at any time, without touching the class again. Only templates with a live
        /// variant, such as the built-in ones, can do that. Probes of rules with level `time` or `full` are live anyway where there is a
        /// governor.
        live: bool = key("live", Boolean, false),
        /// How long a window of level `burst` is open, in milliseconds.
        burst_open_ms: u32 = key("burst-open-ms", number(1..=10_000), 1),
        /// From the beginning of a window to that of the next, in milliseconds; longer than `burst-open-ms`.
        burst_period_ms: u32 = key("burst-period-ms", number(2..=60_000), 100),
        /// Listen to the same user's `instr` commands on a Unix domain socket in `/tmp/instr-<user id>`.
        socket: bool = key("socket", Boolean, true),
        /// Classes that are changed while the program runs are retransformed in batches that stop it for no longer than this, in milliseconds
        /// (a single class may take longer); two batches are at least 200 ms apart.
        stop_ms: u32 = key("stop-ms", number(1..=10_000), 20),
        /// Keep the call tree of all calls up to now in memory, for `instr top PID --tree`. Costs the recorder's thread some 50 ns a
        /// call, the application nothing.
        call_tree: bool = key("call-tree", Boolean, false),
    }
}

pub(crate) fn read_control(table: &TableReader<'_, '_>, problems: &mut Problems) -> ControlConfig {
    let control = ControlConfig::read(table, problems);
    let (burst_open_ms, burst_period_ms) = (control.burst_open_ms, control.burst_period_ms);
    let spans: Vec<_> = table.keys().filter(|(key, _)| key.starts_with("burst-")).map(|(_, span)| span).collect();
    if let (true, Some(span)) = (burst_open_ms >= burst_period_ms, spans.first()) {
        let message =
            format!("a window of {burst_open_ms} ms does not close before the next, after {burst_period_ms} ms");
        let help = "make `burst-period-ms` longer, or use level `time`, which records always";
        problems.error(span.clone(), message, Some(help.to_owned()));
    }
    control
}
