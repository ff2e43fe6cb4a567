//! Dumps of a recording in memory: who asks for one, when a slow call may, and writing them on a thread of their own.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use control::Dumped;
use instrument_core::rules::patterns::NameGlob;
use parking_lot::Mutex;
use settings::TraceConfig;
use trace::{Recording, TraceDump};

use crate::files::file_names::time_stamp;
use crate::jvm::block_signals;

/// The number of dumps that are remembered for clients, the newest.
const REMEMBERED: usize = 100;
/// Most dumps with the same time and reason in their names.
const MOST_OF_A_SECOND: u32 = 1000;

/// What became of a request.
pub(crate) type DumpAnswer = Result<Dumped, String>;

/// Where others ask the drainer for dumps.
#[derive(Debug, Default)]
pub(crate) struct DumpDesk {
    requests: Mutex<Vec<Sender<DumpAnswer>>>,
    dumped: Mutex<VecDeque<Dumped>>,
}

impl DumpDesk {
    /// Asks for a dump; the answer is sent when the file is written.
    pub(crate) fn ask(&self) -> Receiver<DumpAnswer> {
        let (sender, receiver) = channel();
        self.requests.lock().push(sender);
        receiver
    }

    /// The last dumps, the oldest first.
    pub(crate) fn dumped(&self) -> Vec<Dumped> {
        self.dumped.lock().iter().cloned().collect()
    }

    fn take(&self) -> Vec<Sender<DumpAnswer>> {
        std::mem::take(&mut *self.requests.lock())
    }

    fn note(&self, dumped: Dumped) {
        let mut known = self.dumped.lock();
        if known.len() == REMEMBERED {
            known.pop_front();
        }
        known.push_back(dumped);
    }
}

/// The dumps of one recording.
#[derive(Debug)]
pub(super) struct TraceDumps {
    desk: Arc<DumpDesk>,
    /// The configured file, whose name the names of dumps begin with.
    path: PathBuf,
    slow: Option<SlowCalls>,
    at_exit: bool,
    /// A slow call that asks for a dump.
    wanted: Option<String>,
    /// Clients that asked for a dump before this round of the drainer.
    asking: Vec<Sender<DumpAnswer>>,
    writing: Vec<JoinHandle<()>>,
}

/// How long a call took, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Took {
    Exactly(u64),
    /// At level watch.
    AtLeast(u64),
}

/// When calls are slow, and when they may ask for a dump.
#[derive(Debug)]
struct SlowCalls {
    nanos: u64,
    methods: Vec<NameGlob>,
    distance: Duration,
    left: u32,
    last: Option<Instant>,
}

impl TraceDumps {
    pub(super) fn new(desk: Arc<DumpDesk>, path: PathBuf, config: &TraceConfig) -> TraceDumps {
        let slow = config.dump_when_call_ms.map(|milliseconds| SlowCalls {
            nanos: u64::from(milliseconds) * 1_000_000,
            methods: config.dump_when_call.iter().map(|method| method.get_ref().clone()).collect(),
            distance: Duration::from_secs(u64::from(config.dump_distance_seconds)),
            left: config.max_dumps,
            last: None,
        });
        TraceDumps {
            desk,
            path,
            slow,
            at_exit: config.dump_at_exit,
            wanted: None,
            asking: Vec::new(),
            writing: Vec::new(),
        }
    }

    /// The least duration of a slow call, if one may ask for a dump now.
    pub(super) fn slow_nanos(&self) -> Option<u64> {
        let slow = self.slow.as_ref().filter(|_| self.wanted.is_none())?;
        let is_far = slow.last.is_none_or(|last| last.elapsed() >= slow.distance);
        (slow.left > 0 && is_far).then_some(slow.nanos)
    }

    /// A call of this method (`package.Class.method`) took longer than is usual. Nothing happens if none may ask for a dump now: calls
    /// come in runs.
    pub(super) fn slow_call(&mut self, method: &str, took: Took) {
        let (Took::Exactly(nanos) | Took::AtLeast(nanos)) = took;
        if self.slow_nanos().is_none_or(|limit| nanos < limit) {
            return;
        }
        let Some(slow) = &mut self.slow else { return };
        let name = method.replace('.', "/");
        if slow.methods.is_empty() || slow.methods.iter().any(|glob| glob.matches(name.as_bytes())) {
            slow.left -= 1;
            slow.last = Some(Instant::now());
            let at_least = if matches!(took, Took::AtLeast(_)) { "at least " } else { "" };
            self.wanted = Some(format!("slow call: {method} took {at_least}{} ms", nanos / 1_000_000));
        }
    }

