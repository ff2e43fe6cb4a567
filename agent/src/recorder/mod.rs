//! Recording: from the rings that instrumented methods write to the trace file.
//!
//! ```text
//! carrier thread --Java, no lock--> ring (header + segments) --drainer thread--> TraceSink --> trace file
//! ```
//! Rings and their memory belong to the process and outlive a detach, because Java code holds their addresses; drainer and
//! trace file belong to one recording.

mod drainer;
mod jvm_event_queue;
mod record_stream;
mod ring;
mod segment_pool;
mod ticker;
mod trace_sink;

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

use parking_lot::Mutex;

pub(crate) use drainer::Drainer;
pub(crate) use jvm_event_queue::{JvmEvent, JvmEventQueue, note_pause};
pub(crate) use ticker::Ticker;
pub(crate) use trace_sink::{RecordCounts, TraceSink};

use crate::jvm::{NanoClock, RecorderNatives, current_thread_id};
use ring::Ring;
use segment_pool::SegmentPool;

/// All rings of the process.
#[derive(Debug)]
pub(crate) struct Rings {
    pool: SegmentPool,
    threads: Mutex<RingList>,
    drainer: Mutex<Option<Thread>>,
    drainer_called: AtomicBool,
    /// Handed out when there can be no ring: it never has a segment, so everything written to it counts as lost.
    without_memory: Ring,
}

#[derive(Debug, Default)]
struct RingList {
    used: Vec<&'static Ring>,
    free: Vec<&'static Ring>,
}

thread_local! {
    /// The ring of this carrier thread.
    static RING: Cell<Option<&'static Ring>> = const { Cell::new(None) };
}

static RINGS: OnceLock<Rings> = OnceLock::new();

impl Rings {
    /// The rings of this process; the first caller decides about the size.
    pub(crate) fn of_process(buffer_bytes: usize) -> &'static Rings {
        RINGS.get_or_init(|| Rings {
            pool: SegmentPool::new(buffer_bytes),
            threads: Mutex::new(RingList::default()),
            drainer: Mutex::new(None),
            drainer_called: AtomicBool::new(false),
            without_memory: Ring::new(),
        })
    }

    /// The current thread runs no Java code any more; its ring is free once it has been drained.
    pub(crate) fn thread_ended(&self) {
        if let Some(ring) = RING.take() {
            ring.end(&self.pool);
        }
    }

    /// Reads all rings; whether there was anything.
    fn drain(&self, clock: NanoClock, sink: &mut TraceSink) -> bool {
        self.drainer_called.store(false, Ordering::Relaxed);
        let rings = self.threads.lock().used.clone();
        let mut found = false;
        for ring in rings {
            let ended = ring.has_ended();
            sink.ring(ring.os_thread());
            let now = ring.drain(&self.pool, sink);
            found |= now.words > 0;
            sink.malformed(now.malformed);
            if now.lost > 0 {
                sink.lost(ring.last_thread(), clock.now() as u64, now.lost);
            }
            if ended {
                self.reuse(ring);
            }
        }
        found
    }

    fn reuse(&self, ended: &'static Ring) {
        let mut threads = self.threads.lock();
        threads.used.retain(|ring| !std::ptr::eq(*ring, ended));
        threads.free.push(ended);
    }

    /// The calling thread is the one to be woken when memory runs short.
    fn wake_this_thread(&self) {
        *self.drainer.lock() = Some(std::thread::current());
    }

    /// Wakes the drainer once per round, and only if much waits for it: waking costs the application a system call.
    fn call_drainer(&self) {
        if self.pool.is_pressing() && !self.drainer_called.swap(true, Ordering::Relaxed) {
            // Somebody else holds the lock only to replace the thread; then there is a new drainer, which is awake.
            if let Some(Some(drainer)) = self.drainer.try_lock().as_deref() {
                drainer.unpark();
            }
        }
    }

    fn new_ring(&self) -> &'static Ring {
        let mut threads = self.threads.lock();
        let ring = threads.free.pop().unwrap_or_else(|| {
            self.pool.grow();
            Box::leak(Box::new(Ring::new()))
        });
        threads.used.push(ring);
        ring
    }
}

impl RecorderNatives for Rings {
    fn open(&self) -> i64 {
        let known = RING.get();
        let ring = known.unwrap_or_else(|| self.new_ring());
        if known.is_some() {
            ring.reopen();
        } else {
            ring.begin(current_thread_id(), &self.pool);
            RING.set(Some(ring));
        }
        ring.header_address() as i64
    }

    fn next(&self, header: i64) {
        let Some(ring) = RING.get() else { return };
        if ring.header_address() == header as u64 {
            ring.next_segment(&self.pool);
            self.call_drainer();
        }
    }

    fn without_memory(&self) -> i64 {
        self.without_memory.header_address() as i64
    }
}
