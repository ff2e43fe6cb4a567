//! The thread that advances `java.instr.Watch.tick` each millisecond. It exists only while some probe is at level watch.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::jvm::{JavaVm, NanoClock, StaticLongField, block_signals};

const TICK: Duration = Duration::from_millis(1);

/// A running ticker.
#[derive(Debug)]
pub(crate) struct Ticker {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

impl Ticker {
    /// Starts to write `field`.
    pub(crate) fn start(vm: JavaVm, clock: NanoClock, field: StaticLongField) -> std::io::Result<Ticker> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("instr-ticker".to_owned()).spawn(move || {
            block_signals();
            let ran = vm.with_attached_daemon(c"instr-ticker", |jni| {
                while !stopped.load(Ordering::Acquire) {
                    field.set(jni, clock.probe_now());
                    std::thread::sleep(TICK);
                }
                // Probes that began before must not record the silence that follows.
                field.set(jni, 0);
            });
            if ran.is_none() {
                tracing::error!("the ticker cannot attach to the JVM; probes at level watch record nothing");
            }
        })?;
        Ok(Ticker { thread, stop })
    }

    /// Stops ticking and waits for the end of the thread, which must not touch the JVM when that goes down.
    pub(crate) fn stop(self) {
        self.stop.store(true, Ordering::Release);
        if self.thread.join().is_err() {
            tracing::error!("the ticker failed");
        }
    }
}
