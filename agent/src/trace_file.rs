//! The trace file of a session: its name, and what it says about the process.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use instrument_core::config::{Config, TraceMode};
use trace::{ProcessInfo, Recording, RecordingOptions, RingOptions};

use crate::jvm::{Jvmti, NanoClock, counter};
use crate::message;

/// Recordings begun by this process.
static RECORDINGS: AtomicU32 = AtomicU32::new(0);

/// Path of the next trace file: as configured, `%p` standing for the process id. The default name does not repeat when the
/// agent is attached again.
pub(crate) fn path(configured: Option<&str>) -> PathBuf {
    let number = RECORDINGS.fetch_add(1, Ordering::Relaxed) + 1;
    let default = if number == 1 { "instr-%p.jfr".to_owned() } else { format!("instr-%p-{number}.jfr") };
    PathBuf::from(with_process_id(configured.unwrap_or(&default)))
}

/// Replaces `%p` by the process id.
pub(crate) fn with_process_id(name: &str) -> String {
    name.replace("%p", &std::process::id().to_string())
}

/// Begins the recording, in a file or in memory; if there can be no file it says so, and calls are counted without being recorded.
pub(crate) fn create(path: &Path, jvmti: Jvmti, clock: NanoClock, config: &Config) -> Option<Recording> {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch_nanos = u64::try_from(since_epoch.as_nanos()).unwrap_or(0);
    let process = process(jvmti, config.source.text());
    let options = RecordingOptions {
        max_file_bytes: u64::from(config.trace.max_file_mb) << 20,
        ..RecordingOptions::new(epoch_nanos, clock.now() as u64, process)
    };
    let mut recording = if config.trace.mode == TraceMode::Ring {
        let keep_nanos = config.trace.keep_seconds.map(|seconds| u64::from(seconds) * 1_000_000_000);
        let ring = RingOptions { keep_nanos, keep_bytes: u64::from(config.trace.keep_mb) << 20 };
        Recording::in_memory(options, ring)
    } else {
        Recording::create(path, options)
            .inspect_err(|error| {
                let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
                message::say(&format!(
                    "cannot write the trace file {}: {error}; the application goes on, its calls are counted but not recorded. \
                     Name a place that the JVM's user may write to: [trace] file",
                    place.display()
                ));
            })
            .ok()?
    };
    let read = if counter::is_read() { "the processor's counter" } else { "System.nanoTime()" };
    recording.configuration(clock.now() as u64, "probe clock", read);
    Some(recording)
}

/// What the program may be called: its main class, or the name of its jar.
pub(crate) fn program_name(jvmti: Jvmti) -> String {
    let command = jvmti.system_property(c"sun.java.command").unwrap_or_default();
    let first = command.split_whitespace().next().unwrap_or("java");
    let file = first.rsplit('/').next().unwrap_or(first);
    file.strip_suffix(".jar").unwrap_or(file).to_owned()
}

fn process(jvmti: Jvmti, config_text: &str) -> ProcessInfo {
    let property = |name| jvmti.system_property(name).unwrap_or_default();
    ProcessInfo {
        pid: u64::from(std::process::id()),
        command_line: property(c"sun.java.command"),
        jvm_name: property(c"java.vm.name"),
        jvm_version: property(c"java.vm.version"),
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        config_text: config_text.to_owned(),
        os_version: format!("{} {}", property(c"os.name"), property(c"os.version")).trim().to_owned(),
        cpu_count: std::thread::available_parallelism().map_or(0, |count| u32::try_from(count.get()).unwrap_or(0)),
        ..ProcessInfo::default()
    }
}
