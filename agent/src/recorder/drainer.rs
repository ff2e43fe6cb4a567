//! The thread that empties the rings. It is unknown to the JVM: no JNI, no safepoints, nothing that could hold it up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::trace_sink::{RecordCounts, TraceSink};
use super::{JvmEventQueue, Rings};
use crate::jvm::{NanoClock, block_signals};

/// Pause after a round that found nothing.
const IDLE: Duration = Duration::from_millis(100);
/// Pause after a round that found records; short enough that the pool does not run dry at full speed, long enough that the
/// drainer does not spin.
const BUSY: Duration = Duration::from_millis(10);
/// How long recorded data may stay in memory: a kill loses no more.
const FLUSH: Duration = Duration::from_secs(2);

/// A running drainer.
#[derive(Debug)]
pub(crate) struct Drainer {
    thread: JoinHandle<RecordCounts>,
    stop: Arc<AtomicBool>,
}

impl Drainer {
    /// Starts draining into `sink`.
    pub(crate) fn start(
        rings: &'static Rings,
        clock: NanoClock,
        events: Arc<JvmEventQueue>,
        mut sink: TraceSink,
    ) -> std::io::Result<Drainer> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("instr-drainer".to_owned()).spawn(move || {
            block_signals();
            rings.wake_this_thread();
            run(rings, clock, &events, &stopped, &mut sink);
            sink.counts()
        })?;
        Ok(Drainer { thread, stop })
    }

    /// Drains what is left, completes the trace file and returns the figures.
    pub(crate) fn stop(self) -> RecordCounts {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_default()
    }
}

fn run(rings: &Rings, clock: NanoClock, events: &JvmEventQueue, stop: &AtomicBool, sink: &mut TraceSink) {
    let mut flushed = Instant::now();
    loop {
        let last = stop.load(Ordering::Acquire);
        let told = events.take();
        let found = rings.drain(clock, sink);
        told.into_iter().for_each(|(at, event)| sink.jvm_event(at as u64, event));
        let mut lost = events.take_lost();
        lost += events.take_pauses(|pause| sink.pause(pause));
        sink.lost_jvm_events(clock.now() as u64, lost);
        if last {
            break;
        }
        if flushed.elapsed() >= FLUSH {
            sink.flush();
            flushed = Instant::now();
        }
        // Ends at once if somebody called meanwhile.
        std::thread::park_timeout(if found { BUSY } else { IDLE });
    }
    sink.finish();
}
