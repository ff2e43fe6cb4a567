//! Which methods are instrumented, with which template, and how: bytes in, bytes out.
//!
//! Pure: no IO, clock, thread or global. The same input always gives the same output, whoever asks: agent or command line.

mod body;
pub mod capture;
pub mod config;
pub mod engine;
pub mod insertion;
pub mod level;
mod merge;
pub mod offset_map;
pub mod options;
pub mod outcome;
pub mod refusal;
pub mod selection;
pub mod template;
pub mod template_id;
mod verify;
mod wrapper;

pub use engine::{Engine, Workspace};
pub use insertion::Insertion;
pub use offset_map::OffsetMap;
pub use options::{EngineOptions, Layout, MergeWay, SentinelForm, SlotScheme};
pub use outcome::{MethodPlan, Outcome, ProbeSlot, Refused, Rewritten, RewrittenMethod, Templates};
pub use refusal::Refusal;
pub use wrapper::NotWrapped;
