//! What to look at when a recording holds no calls.

use crate::Analysis;

/// Headline of a report without calls.
pub(super) const NO_CALLS: &str = "No calls recorded.";

const RULES: [&str; 4] = [
    "Does a rule match? `instr explain --config CONFIG CLASS` says for each method of a class why or why not.",
    "Were methods instrumented? The statistics file ([agent] stats) counts rewritten classes and refused methods.",
    "Is the level `watch`? It sees only calls that meet a tick of a millisecond; `level = \"time\"` sees all.",
    "Was the instrumented code executed while the recording ran?",
];
const LOST: &str = "Calls were recorded and lost: the warnings above say why. The file needs room on the disk and below `max-file-mb` in [trace], \
     and short bursts of calls need memory (`buffer-mb`).";
const NO_END: &str = "The recording has no end: the process still runs, was killed, or could not write to the file (a full disk; the agent reports \
     that on standard error).";

/// Returns what to check if a recording has no calls.
pub(super) fn what_to_check(analysis: &Analysis) -> Vec<&'static str> {
    if analysis.lost > 0 {
        return vec![LOST];
    }
    let no_end = (!analysis.recording.is_finished).then_some(NO_END);
    no_end.into_iter().chain(RULES).collect()
}
