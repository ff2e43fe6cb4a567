//! Figures of the running program, published while it runs.
//!
//! ```text
//! drainer --MetricsSink--> MethodTable, SpanTable <--reads-- keeper thread --families--> scrape_server (OpenMetrics page)
//!                                                                          --messages--> otlp (exporter thread)
//! ```
//! The drainer adds each record to the figures of its method; all else happens on threads of its own. Who publishes never
//! holds up the drainer for longer than a copy of the figures takes, and the application never.

mod durations;
mod environment;
pub(crate) mod exceptions;
mod family;
mod full_calls;
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

use std::sync::Arc;

use control::Sending;
use parking_lot::Mutex;
use settings::MetricsConfig;
use trace::TaskStep;

use crate::health::Health;
use crate::jvm::{JavaVm, NanoClock};
use crate::level_times::LevelTimes;
use crate::message;
use crate::probe_registry::ProbeRegistry;
use crate::recorder::{Detail, RecordSink, RecordThread, SharedLengths};
pub(crate) use durations::Durations;
pub(crate) use family::{Family, Kind, Unit, Value};
pub(crate) use full_calls::FullCalls;
use keeper::{IntervalEnd, Keeper, Limits, Sources};
use method_table::{MethodSink, MethodTable};
use otlp::ExportCounts;
pub(crate) use perf_counters::PerfCounters;
use relations::{RelationSink, Relations};
use scrape_server::ScrapeServer;
use spans::{SpanSink, SpanTable};

/// Where the figures come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    /// The JVM.
    pub(crate) vm: JavaVm,
    /// Its clock.
    pub(crate) clock: NanoClock,
    /// What probe numbers stand for.
    pub(crate) probes: &'static ProbeRegistry,
}

/// Metrics of one session.
#[derive(Debug)]
pub(crate) struct Metrics {
    table: Arc<Mutex<MethodTable>>,
    spans: Option<Arc<Mutex<SpanTable>>>,
    relations: Option<Arc<Mutex<Relations>>>,
    keeper: Keeper,
    page: Option<ScrapeServer>,
    /// Where figures are sent to, and how that goes.
    export: Option<(String, Arc<ExportCounts>)>,
}

impl Metrics {
    /// Starts what the configuration wants; `None` if that is nothing, or if there are no threads for it.
    /// `service` is the name of the program, should the configuration give none.
    pub(crate) fn start(
        config: &MetricsConfig,
        origin: Origin,
        service: &str,
        health: Arc<Mutex<Health>>,
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
            Some((url, counts)) => receiver(url, config, origin, service, spans.clone(), counts),
            None => Box::new(NoReceiver),
        };
        let limits = Limits {
            interval: config.interval,
            stalled_after: config.stalled_after,
            most_methods: config.max_methods as usize,
        };
        let relations: Option<Arc<Mutex<Relations>>> = config.callers.then(Arc::default);
        let sources = Sources {
            table: Arc::clone(&table),
            relations: relations.clone(),
            health,
            level_times: Arc::clone(level_times),
        };
        let keeper = Keeper::start(origin, limits, sources, receiver);
        let keeper = keeper
            .inspect_err(|error| message::say(&format!("no thread for metrics: {error}; there are none")))
            .ok()?;
        let page = config.openmetrics.and_then(|address| {
            let server = ScrapeServer::start(address, keeper.asks());
            let explain = |error: &std::io::Error| {
                let hint = if error.kind() == std::io::ErrorKind::AddrInUse {
                    "; another process, perhaps another JVM with this configuration, uses the port"
                } else {
                    ""
                };
                message::say(&format!(
                    "openmetrics = \"{address}\" in [metrics]: {error}{hint}. The application runs on without this page"
                ));
            };
            server.inspect_err(explain).ok()
        });
        Some(Metrics { table, spans, relations, keeper, page, export })
    }

    /// The end that the drainer writes to.
    pub(crate) fn sink(&self) -> MetricsSink {
        MetricsSink {
            methods: MethodSink(Arc::clone(&self.table)),
            spans: self.spans.clone().map(SpanSink::new),
            relations: self.relations.clone().map(RelationSink::new),
        }
    }

    /// How sending goes, if figures are sent.
    pub(crate) fn sending(&self) -> Option<Sending> {
        self.export.as_ref().map(|(url, counts)| otlp::sending(url, counts))
    }

    /// Publishes the last figures and stops all threads.
    pub(crate) fn stop(self) {
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
    origin: Origin,
    service: &str,
    spans: Option<Arc<Mutex<SpanTable>>>,
    counts: &Arc<ExportCounts>,
) -> Box<dyn IntervalEnd> {
    match otlp::Publisher::start(url, config, origin, service, spans, Arc::clone(counts)) {
        Ok(publisher) => Box::new(publisher),
        Err(error) => {
            message::say(&format!("{error}; nothing is sent"));
            counts.cannot_send(&error);
            Box::new(NoReceiver)
        }
    }
}

/// What the drainer writes to.
#[derive(Debug)]
pub(crate) struct MetricsSink {
    methods: MethodSink,
    spans: Option<SpanSink>,
    relations: Option<RelationSink>,
}

impl MetricsSink {
    /// A thread has ended and all its records have come.
    pub(crate) fn thread_gone(&mut self, thread: u64) {
        if let Some(spans) = &self.spans {
            spans.thread_gone(thread);
        }
        if let Some(relations) = &mut self.relations {
            relations.thread_gone(thread);
        }
    }

    /// Notes calls whose records were lost.
    pub(crate) fn lost(&self, count: u64) {
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