    /// A round of the drainer begins. Requests up to now are answered by a dump at its end: all calls before them are drained by then.
    pub(super) fn round_begins(&mut self) {
        self.asking.extend(self.desk.take());
    }

    /// Dumps the recording for those who asked before the round.
    pub(super) fn serve(&mut self, recording: &mut Recording, at_nanos: u64) {
        self.writing.retain(|thread| !thread.is_finished());
        if let Some(reason) = self.wanted.take() {
            self.dump(recording, at_nanos, ("slow-call", &reason), Vec::new());
        }
        let asking = std::mem::take(&mut self.asking);
        if !asking.is_empty() {
            self.dump(recording, at_nanos, ("asked", "asked for by a user"), asking);
        }
    }

    /// The recording ends for this reason: the last dump, if it is wanted. Waits until everything is written.
    pub(super) fn finish(&mut self, recording: &mut Recording, at_nanos: u64, reason: &str) {
        // Nobody is served later.
        self.round_begins();
        self.serve(recording, at_nanos);
        if self.at_exit {
            self.dump(recording, at_nanos, ("end", reason), Vec::new());
        }
        for thread in self.writing.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a dump failed");
            }
        }
    }

    fn dump(
        &mut self,
        recording: &mut Recording,
        at_nanos: u64,
        (word, reason): (&str, &str),
        asking: Vec<Sender<DumpAnswer>>,
    ) {
        let Some(dump) = recording.dump(at_nanos, reason) else { return };
        let name = DumpName { path: self.path.clone(), stamp: time_stamp(), word: word.to_owned() };
        let dumped = Dumped {
            file: name.numbered(1),
            bytes: dump.byte_count(),
            seconds: dump.nanos() as f64 / 1e9,
            reason: reason.to_owned(),
        };
        let desk = Arc::clone(&self.desk);
        let write = move || {
            block_signals();
            let answer = write(&dump, dumped, &name, &desk);
            // Who asked may have gone.
            asking.iter().for_each(|sender| drop(sender.send(answer.clone())));
        };
        // The drainer must go on: rings fill while a disk is slow.
        match std::thread::Builder::new().name("instr-dump".to_owned()).spawn(write) {
            Ok(thread) => self.writing.push(thread),
            Err(error) => tracing::error!(%error, "no thread for writing a dump"),
        }
    }
}

fn write(dump: &TraceDump, dumped: Dumped, name: &DumpName, desk: &DumpDesk) -> DumpAnswer {
    match write_to_free_name(dump, name) {
        Ok(file) => {
            tracing::info!(file = %file.display(), reason = dumped.reason, "dumped");
            let dumped = Dumped { file, ..dumped };
            desk.note(dumped.clone());
            Ok(dumped)
        }
        Err(error) => {
            let text = format!("cannot write {}: {error}", dumped.file.display());
            crate::log::message::say(&text);
            Err(text)
        }
    }
}

/// Writes the dump to the first name that no file has, not even one that another process is writing, and returns it.
fn write_to_free_name(dump: &TraceDump, name: &DumpName) -> io::Result<PathBuf> {
    let mut number = 1;
    loop {
        let file = name.numbered(number);
        match dump.write(&file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_OF_A_SECOND => number += 1,
            written => return written.map(|()| file),
        }
    }
}

/// Names with time and reason of a dump: `trace-20251121T090312Z-slow-call.jfr`.
#[derive(Debug)]
struct DumpName {
    /// The configured file.
    path: PathBuf,
    stamp: String,
    word: String,
}

