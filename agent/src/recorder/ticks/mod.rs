//! The ticks of level watch and the windows of level burst: when they are due, and what was measured about them.

pub(super) mod burst_windows;
pub(super) mod late_ticks;
mod tick_pace;
pub(super) mod ticker;
pub(super) mod watched_calls;
