//! What the agent says to the user: on stderr, rarely, each line marked as its own.

use std::io::Write as _;

/// Writes the text to stderr, each line with the agent's mark in front.
pub(crate) fn say(text: &str) {
    let marked: String = text.lines().map(|line| format!("instr: {line}\n")).collect();
    write_unmarked(&marked);
}

/// Writes the text as it is, for diagnostics whose lines are aligned.
pub(crate) fn write_unmarked(text: &str) {
    // A closed stderr is no reason to disturb the application.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
