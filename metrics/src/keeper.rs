//! The thread that keeps the figures: it ends the intervals and collects everything for those who publish it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use records::LevelTimes;

use super::family::Family;
use super::method_families::{self, MethodNames};
use super::method_table::MethodTable;
use super::relations::Relations;
use super::{Collect, Host};

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
    /// Changes of level.
    pub(crate) level_times: Arc<LevelTimes>,
}

/// The state of the thread.
struct Figures {
    sources: Sources,
    names: MethodNames,
    limits: Limits,
}

impl Keeper {
    /// Starts the thread.
    pub(crate) fn start(
        host: Arc<dyn Host>,
        limits: Limits,
        sources: Sources,
        mut listener: Box<dyn IntervalEnd>,
    ) -> std::io::Result<Keeper> {
        let (asks, questions) = channel();
        let thread = std::thread::Builder::new().name("instr-metrics".to_owned()).spawn(move || {
            host.thread_started()();
            let mut figures = Figures { sources, names: MethodNames::new(host.probes()), limits };
            let ran = host.attached(&mut |others| {
                figures.keep(others, limits.interval, &questions, &mut *listener);
            });
            if !ran {
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
    fn keep(
        &mut self,
        others: &mut Collect<'_>,
        interval: Duration,
        asks: &Receiver<Ask>,
        listener: &mut dyn IntervalEnd,
    ) {
        let mut begun = Instant::now();
        loop {
            match asks.recv_timeout(interval.saturating_sub(begun.elapsed())) {
                Ok(Ask::Collect(answer)) => {
                    // Nobody waits any more: then it took too long.
                    let _ = answer.try_send(self.collect(others));
                }
                Ok(Ask::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.end_interval(&mut begun);
                    listener.interval_ended(false, &mut || self.collect(others));
                }
            }
        }
        self.end_interval(&mut begun);
        listener.interval_ended(true, &mut || self.collect(others));
    }

    fn end_interval(&mut self, begun: &mut Instant) {
        let now = Instant::now();
        self.sources.table.lock().end_interval(now - *begun);
        *begun = now;
    }

    fn collect(&mut self, others: &mut Collect<'_>) -> Vec<Family> {
        self.names.update();
        let snapshot = self.sources.table.lock().snapshot(self.limits.most_methods);
        let mut families = method_families::families(&snapshot, &self.names);
        families.push(method_families::level_times(&snapshot, &self.names, &self.sources.level_times));
        if let Some(relations) = &self.sources.relations {
            families.extend(relations.lock().families(&self.names, self.limits.most_methods));
        }
        families.extend(others(&self.names));
        families
    }
}
