//! Which probed methods have slow calls, by the records of their probes, and when one of them is to be diagnosed. It begins nothing itself:
//! `session/monitor.rs` feeds it and asks.

mod detail;
mod lengths;
mod restraint;
mod threshold;

pub(crate) use detail::{DetailChange, DetailRule, Details, SeenCalls};
pub(crate) use lengths::{Lengths, SlowCalls, SlowFrom};
pub(crate) use restraint::{Restraint, Restraints};
pub(crate) use threshold::learnt;
