//! The real program in a directory of its own: what it prints, and with which code it ends.
//!
//! Expected output is in `expected/`; `cargo xtask bless cli` takes what is printed now.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod attach;
mod check;
mod delegates;
mod diff;
mod dump;
mod explain;
mod export;
mod inventory;
mod pre;
mod report;
mod sandbox;
mod send;
mod template_lint;
mod top;
mod usage;
