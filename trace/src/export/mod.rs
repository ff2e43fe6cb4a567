//! Writes a recording in the formats of other tools: one file a format.
//!
//! The recording is read once, chunk by chunk, as for a report; no text is kept in memory. The same recording gives the
//! same bytes.

mod chrome;
mod collapsed;
mod otlp;
mod perfetto;
mod pprof;
mod process;
mod samples;
mod speedscope;
mod timeline;

use std::borrow::Cow;

pub use chrome::chrome;
pub use collapsed::{CollapsedOptions, Weight, collapsed};
pub use otlp::otlp;
pub use perfetto::perfetto;
pub use pprof::{pprof, pprof_allocations};
pub use samples::{Sampled, collapsed_samples, speedscope_samples};
pub use speedscope::speedscope;

use crate::reader::Thread;

/// What a thread is called; virtual threads usually have no name of their own.
pub(crate) fn thread_name(thread: &Thread) -> Cow<'_, str> {
    match (thread.name.as_str(), thread.is_virtual) {
        ("", true) => Cow::Owned(format!("virtual thread {}", thread.id)),
        ("", false) => Cow::Owned(format!("thread {}", thread.id)),
        (name, _) => Cow::Borrowed(name),
    }
}

/// A text as a JSON string, quotes included.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
