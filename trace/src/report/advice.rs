//! What to look at when a recording holds no calls.

/// Headline of a report without calls.
pub(super) const NO_CALLS: &str = "No calls recorded.";

/// What to check then.
pub(super) const WHAT_TO_CHECK: &[&str] = &[
    "Does a rule match? `instr explain --config CONFIG CLASS` says for each method of a class why or why not.",
    "Were methods instrumented? The statistics file ([agent] stats) counts rewritten classes and refused methods.",
    "Is the level `watch`? It sees only calls that meet a tick of a millisecond; `level = \"time\"` sees all.",
    "Was the instrumented code executed while the recording ran?",
];
