//! What the records of probes refer to, and the interface of those who get them. It knows no JVM.
//!
//! Java code writes records under the numbers of probes; the agent decodes them and hands them to [`RecordSink`]s: the recording, the metrics, the
//! governor. All of them ask the [`ProbeRegistry`] which method and template a number stands for.

pub mod class_kinds;
mod detail_fields;
mod ended_calls;
pub mod level_times;
mod loader_id;
pub mod probe_registry;
mod probe_request;
mod record_sink;
mod trace_context;

use std::sync::Arc;

pub use detail_fields::{RequestFields, SentRequestFields, StatementFields};
pub use ended_calls::EndedCalls;
pub use level_times::LevelTimes;
pub use loader_id::{BOOT, LoaderId};
pub use probe_registry::ProbeRegistry;
pub use record_sink::{DURATION_BITS, Detail, PROBE_BITS, RecordSink, RecordThread};
pub use trace_context::TraceContext;

/// What is known about the ticks of a session.
pub type SharedLengths = Arc<parking_lot::Mutex<trace::WatchedLengths>>;
