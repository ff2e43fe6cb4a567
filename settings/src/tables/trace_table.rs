//! `[trace]`: where and how calls are recorded.

use serde_spanned::Spanned;

use instrument_core::config::{Boolean, Problems, Table as _, TableReader, list, number, parsed, texts, word, words};
use instrument_core::rules::patterns::NameGlob;
use instrument_core::{declare_table, declare_words};

use crate::file_pattern::FilePattern;

declare_table! {
    /// Where and how calls are recorded.
    pub struct TraceConfig = "trace" {
        /// The trace file, a JFR recording. `%p` is replaced by the process id, `%t` by the time of the start (UTC), `%h` by the host name,
        /// `%%` by a percent sign. A recording that is there already is renamed to `NAME-1.jfr`, `NAME-2.jfr` and so on; if another process
        /// writes it, this one writes to `NAME-<pid>.jfr`. Default: `instr-%p.jfr` in the working directory. In mode `ring` the time and
        /// the reason of a dump are put into its name.
        file: Option<FilePattern> = key("file", parsed(FilePattern::parse)),
        /// Whether the trace file is written. Without it calls are counted, and only `[metrics]` reports them.
        write: bool = key("write", Boolean, true),
        /// Memory for records that are not written yet, of all threads together, in MiB. When it is full, records are lost and counted.
        buffer_mb: u32 = key("buffer-mb", number(1..=4096), 32),
        /// `stream` writes everything to the file at once. `ring` keeps the newest part in memory and writes it when it
        /// is asked to: by `instr dump-trace`, by a slow call, or at the end.
        mode: TraceMode = key("mode", word::<TraceMode>(), TraceMode::Stream),
        /// Mode `stream`: size in MiB at which the trace file is full. A fully timed program writes up to a gigabyte in ten seconds.
        max_file_mb: u32 = key("max-file-mb", number(1..=1_048_576), 2048),
        /// Mode `stream`: what happens when the trace file is full. `count` counts what follows as lost, `stop` ends the
        /// recording: probes off, file complete.
        when_full: WhenFull = key("when-full", word::<WhenFull>(), WhenFull::Count),
        /// Mode `ring`: what is older goes. Without it only `keep-mb` counts.
        keep_seconds: Option<u32> = key("keep-seconds", number(1..=86_400)),
        /// Mode `ring`: most memory of the ring in MiB; twice as much while a dump is being written.
        keep_mb: u32 = key("keep-mb", number(1..=4096), 64),
        /// Mode `ring`: a call longer than this many milliseconds causes a dump of the ring. At level `watch` what a call
        /// surely took counts: its recorded length less one tick.
        dump_when_call_ms: Option<u32> = key("dump-when-call-ms", number(1..=86_400_000)),
        /// Mode `ring`: only calls of these methods (`package.Class.method`, with `*` and `**`) do so. Default: all that are recorded.
        dump_when_call: Vec<Spanned<NameGlob>> = key("dump-when-call", list(NameGlob::method), Vec::new()),
        /// Mode `ring`: least time between two dumps for slow calls, in seconds.
        dump_distance_seconds: u32 = key("dump-distance-seconds", number(1..=86_400), 60),
        /// Mode `ring`: most dumps for slow calls.
        max_dumps: u32 = key("max-dumps", number(1..=10_000), 10),
        /// Mode `ring`: whether the ring is dumped when the JVM ends or the agent leaves.
        dump_at_exit: bool = key("dump-at-exit", Boolean, false),
        /// Only calls of threads with these names are recorded: globs in which `*` is any text; `!` in front leaves threads out.
        /// A virtual thread counts as one whose name is empty. Default: all threads.
        threads: Vec<String> = key("threads", texts().plain(), Vec::new()),
        /// What the probes read the time from.
        clock: ProbeClock = key("clock", word::<ProbeClock>(), ProbeClock::Auto),
        /// What of the JVM is recorded besides calls, from the state at the beginning to each change.
        events: Vec<JvmEvents> = key("events", words::<JvmEvents>(), vec![JvmEvents::Threads, JvmEvents::Gc]),
    }
}

declare_words! {
    /// Where recorded data goes.
    pub enum TraceMode {
        /// Into the trace file.
        Stream = "stream",
        /// Into memory, the newest part of it; into a file when asked to.
        Ring = "ring",
    }
}

declare_words! {
    /// What happens when the trace file has its size.
    pub enum WhenFull {
        /// Calls are counted as lost.
        Count = "count",
        /// The recording ends.
        Stop = "stop",
    }
}

declare_words! {
    /// What the probes read the time from.
    pub enum ProbeClock {
        /// The processor's time stamp counter where the kernel trusts it and the JVM (17, 21 and later, with C2) can read it directly, else `System.nanoTime()`.
        Auto = "auto",
        /// `System.nanoTime()`.
        System = "system",
    }
}

declare_words! {
    /// A kind of events of the JVM.
    pub enum JvmEvents {
        /// Platform threads: those that live when the recording begins, each start and each end.
        Threads = "threads",
        /// How often each platform thread has left its processor, because it had to wait or because another took its place: at its
        /// end, and every two seconds of those that record calls.
        Switches = "switches",
        /// Pauses of the garbage collector.
        Gc = "gc",
        /// Classes: those that are loaded when the recording begins, each that is defined, and those that are unloaded with their loader.
        Classes = "classes",
        /// The methods of the classes that are loaded when the recording begins: a hundred bytes each, ten thousands of them.
        Methods = "methods",
        /// Compiled methods and generated code, with their addresses: those present when the recording begins, then each that is added or removed.
        Jit = "jit",
    }
}

/// Keys that mean something in one mode only.
const STREAM_KEYS: &[&str] = &["max-file-mb", "when-full"];
const RING_KEYS: &[&str] = &[
    "keep-seconds",
    "keep-mb",
    "dump-when-call-ms",
    "dump-when-call",
    "dump-distance-seconds",
    "max-dumps",
    "dump-at-exit",
];

pub(crate) fn read_trace(table: &TableReader<'_, '_>, problems: &mut Problems) -> TraceConfig {
    let trace = TraceConfig::read(table, problems);
    check_mode(trace.mode, table, problems);
    trace
}

/// A key of the other mode is a sign that the mode is not what the author thinks.
fn check_mode(mode: TraceMode, table: &TableReader<'_, '_>, problems: &mut Problems) {
    let (strangers, other) = match mode {
        TraceMode::Stream => (RING_KEYS, "ring"),
        TraceMode::Ring => (STREAM_KEYS, "stream"),
    };
    for (key, place) in table.keys().filter(|(key, _)| strangers.contains(key)) {
        let help = if other == "ring" { "add `mode = \"ring\"`" } else { "leave it out, or use `keep-mb`" };
        problems.error(place, format!("`{key}` means something in mode `{other}` only"), Some(help.to_owned()));
    }
    if let Some(place) = table.value("dump-when-call").filter(|_| table.value("dump-when-call-ms").is_none()) {
        let help = Some("add `dump-when-call-ms`".to_owned());
        problems.error(place.span(), "`dump-when-call` says which methods, not how long a call may be", help);
    }
}
