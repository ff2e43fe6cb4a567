//! `[trace]`: where and how calls are recorded.

use schemars::JsonSchema;
use serde_spanned::Spanned;

use instrument_core::config::{Problems, TableReader, string_or_list};
use instrument_core::rules::nearest_name::{nearest_name, quoted_list};
use instrument_core::rules::patterns::NameGlob;

use crate::file_pattern::FilePattern;

/// Where and how calls are recorded.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TraceConfig {
    /// The trace file, a JFR recording. `%p` is replaced by the process id, `%t` by the time of the start (UTC), `%h` by the host name,
    /// `%%` by a percent sign. A recording that is there already is renamed to `NAME-1.jfr`, `NAME-2.jfr` and so on; if another process
    /// writes it, this one writes to `NAME-<pid>.jfr`. Default: `instr-%p.jfr` in the working directory. In mode `ring` the time and
    /// the reason of a dump are put into its name.
    #[schemars(with = "String")]
    pub file: Option<FilePattern>,
    /// Whether the trace file is written. Without it calls are counted, and only `[metrics]` reports them. Default: true.
    pub write: bool,
    /// Memory for records that are not written yet, of all threads together, in MiB. When it is full, records are lost and counted.
    #[schemars(range(min = 1, max = 4096))]
    pub buffer_mb: u32,
    /// `stream` (default) writes everything to the file at once. `ring` keeps the newest part in memory and writes it when it
    /// is asked to: by `instr dump-trace`, by a slow call, or at the end.
    pub mode: TraceMode,
    /// Mode `stream`: size in MiB at which the trace file is full. A fully timed program writes up to a gigabyte in ten seconds.
    #[schemars(range(min = 1, max = 1048576))]
    pub max_file_mb: u32,
    /// Mode `stream`: what happens when the trace file is full. `count` (default) counts what follows as lost, `stop` ends the
    /// recording: probes off, file complete.
    pub when_full: WhenFull,
    /// Mode `ring`: what is older goes. Without it only `keep-mb` counts.
    #[schemars(with = "u32", range(min = 1, max = 86400))]
    pub keep_seconds: Option<u32>,
    /// Mode `ring`: most memory of the ring in MiB; twice as much while a dump is being written.
    #[schemars(range(min = 1, max = 4096))]
    pub keep_mb: u32,
    /// Mode `ring`: a call longer than this many milliseconds causes a dump of the ring.
    #[schemars(with = "u32", range(min = 1, max = 86400000))]
    pub dump_when_call_ms: Option<u32>,
    /// Mode `ring`: only calls of these methods (`package.Class.method`, with `*` and `**`) do so. Default: all that are recorded.
    #[schemars(schema_with = "string_or_list")]
    pub dump_when_call: Vec<Spanned<NameGlob>>,
    /// Mode `ring`: least time between two dumps for slow calls, in seconds.
    #[schemars(range(min = 1, max = 86400))]
    pub dump_distance_seconds: u32,
    /// Mode `ring`: most dumps for slow calls.
    #[schemars(range(min = 1, max = 10000))]
    pub max_dumps: u32,
    /// Mode `ring`: whether the ring is dumped when the JVM ends or the agent leaves.
    pub dump_at_exit: bool,
    /// Only calls of threads with these names are recorded: globs in which `*` is any text; `!` in front leaves threads out.
    /// A virtual thread counts as one whose name is empty. Default: all threads.
    #[schemars(schema_with = "string_or_list")]
    pub threads: Vec<String>,
    /// What the probes read the time from. Default: `auto`.
    pub clock: ProbeClock,
    /// What of the JVM is recorded besides calls, from the state at the beginning to each change. Default: `threads` and `gc`.
    pub events: Vec<JvmEvents>,
}

/// Where recorded data goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum TraceMode {
    /// Into the trace file.
    #[default]
    Stream,
    /// Into memory, the newest part of it; into a file when asked to.
    Ring,
}

/// What happens when the trace file has its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum WhenFull {
    /// Calls are counted as lost.
    #[default]
    Count,
    /// The recording ends.
    Stop,
}

/// What the probes read the time from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum ProbeClock {
    /// The processor's time stamp counter where the kernel trusts it and the JVM (17, 21 and later, with C2) can read it directly, else `System.nanoTime()`.
    #[default]
    Auto,
    /// `System.nanoTime()`.
    System,
}

