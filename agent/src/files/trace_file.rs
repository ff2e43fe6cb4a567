//! The recording of a session: its file, and what it says about the process.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use settings::{Config, TraceConfig, TraceMode};
use trace::recording::ClaimedFile;
use trace::{ProcessInfo, Recording, RecordingOptions, RingOptions};

use crate::files::file_names::FileNames;
use crate::jvm::{Jvmti, NanoClock, counter};
use crate::log::message;

/// Recordings begun by this process.
static RECORDINGS: AtomicU32 = AtomicU32::new(0);

/// Path of the next trace file, as configured. The default name does not repeat when the agent is attached again.
pub(crate) fn path(config: &TraceConfig, names: &FileNames) -> PathBuf {
    let number = RECORDINGS.fetch_add(1, Ordering::Relaxed) + 1;
    let pid = std::process::id();
    match &config.file {
        Some(pattern) => names.path(pattern),
        None if number == 1 => PathBuf::from(format!("instr-{pid}.jfr")),
        None => PathBuf::from(format!("instr-{pid}-{number}.jfr")),
    }
}

/// A recording that begins.
#[derive(Debug)]
pub(crate) struct Created {
    /// `None` if there can be none, or if none is wanted: calls are counted without being recorded.
    pub(crate) recording: Option<Recording>,
    /// The path of its file, which another process may have forced to differ from the configured one.
    pub(crate) path: PathBuf,
    /// Why there can be none: a sentence whose subject is the file.
    pub(crate) trouble: Option<String>,
}

/// Begins the recording, in a file or in memory, if one is wanted. If there can be no file this is logged.
pub(crate) fn create(path: PathBuf, jvmti: Jvmti, clock: NanoClock, config: &Config) -> Created {
    if !config.trace.write {
        return Created { recording: None, path, trouble: None };
    }
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let epoch_nanos = u64::try_from(since_epoch.as_nanos()).unwrap_or(0);
    let process = process(jvmti, config.text_without_secrets());
    let options = RecordingOptions {
        max_file_bytes: u64::from(config.trace.max_file_mb) << 20,
        ..RecordingOptions::new(epoch_nanos, clock.now() as u64, process)
    };
    let created = if config.trace.mode == TraceMode::Ring {
        let keep_nanos = config.trace.keep_seconds.map(|seconds| u64::from(seconds) * 1_000_000_000);
        let ring = RingOptions { keep_nanos, keep_bytes: u64::from(config.trace.keep_mb) << 20 };
        Ok((Recording::in_memory(options, ring), path.clone()))
    } else {
        in_file(&path, options)
    };
    let (mut recording, path) = match created {
        Ok(created) => created,
        Err(error) => {
            let place = absolute(&path).display().to_string();
            message::say(&format!(
                "cannot write the trace file {place}: {error}; the application goes on, its calls are counted but not recorded. \
                 Name a place that the JVM's user may write to: [trace] file"
            ));
            let trouble = format!("cannot be written ({place}: {error}): calls are counted, not recorded");
            return Created { recording: None, path, trouble: Some(trouble) };
        }
    };
    let read = if counter::is_read() { "the processor's counter" } else { "System.nanoTime()" };
    recording.configuration(clock.now() as u64, "probe clock", read);
    Created { recording: Some(recording), path, trouble: None }
}

/// Begins a recording in a file that nobody else writes.
fn in_file(path: &Path, options: RecordingOptions) -> io::Result<(Recording, PathBuf)> {
    let file = ClaimedFile::claim(path)?;
    if let Some(earlier) = file.earlier() {
        message::say(&format!(
            "{} holds an earlier recording, which is kept as {}",
            absolute(path).display(),
            earlier.display()
        ));
    }
    let claimed = file.path().to_owned();
    if claimed != path {
        message::say(&format!(
            "{} is being written by another process, so this recording is written to {}; \
             with %p in [trace] file each process has a file of its own",
            absolute(path).display(),
            claimed.display()
        ));
    }
    Ok((Recording::in_file(file, options)?, claimed))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What the program may be called: its main class, or the name of its jar.
pub(crate) fn program_name(jvmti: Jvmti) -> String {
    let command = jvmti.system_property(c"sun.java.command").unwrap_or_default();
    let first = command.split_whitespace().next().unwrap_or("java");
    let file = first.rsplit('/').next().unwrap_or(first);
    file.strip_suffix(".jar").unwrap_or(file).to_owned()
}

fn process(jvmti: Jvmti, config_text: String) -> ProcessInfo {
    let property = |name| jvmti.system_property(name).unwrap_or_default();
    ProcessInfo {
        pid: u64::from(std::process::id()),
        command_line: property(c"sun.java.command"),
        jvm_name: property(c"java.vm.name"),
        jvm_version: property(c"java.vm.version"),
        agent_version: env!("CARGO_PKG_VERSION").to_owned(),
        config_text,
        os_version: format!("{} {}", property(c"os.name"), property(c"os.version")).trim().to_owned(),
        cpu_count: std::thread::available_parallelism().map_or(0, |count| u32::try_from(count.get()).unwrap_or(0)),
        ..ProcessInfo::default()
    }
}
