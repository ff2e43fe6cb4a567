//! Figures of the running program, published while it runs.
//!
//! ```text
//! drainer --MetricsSink--> MethodTable, SpanTable <--reads-- keeper thread --families--> scrape_server (OpenMetrics page)
//!                                                                          --messages--> otlp (exporter thread)
//! ```
//! The drainer adds each record to the figures of its method; all else happens on threads of its own. Who publishes never
//! holds up the drainer for longer than a copy of the figures takes, and the application never.

mod durations;
mod family;
mod keeper;
mod method_families;
mod method_table;
mod openmetrics;
mod otlp;
mod perf_counters;
mod relations;
mod scrape_server;
mod span_links;
mod spans;

use std::fmt;
use std::sync::Arc;

use control::Sending;
use parking_lot::Mutex;
use records::{Detail, EndedCalls, LevelTimes, ProbeRegistry, RecordSink, RecordThread, SharedLengths};
use settings::MetricsConfig;
use trace::TaskStep;

pub use durations::Durations;
pub use family::{Attributes, Family, Kind, Unit, Value};
use keeper::{IntervalEnd, Keeper, Limits, Sources};
pub use method_families::{MethodNames, NamedProbe};
use method_table::{MethodSink, MethodTable};
use otlp::ExportCounts;
pub use perf_counters::PerfCounters;
use relations::{RelationSink, Relations};
use scrape_server::ScrapeServer;
use spans::{SpanSink, SpanTable};

/// Returns the families of those who are no part of this crate.
pub type Collect<'c> = dyn FnMut(&MethodNames) -> Vec<Family> + 'c;

/// The process that the metrics are of.
pub trait Host: fmt::Debug + Send + Sync {
    /// What probe numbers stand for.
    fn probes(&self) -> &'static ProbeRegistry;

    /// The time of the probes' clock, in nanoseconds.
    fn now(&self) -> u64;

    /// The name of the machine, if it has one.
    fn host_name(&self) -> Option<String>;

    /// Says something to the user.
    fn say(&self, text: &str);

    /// Returns what each thread calls before anything else.
    fn thread_started(&self) -> fn();

