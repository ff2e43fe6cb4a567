//! The thread that advances `java.instr.Watch.tick` and the tick of live probes each millisecond, and opens the windows of level
//! burst. It exists only while some probe is at level watch, or live.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::burst_windows::{BurstWindows, Step};
use super::jvm_event_queue::{JvmEvent, JvmEventQueue};
use crate::jvm::{JavaVm, NanoClock, StaticLongField, block_signals};
use crate::live_levels::{self, LiveLevels};

const TICK: Duration = Duration::from_millis(1);

/// A running ticker.
#[derive(Debug)]
pub(crate) struct Ticker {
    thread: JoinHandle<()>,
    stop: Arc<AtomicBool>,
}

/// What ticks besides the Java field.
#[derive(Debug)]
struct LiveTicks {
    levels: &'static LiveLevels,
    windows: BurstWindows,
    /// Where windows that are over are told.
    events: Arc<JvmEventQueue>,
}

impl Ticker {
    /// Starts to write `field` and the words of live probes; windows that are over are told to `events`.
    pub(crate) fn start(
        vm: JavaVm,
        clock: NanoClock,
        field: StaticLongField,
        windows: BurstWindows,
        events: Arc<JvmEventQueue>,
    ) -> std::io::Result<Ticker> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut live = LiveTicks { levels: live_levels::of_process(), windows, events };
        let thread = std::thread::Builder::new().name("instr-ticker".to_owned()).spawn(move || {
            block_signals();
            let ran = vm.with_attached_daemon(c"instr-ticker", |jni| {
                while !stopped.load(Ordering::Acquire) {
                    let now = clock.now();
                    field.set(jni, now);
                    live.tick(now);
                    std::thread::sleep(TICK);
                }
                // Probes that began before must not record the silence that follows.
                field.set(jni, 0);
                live.end(clock.now());
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

impl LiveTicks {
    fn tick(&mut self, now: i64) {
        self.levels.tick(now);
        let step = self.windows.step(now, self.levels.is_bursting());
        self.carry_out(step);
    }

    fn end(&mut self, now: i64) {
        let step = self.windows.finish(now);
        self.carry_out(step);
        self.levels.stand_still();
    }

    fn carry_out(&self, step: Option<Step>) {
        match step {
            Some(Step::Open(end)) => self.levels.open_window(end),
            Some(Step::Over(start, end)) => {
                self.levels.close_window();
                let nanos = end.saturating_sub(start).unsigned_abs();
                self.levels.count_window(nanos);
                self.events.add(JvmEvent::BurstWindow { start: start.unsigned_abs(), nanos });
            }
            None => {}
        }
    }
}