/// A kind of events of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub enum JvmEvents {
    /// Platform threads: those that live when the recording begins, each start and each end.
    Threads,
    /// How often each platform thread has left its processor, because it had to wait or because another took its place: at its
    /// end, and every two seconds of those that record calls.
    Switches,
    /// Pauses of the garbage collector.
    Gc,
    /// Classes: those that are loaded when the recording begins, each that is defined, and those that are unloaded with their loader.
    Classes,
    /// The methods of the classes that are loaded when the recording begins: a hundred bytes each, ten thousands of them.
    Methods,
    /// Compiled methods and generated code, with their addresses: those present when the recording begins, then each that is added or removed.
    Jit,
}

impl Default for TraceConfig {
    fn default() -> TraceConfig {
        TraceConfig {
            file: None,
            write: true,
            buffer_mb: 32,
            mode: TraceMode::Stream,
            max_file_mb: 2048,
            when_full: WhenFull::Count,
            keep_seconds: None,
            keep_mb: 64,
            dump_when_call_ms: None,
            dump_when_call: Vec::new(),
            dump_distance_seconds: 60,
            max_dumps: 10,
            dump_at_exit: false,
            threads: Vec::new(),
            clock: ProbeClock::default(),
            events: vec![JvmEvents::Threads, JvmEvents::Gc],
        }
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

pub(super) fn read_trace(table: &TableReader<'_, '_>, problems: &mut Problems) -> TraceConfig {
    let default = TraceConfig::default();
    let modes = [("stream", TraceMode::Stream), ("ring", TraceMode::Ring)];
    let fulls = [("count", WhenFull::Count), ("stop", WhenFull::Stop)];
    let clocks = [("auto", ProbeClock::Auto), ("system", ProbeClock::System)];
    let mode = table.choice("mode", &modes, problems).map_or(default.mode, Spanned::into_inner);
    check_mode(mode, table, problems);
    TraceConfig {
        file: FilePattern::read("file", table, problems),
        write: table.boolean("write", problems).unwrap_or(default.write),
        buffer_mb: table.number("buffer-mb", 1..4097, problems).unwrap_or(default.buffer_mb),
        mode,
        max_file_mb: table.number("max-file-mb", 1..1_048_577, problems).unwrap_or(default.max_file_mb),
        when_full: table.choice("when-full", &fulls, problems).map_or(default.when_full, Spanned::into_inner),
        keep_seconds: table.number("keep-seconds", 1..86_401, problems),
        keep_mb: table.number("keep-mb", 1..4097, problems).unwrap_or(default.keep_mb),
        dump_when_call_ms: table.number("dump-when-call-ms", 1..86_400_001, problems),
        dump_when_call: table.patterns("dump-when-call", NameGlob::method, problems),
        dump_distance_seconds: table
            .number("dump-distance-seconds", 1..86_401, problems)
            .unwrap_or(default.dump_distance_seconds),
        max_dumps: table.number("max-dumps", 1..10_001, problems).unwrap_or(default.max_dumps),
        dump_at_exit: table.boolean("dump-at-exit", problems).unwrap_or(default.dump_at_exit),
        threads: table.strings("threads", problems).into_iter().map(Spanned::into_inner).collect(),
        clock: table.choice("clock", &clocks, problems).map_or(default.clock, Spanned::into_inner),
        events: read_events(table, problems).unwrap_or(default.events),
    }
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

fn read_events(table: &TableReader<'_, '_>, problems: &mut Problems) -> Option<Vec<JvmEvents>> {
    table.value("events")?;
    let kinds = [
        ("threads", JvmEvents::Threads),
        ("switches", JvmEvents::Switches),
        ("gc", JvmEvents::Gc),
        ("classes", JvmEvents::Classes),
        ("methods", JvmEvents::Methods),
        ("jit", JvmEvents::Jit),
    ];
    let mut events = Vec::new();
    for name in table.strings("events", problems) {
        match kinds.iter().find(|(kind, _)| kind == name.get_ref()) {
            Some((_, kind)) => events.push(*kind),
            None => {
                let names = kinds.map(|(kind, _)| kind);
                let message = format!("unknown events `{}`: they are {}", name.get_ref(), quoted_list(&names, "or"));
                let nearest = nearest_name(name.get_ref(), names);
                problems.error(name.span(), message, nearest.map(|name| format!("did you mean `{name}`?")));
            }
        }
    }
    Some(events)
}