    /// Runs `work` on this thread, with what collects the figures that only the process knows. Returns false if that is not possible.
    fn attached(&self, work: &mut dyn FnMut(&mut Collect<'_>)) -> bool;
}

/// Metrics of one session.
#[derive(Debug)]
pub struct Metrics {
    table: Arc<Mutex<MethodTable>>,
    spans: Option<Arc<Mutex<SpanTable>>>,
    relations: Option<Arc<Mutex<Relations>>>,
    /// Which probes record ticks, for those who look for callers.
    ticks: (&'static ProbeRegistry, SharedLengths),
    keeper: Keeper,
    page: Option<ScrapeServer>,
    /// Where figures are sent to, and how that goes.
    export: Option<(String, Arc<ExportCounts>)>,
}

impl Metrics {
    /// Starts what the configuration wants; `None` if that is nothing, or if there are no threads for it.
    /// `service` is the name of the program, should the configuration give none.
    pub fn start(
        config: &MetricsConfig,
        host: &Arc<dyn Host>,
        service: &str,
        level_times: &Arc<LevelTimes>,
        lengths: &SharedLengths,
    ) -> Option<Metrics> {
        if !config.is_wanted() {
            return None;
        }
        let table = Arc::new(Mutex::new(MethodTable::new(Arc::clone(lengths))));
        let spans = config.otlp_traces.then(|| {
            let threshold = u64::try_from(config.trace_threshold.as_nanos()).unwrap_or(u64::MAX);
            Arc::new(Mutex::new(SpanTable::new(threshold)))
        });
        let export = config.otlp.clone().map(|url| (url, Arc::default()));
        let receiver = match &export {
            Some((url, counts)) => receiver(url, config, host, service, spans.clone(), counts),
            None => Box::new(NoReceiver),
        };
        let limits = Limits { interval: config.interval, most_methods: config.max_methods as usize };
        let relations: Option<Arc<Mutex<Relations>>> = config.callers.then(Arc::default);
        let sources =
            Sources { table: Arc::clone(&table), relations: relations.clone(), level_times: Arc::clone(level_times) };
        let keeper = Keeper::start(Arc::clone(host), limits, sources, receiver);
        let keeper =
            keeper.inspect_err(|error| host.say(&format!("no thread for metrics: {error}; there are none"))).ok()?;
        let page = config.openmetrics.and_then(|address| {
            let server = ScrapeServer::start(address, keeper.asks(), host.thread_started());
            let explain = |error: &std::io::Error| {
                let hint = if error.kind() == std::io::ErrorKind::AddrInUse {
                    "; another process, perhaps another JVM with this configuration, uses the port"
                } else {
                    ""
                };
                host.say(&format!(
                    "openmetrics = \"{address}\" in [metrics]: {error}{hint}. The application runs on without this page"
                ));
            };
            server.inspect_err(explain).ok()
        });
        let ticks = (host.probes(), Arc::clone(lengths));
        Some(Metrics { table, spans, relations, ticks, keeper, page, export })
    }

    /// The end that the drainer writes to.
    pub fn sink(&self) -> MetricsSink {
        MetricsSink {
            methods: MethodSink(Arc::clone(&self.table)),
            spans: self.spans.clone().map(SpanSink::new),
            relations: self.relations.clone().map(|relations| {
                let (probes, lengths) = &self.ticks;
                RelationSink::new(relations, EndedCalls::new(probes, Arc::clone(lengths)))
            }),
        }
    }

    /// How sending goes, if figures are sent.
    pub fn sending(&self) -> Option<Sending> {
        self.export.as_ref().map(|(url, counts)| otlp::sending(url, counts))
    }

    /// Publishes the last figures and stops all threads.
    pub fn stop(self) {
        if let Some(page) = self.page {
            page.stop();
        }
        self.keeper.stop();
    }
}

/// Who is told when an interval ends and sends to `url`.
fn receiver(
    url: &str,
    config: &MetricsConfig,
    host: &Arc<dyn Host>,
    service: &str,
    spans: Option<Arc<Mutex<SpanTable>>>,
    counts: &Arc<ExportCounts>,
) -> Box<dyn IntervalEnd> {
    match otlp::Publisher::start(url, config, host, service, spans, Arc::clone(counts)) {
        Ok(publisher) => Box::new(publisher),
        Err(error) => {
            host.say(&format!("{error}; nothing is sent"));
            counts.cannot_send(&error);
            Box::new(NoReceiver)
        }
    }
}

/// What the drainer writes to.
#[derive(Debug)]
pub struct MetricsSink {
    methods: MethodSink,
    spans: Option<SpanSink>,
    relations: Option<RelationSink>,
}

impl MetricsSink {
    /// A thread has ended and all its records have come.
    pub fn thread_gone(&mut self, thread: u64) {
        if let Some(spans) = &self.spans {
            spans.thread_gone(thread);
        }
        if let Some(relations) = &mut self.relations {
            relations.thread_gone(thread);
        }
    }

    /// Notes calls whose records were lost.
    pub fn lost(&self, count: u64) {
        self.methods.lost(count);
    }
}

impl RecordSink for MetricsSink {
    fn thread(&mut self, thread: RecordThread) {
        self.methods.thread(thread);
        if let Some(spans) = &mut self.spans {
            spans.thread(thread);
        }
        if let Some(relations) = &mut self.relations {
            relations.thread(thread);
        }
    }

    fn thread_name(&mut self, thread: u64, name: &[u8]) {
        self.methods.thread_name(thread, name);
        if let Some(spans) = &mut self.spans {
            spans.thread_name(thread, name);
        }
    }

    fn calls(&mut self, calls: &[[u64; 2]]) {
        self.methods.calls(calls);
        if let Some(spans) = &mut self.spans {
            spans.calls(calls);
        }
        if let Some(relations) = &mut self.relations {
            relations.calls(calls);
        }
    }

    fn long_call(&mut self, probe: u32, start: u64, duration: u64) {
        self.methods.long_call(probe, start, duration);
        if let Some(spans) = &mut self.spans {
            spans.long_call(probe, start, duration);
        }
        if let Some(relations) = &mut self.relations {
            relations.long_call(probe, start, duration);
        }
    }

    fn detail(&mut self, detail: Detail<'_>) {
        self.methods.detail(detail);
        if let Some(spans) = &mut self.spans {
            spans.detail(detail);
        }
        if let Some(relations) = &mut self.relations {
            relations.detail(detail);
        }
    }

    fn values_of_call(&mut self, detail: Detail<'_>) {
        if let Some(spans) = &mut self.spans {
            spans.values_of_call(detail);
        }
    }

    fn task(&mut self, step: TaskStep, task: u32, at: u64) {
        if let Some(spans) = &mut self.spans {
            spans.task(step, task, at);
        }
    }
}

/// Nobody is told when an interval ends.
#[derive(Debug)]
struct NoReceiver;

impl IntervalEnd for NoReceiver {
    fn interval_ended(&mut self, _last: bool, _collect: &mut dyn FnMut() -> Vec<Family>) {}
}

#[cfg(test)]
mod test_host {
    use super::*;

    /// A process with no other figures, and with nobody to talk to.
    #[derive(Debug)]
    struct TestHost(&'static ProbeRegistry);

    pub(crate) fn test_host() -> Arc<dyn Host> {
        Arc::new(TestHost(Box::leak(Box::default())))
    }

    impl Host for TestHost {
        fn probes(&self) -> &'static ProbeRegistry {
            self.0
        }

        fn now(&self) -> u64 {
            0
        }

        fn host_name(&self) -> Option<String> {
            None
        }

        fn say(&self, _text: &str) {}

        fn thread_started(&self) -> fn() {
            || {}
        }

        fn attached(&self, work: &mut dyn FnMut(&mut Collect<'_>)) -> bool {
            work(&mut |_| Vec::new());
            true
        }
    }
}
