//! The thread that empties the rings. It is unknown to the JVM: no JNI, no safepoints, nothing that could hold it up.

use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::record_sinks::RecordSinks;
use super::{JvmEventQueue, Rings};
use crate::jvm::{NanoClock, block_signals};
use crate::recorder::rings::segment_pool::SEGMENT_WORDS;
use crate::recorder::trace_file::trace_sink::RecordCounts;

/// Pause after a round that found little or nothing. Waking up costs 40 us on a virtual machine.
const IDLE: Duration = Duration::from_millis(100);
/// Pause after a round that found records; long enough that the drainer does not spin.
const BUSY: Duration = Duration::from_millis(10);
/// Pause after a round that found many. So the drainer returns before a thread of the application has to call it, which
/// would cost that thread a system call.
const HECTIC: Duration = Duration::from_millis(1);
/// That many words are many: two segments.
const MANY: usize = 2 * SEGMENT_WORDS;
/// That many words are few: ten rounds like this fill half a segment.
const FEW: usize = SEGMENT_WORDS / 20;
/// How long recorded data may stay in memory: a kill loses no more.
const FLUSH: Duration = Duration::from_secs(2);

/// Somebody who looks at the figures after each round.
pub(crate) trait Watcher: Send {
    /// What has been recorded up to now.
    fn look(&mut self, counts: RecordCounts);
}

/// A running drainer.
#[derive(Debug)]
pub(crate) struct Drainer {
    thread: JoinHandle<RecordCounts>,
    /// Why it is to stop; set once.
    stop: Arc<OnceLock<String>>,
}

impl Drainer {
    /// Starts draining into `sink`.
    pub(crate) fn start(
        rings: &'static Rings,
        clock: NanoClock,
        events: Arc<JvmEventQueue>,
        mut sink: RecordSinks,
        mut watcher: impl Watcher + 'static,
    ) -> std::io::Result<Drainer> {
        let stop = Arc::new(OnceLock::new());
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("instr-drainer".to_owned()).spawn(move || {
            block_signals();
            rings.wake_this_thread();
            let sources = Sources { rings, clock, events: &events };
            run(&sources, &stopped, &mut sink, &mut watcher);
            sink.counts()
        })?;
        Ok(Drainer { thread, stop })
    }

    /// Drains what is left, completes the trace file with the reason of its end, and returns the figures.
    pub(crate) fn stop(self, reason: &str) -> RecordCounts {
        self.stop.get_or_init(|| reason.to_owned());
        self.thread.thread().unpark();
        let ended = self.thread.join();
        if ended.is_err() {
            tracing::error!("the recorder failed: what came after that is lost");
        }
        ended.unwrap_or_default()
    }
}

/// Where the drainer finds what is to be written.
struct Sources<'a> {
    rings: &'a Rings,
    clock: NanoClock,
    events: &'a JvmEventQueue,
}

impl Sources<'_> {
    /// Writes what there is, samples excepted; returns how many words of the rings that were.
    fn drain(&self, sink: &mut RecordSinks) -> usize {
        // Before the rings: calls of a thread whose end is reported here must be there already.
        let freed = self.events.take_freed_loaders();
        let told = self.events.take();
        sink.introduce(&told);
        let began = self.clock.now() as u64;
        let words = self.rings.drain(self.clock, sink);
        sink.round_done(began);
        sink.jvm_events(told);
        freed.into_iter().for_each(|(at, loader)| sink.loader_freed(at as u64, loader));
        let mut lost = self.events.take_lost();
        lost += self.events.take_pauses(|pause| sink.pause(pause));
        sink.lost_jvm_events(self.clock.now() as u64, lost);
        words
    }
}

fn run(sources: &Sources<'_>, stop: &OnceLock<String>, sink: &mut RecordSinks, watcher: &mut impl Watcher) {
    let mut flushed = Instant::now();
    loop {
        let last = stop.get();
        sink.round_begins();
        let words = sources.drain(sink);
        let has_samples = sink.take_samples();
        watcher.look(sink.counts());
        let now = sources.clock.now() as u64;
        let is_due = flushed.elapsed() >= FLUSH;
        if is_due || last.is_some() {
            sink.look_at_switches(&|| sources.rings.threads(), now);
        }
        if let Some(reason) = last {
            return sink.finish(now, reason);
        }
        sink.serve_dumps(now);
        if is_due {
            sink.flush();
            flushed = Instant::now();
        }
        // Ends at once if somebody called meanwhile.
        std::thread::park_timeout(match words {
            MANY.. => HECTIC,
            ..FEW if !has_samples => IDLE,
            _ => BUSY,
        });
    }
}
