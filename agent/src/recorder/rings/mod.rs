//! The rings of all threads: carrier threads write records into them, the drainer reads them.

mod header_table;
mod record_stream;
mod ring;
pub(super) mod segment_pool;

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

use parking_lot::Mutex;
use records::probe_registry;

use crate::jvm::{NanoClock, RecorderNatives, current_thread_id};
use crate::live_levels;
use crate::recorder::RecordSinks;
use crate::recorder::ticks::watched_calls;
use header_table::{Header, HeaderTable};
use ring::Ring;
use segment_pool::SegmentPool;

/// All rings of the process.
#[derive(Debug)]
pub(crate) struct Rings {
    headers: HeaderTable,
    pool: SegmentPool,
    /// The rings in use. The lock is held while a place in the table is taken or given back, too.
    used: Mutex<Vec<Arc<Ring>>>,
    /// The number of threads that have added a segment of their own to the pool.
    segments_brought: AtomicUsize,
    drainer: Mutex<Option<Thread>>,
    drainer_called: AtomicBool,
    /// Handed out when there can be no ring: it never has a segment, so everything written to it counts as lost.
    without_memory: Header,
    /// What was written to it: a thread without a ring asks for one at every record.
    lost_without_ring: AtomicU64,
}

thread_local! {
    /// The ring of this carrier thread. Never dropped, but taken when the JVM reports the end of the thread: native threads leave the JVM
    /// in destructors of their own, when those of Rust have run, and Java code runs for that.
    static RING: ManuallyDrop<RefCell<Option<Arc<Ring>>>> = const { ManuallyDrop::new(RefCell::new(None)) };
}

static RINGS: OnceLock<Rings> = OnceLock::new();

impl Rings {
    /// The rings of this process; the first caller decides about the size.
    pub(crate) fn of_process(buffer_bytes: usize) -> &'static Rings {
        RINGS.get_or_init(|| Rings {
            headers: HeaderTable::new(),
            pool: SegmentPool::new(buffer_bytes),
            used: Mutex::new(Vec::new()),
            segments_brought: AtomicUsize::new(0),
            drainer: Mutex::new(None),
            drainer_called: AtomicBool::new(false),
            without_memory: Header::without_owner(),
            lost_without_ring: AtomicU64::new(0),
        })
    }

    /// The current thread runs no Java code any more; its ring is removed once it has been drained.
    pub(crate) fn thread_ended(&self) {
        if let Some(ring) = RING.with(|ring| ring.take()) {
            ring.end(&self.pool);
        }
    }

    /// The threads that have rings: Java id and the operating system's number.
    pub(super) fn threads(&self) -> Vec<(u64, u64)> {
        self.used.lock().iter().map(|ring| (ring.header().carrier(), ring.os_thread())).collect()
    }

    /// Reads all rings; how many words there were.
    pub(super) fn drain(&self, clock: NanoClock, sink: &mut RecordSinks) -> usize {
        self.drainer_called.store(false, Ordering::Relaxed);
        let rings = self.used.lock().clone();
        let mut words = 0;
        for ring in rings {
            let ended = ring.has_ended();
            sink.ring(ring.os_thread());
            let now = ring.drain(&self.pool, sink);
            words += now.words;
            sink.malformed(now.malformed);
            if now.lost > 0 {
                sink.lost(ring.last_thread(), clock.now() as u64, now.lost);
            }
            if ended {
                sink.thread_gone(ring.last_thread());
                sink.thread_gone(ring.carrier());
                self.remove(&ring);
            }
        }
        let without_ring = self.lost_without_ring.swap(0, Ordering::Relaxed);
        if without_ring > 0 {
            sink.lost(0, clock.now() as u64, without_ring);
        }
        words
    }

    fn remove(&self, ended: &Arc<Ring>) {
        let mut used = self.used.lock();
        used.retain(|ring| !Arc::ptr_eq(ring, ended));
        ended.header().release();
    }

    /// The calling thread is the one to be woken when memory runs short.
    pub(super) fn wake_this_thread(&self) {
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

    fn new_ring(&'static self, carrier: u64) -> Option<Arc<Ring>> {
        let mut used = self.used.lock();
        let ring = Arc::new(Ring::new(self.headers.claim(carrier)?, current_thread_id()));
        used.push(Arc::clone(&ring));
        if used.len() > self.segments_brought.fetch_max(used.len(), Ordering::Relaxed) {
            self.pool.grow();
        }
        Some(ring)
    }
}

impl RecorderNatives for Rings {
    fn levels(&self) -> i64 {
        live_levels::of_process().address() as i64
    }

    fn counts(&self) -> i64 {
        watched_calls::address()
    }

    fn words(&self) -> i64 {
        live_levels::of_process().words() as i64
    }

    fn table(&self) -> i64 {
        self.headers.address() as i64
    }

    fn open(&'static self, carrier: u64) -> i64 {
        let known = RING.with(|ring| ring.borrow().clone());
        let ring = known.filter(|ring| ring.header().belongs_to(carrier)).or_else(|| {
            // A thread that had no id when it asked for the first time.
            self.thread_ended();
            let ring = self.new_ring(carrier)?;
            RING.with(|own| own.replace(Some(Arc::clone(&ring))));
            Some(ring)
        });
        match ring {
            Some(ring) => ring.header().address() as i64,
            None => {
                self.lost_without_ring.fetch_add(1, Ordering::Relaxed);
                self.without_memory()
            }
        }
    }

    fn next(&self, header: i64) {
        RING.with(|own| {
            let own = own.borrow();
            if let Some(ring) = own.as_ref().filter(|ring| ring.header().address() == header as u64) {
                ring.next_segment(&self.pool);
                self.call_drainer();
            }
        });
    }

    fn without_memory(&self) -> i64 {
        self.without_memory.address() as i64
    }

    fn section(&self, name: &[u8]) -> u32 {
        probe_registry::of_process().section(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Leaves the JVM in its destructor, as native threads do.
    struct LeavesLate(&'static Rings);

    impl Drop for LeavesLate {
        fn drop(&mut self) {
            let header = self.0.open(CARRIER);
            self.0.next(header);
            self.0.thread_ended();
        }
    }

    thread_local! {
        static LATE: RefCell<Option<LeavesLate>> = const { RefCell::new(None) };
    }

    const CARRIER: u64 = 4_711;

    #[test]
    fn a_thread_that_leaves_the_jvm_in_its_last_moments_has_its_ring_until_then() {
        let rings = Rings::of_process(1 << 20);
        let ring = std::thread::spawn(|| {
            // Before the ring, so that it is dropped after whatever that has to destroy.
            LATE.set(Some(LeavesLate(rings)));
            rings.open(CARRIER);
            let used = rings.used.lock();
            used.iter().find(|ring| ring.carrier() == CARRIER).map(Arc::clone)
        });
        let ring = ring.join().unwrap().unwrap();
        let mine = rings.used.lock().iter().filter(|ring| ring.carrier() == CARRIER).count();
        assert!(ring.has_ended() && mine == 1, "one ring, and the drainer may take it away");
    }
}
