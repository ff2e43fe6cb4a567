//! The thread that keeps the figures: it ends the intervals, reads the environment, and collects everything for whoever
//! publishes it. It is attached to the JVM, as a daemon, because the size of the heap is asked by JNI.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Origin;
use super::environment::Environment;
use super::exceptions;
use super::family::Family;
use super::full_calls::FullCalls;
use super::method_families::{self, MethodNames};
use super::method_table::MethodTable;
use super::relations::Relations;
use crate::health::Health;
use crate::jvm::{Jni, NanoClock, block_signals};
use crate::level_times::LevelTimes;

/// What the keeper is asked for.
#[derive(Debug)]
pub(crate) enum Ask {
    /// All metrics as they stand.
    Collect(SyncSender<Vec<Family>>),
    /// The end.
    Stop,
}

/// A running keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    asks: Sender<Ask>,
    thread: JoinHandle<()>,
}

/// What the keeper does at the end of each interval.
pub(crate) trait IntervalEnd: Send {
    /// An interval has ended; `last` is set for the final one. `collect` gives all metrics.
    fn interval_ended(&mut self, last: bool, collect: &mut dyn FnMut() -> Vec<Family>);
}

/// What the keeper goes by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Length of an interval.
    pub(crate) interval: Duration,
    /// Calls that run longer are stalled.
    pub(crate) stalled_after: Duration,
    /// Methods with series of their own.
    pub(crate) most_methods: usize,
}

/// What others find out.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Calls, from the drainer.
    pub(crate) table: Arc<Mutex<MethodTable>>,
    /// Who calls whom, if that is wanted.
    pub(crate) relations: Option<Arc<Mutex<Relations>>>,
    /// The heap.
    pub(crate) health: Arc<Mutex<Health>>,
    /// Changes of level.
    pub(crate) level_times: Arc<LevelTimes>,
}

/// The state of the thread.
struct Figures {
    sources: Sources,
    names: MethodNames,
    environment: Environment,
    clock: NanoClock,
    limits: Limits,
}

impl Keeper {
    /// Starts the thread.
    pub(crate) fn start(
        origin: Origin,
        limits: Limits,
        sources: Sources,
        mut listener: Box<dyn IntervalEnd>,
    ) -> std::io::Result<Keeper> {
        let (asks, questions) = channel();
        let thread = std::thread::Builder::new().name("instr-metrics".to_owned()).spawn(move || {
            block_signals();
            let mut figures = Figures {
                sources,
                names: MethodNames::new(origin.probes),
                environment: Environment::find(),
                clock: origin.clock,
                limits,
            };
            let ran = origin.vm.with_attached_daemon(c"instr-metrics", |jni| {
                figures.keep(jni, limits.interval, &questions, &mut *listener);
            });
            if ran.is_none() {
                tracing::error!("the thread for metrics cannot attach to the JVM; there are none");
            }
        })?;
        Ok(Keeper { asks, thread })
    }

    /// Where to ask.
    pub(crate) fn asks(&self) -> Sender<Ask> {
        self.asks.clone()
    }

    /// Ends the last interval and the thread, which must not touch the JVM when that goes down.
    pub(crate) fn stop(self) {
        // Fails if the thread has ended already.
        let _ = self.asks.send(Ask::Stop);
        if self.thread.join().is_err() {
            tracing::error!("the thread for metrics failed");
        }
    }
}

impl Figures {
    fn keep(&mut self, jni: &Jni<'_>, interval: Duration, asks: &Receiver<Ask>, listener: &mut dyn IntervalEnd) {
        let mut begun = Instant::now();
        loop {
            match asks.recv_timeout(interval.saturating_sub(begun.elapsed())) {
                Ok(Ask::Collect(answer)) => {
                    // Nobody waits any more: then it took too long.
                    let _ = answer.try_send(self.collect(jni));
                }
                Ok(Ask::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.end_interval(&mut begun);
                    listener.interval_ended(false, &mut || self.collect(jni));
                }
            }
        }
        self.end_interval(&mut begun);
        listener.interval_ended(true, &mut || self.collect(jni));
    }

    fn end_interval(&mut self, begun: &mut Instant) {
        let now = Instant::now();
        self.sources.table.lock().end_interval(now - *begun);
        *begun = now;
    }

    fn collect(&mut self, jni: &Jni<'_>) -> Vec<Family> {
        self.names.update();
        let snapshot = self.sources.table.lock().snapshot(self.limits.most_methods);
        let mut families = method_families::families(&snapshot, &self.names);
        families.push(method_families::level_times(&snapshot, &self.names, &self.sources.level_times));
        if let Some(relations) = &self.sources.relations {
            families.extend(relations.lock().families(&self.names, self.limits.most_methods));
        }
        if let Some(calls) = FullCalls::known() {
            families.extend(calls.families(&self.names, self.clock.now(), self.limits.stalled_after));
            families.push(exceptions::family());
        }
        families.extend(self.environment.families(jni));
        families.extend(self.sources.health.lock().families());
        families
    }
}
