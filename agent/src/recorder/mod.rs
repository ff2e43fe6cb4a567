//! Recording: from the rings that instrumented methods write to the trace file.
//!
//! ```text
//! carrier thread --Java, no lock--> ring (header + segments) --drainer thread--> TraceSink --> trace file
//!                                                                                  MetricsSink --> figures, spans
//! ```
//! The table of headers and the segments belong to the process and outlive a detach, because Java code knows their addresses;
//! drainer and trace file belong to one recording.

mod calls;
mod drainer;
mod jvm_events;
mod record_sinks;
mod rings;
mod thread_selection;
mod ticks;
mod trace_file;

pub(crate) use calls::call_rates::{CallRates, Calls, CallsMade, Looker, RecentCalls};
pub(crate) use calls::call_tree;
pub(crate) use calls::inner_calls::InnerCalls;
pub(crate) use calls::live_tree::{LiveTree, TreeNode, TreeSnapshot};
pub(crate) use calls::nested_calls::{CallSum, Nested, NestedCalls, Nesting};
pub(crate) use drainer::{Drainer, Watcher};
pub(crate) use jvm_events::jvm_event_queue::{JvmEvent, JvmEventQueue, note_freed_loader, note_pause};
pub(crate) use jvm_events::jvm_event_recording;
pub(crate) use record_sinks::RecordSinks;
pub(crate) use rings::Rings;
pub(crate) use thread_selection::ThreadSelection;
pub(crate) use ticks::burst_windows::BurstWindows;
pub(crate) use ticks::late_ticks::LateTicks;
pub(crate) use ticks::ticker::{LiveTicks, TickIntervals, TickSettings, Ticker};
pub(crate) use ticks::watched_calls::{Seen, WatchedCalls};
pub(crate) use trace_file::file_trouble::FileTrouble;
pub(crate) use trace_file::trace_dumps::DumpDesk;
pub(crate) use trace_file::trace_sink::{RecordCounts, TraceParts, TraceSink};