impl DumpName {
    /// The n-th name of this second.
    fn numbered(&self, number: u32) -> PathBuf {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        self.path.with_file_name(format!("{stem}-{}-{}{suffix}.jfr", self.stamp, self.word))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use trace::{ProcessInfo, RecordingOptions, RingOptions};

    use super::*;

    fn dumps(keys: &str) -> TraceDumps {
        let text = format!("[trace]\nmode = 'ring'\n{keys}\n[[rule]]\nclass = 'a.B'");
        let (config, _) = settings::parse(&text, "instr.toml").unwrap();
        TraceDumps::new(Arc::default(), PathBuf::from("trace.jfr"), &config.trace)
    }

    #[test]
    fn a_slow_call_asks_once_until_the_distance_is_over() {
        let mut dumps = dumps("dump-when-call-ms = 5\nmax-dumps = 2");
        assert_eq!(dumps.slow_nanos(), Some(5_000_000));
        dumps.slow_call("a.B.c", Took::Exactly(6_999_999));
        assert_eq!(dumps.wanted.as_deref(), Some("slow call: a.B.c took 6 ms"));
        assert_eq!(dumps.slow_nanos(), None, "one is wanted already");
        // Those that were drained together with it.
        (7..20).for_each(|ms| dumps.slow_call("a.B.c", Took::Exactly(ms * 1_000_000)));
        assert_eq!(dumps.wanted.as_deref(), Some("slow call: a.B.c took 6 ms"));
        dumps.wanted = None;
        assert_eq!(dumps.slow_nanos(), None, "too soon");
        dumps.slow.as_mut().unwrap().distance = Duration::ZERO;
        assert_eq!(dumps.slow_nanos(), Some(5_000_000));
        dumps.slow_call("a.B.c", Took::AtLeast(6_000_000));
        assert_eq!(dumps.wanted.as_deref(), Some("slow call: a.B.c took at least 6 ms"));
        dumps.wanted = None;
        assert_eq!(dumps.slow_nanos(), None, "both dumps are used up");
    }

    #[test]
    fn a_dump_has_what_was_drained_after_it_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let mut dumps = dumps("");
        dumps.path = folder.path().join("trace.jfr");
        let ring = RingOptions { keep_nanos: None, keep_bytes: 1 << 20 };
        let mut recording = Recording::in_memory(RecordingOptions::new(0, 0, ProcessInfo::default()), ring);
        dumps.round_begins();
        // Calls that the client knows of may have been made after this round has drained their ring.
        let answer = dumps.desk.ask();
        dumps.serve(&mut recording, 1);
        assert!(dumps.writing.is_empty(), "too early");
        dumps.round_begins();
        dumps.serve(&mut recording, 2);
        assert!(answer.recv().unwrap().is_ok());
    }

    #[test]
    fn only_the_named_methods_ask() {
        let mut dumps = dumps("dump-when-call-ms = 5\ndump-when-call = 'com.acme.**.handle'");
        dumps.slow_call("com.acme.web.Main.main", Took::Exactly(9_000_000));
        assert_eq!(dumps.wanted, None);
        dumps.slow_call("com.acme.web.Orders.handle", Took::Exactly(9_000_000));
        assert!(dumps.wanted.is_some());
    }

    #[test]
    fn the_newest_dumps_are_remembered() {
        let desk = DumpDesk::default();
        for number in 0..REMEMBERED + 5 {
            let file = PathBuf::from(number.to_string());
            desk.note(Dumped { file, bytes: 1, seconds: 1.0, reason: String::new() });
        }
        let dumped = desk.dumped();
        assert_eq!((dumped.len(), dumped.last().unwrap().file.as_path()), (REMEMBERED, Path::new("104")));
    }

    #[test]
    fn dumps_of_the_same_second_have_names_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let options = trace::RecordingOptions::new(0, 0, trace::ProcessInfo::default());
        let ring = trace::RingOptions { keep_nanos: None, keep_bytes: 1 << 20 };
        let dump = Recording::in_memory(options, ring).dump(5, "asked for").unwrap();
        let name = || DumpName {
            path: folder.path().join("trace.jfr"),
            stamp: "20251121T090312Z".to_owned(),
            word: "asked".to_owned(),
        };
        let files: std::collections::BTreeSet<_> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..6).map(|_| scope.spawn(|| write_to_free_name(&dump, &name()).unwrap())).collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        assert_eq!(files.len(), 6, "{files:?}");
        assert!(files.contains(&folder.path().join("trace-20251121T090312Z-asked.jfr")), "{files:?}");
        for file in files {
            assert_eq!(file.metadata().unwrap().len(), dump.byte_count(), "{}", file.display());
        }
    }
}
