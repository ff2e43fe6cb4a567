//! The recorded process, as far as exports name it.

use crate::TraceReader;
use crate::reader::Event;

/// What must be known before the first call is written.
#[derive(Debug, Default)]
pub(super) struct Process {
    pub(super) pid: u64,
    pub(super) name: String,
}

impl Process {
    /// The first chunk describes the JVM.
    pub(super) fn of(reader: &TraceReader) -> Process {
        let Ok(chunk) = reader.chunk(0) else { return Process::default() };
        let process = chunk.events().flatten().find_map(|event| match event {
            // Without the arguments of the program: the file is made to be passed on.
            Event::Jvm { pid, command_line, .. } => {
                let name = command_line.split_whitespace().next().unwrap_or("JVM").to_owned();
                Some(Process { pid, name })
            }
            _ => None,
        });
        process.unwrap_or_default()
    }
}
