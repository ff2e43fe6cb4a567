//! Sending to an OpenTelemetry receiver: OTLP over HTTP, protobuf.
//!
//! ```text
//! keeper thread --families, spans--> messages, encoded --queue--> exporter thread --HTTP--> receiver
//! ```

mod complaints;
mod destination;
mod exporter;
mod messages;
mod metrics_request;
mod resource;
mod semantics;
mod trace_context;
mod trace_request;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use control::Sending;
use parking_lot::Mutex;
use prost::Message as _;
use settings::MetricsConfig;

use super::family::{self, Family, Kind, Unit, Value};
use super::keeper::IntervalEnd;
use super::method_families::MethodNames;
use super::spans::SpanTable;
use crate::Host;
use destination::Destination;
pub(crate) use exporter::ExportCounts;
use exporter::{Exporter, Parcel, Signal};
use resource::Sender;
use trace_request::SpanWriter;

/// Series of one request, which then has about a megabyte: receivers refuse large ones.
const SERIES_PER_REQUEST: usize = 3_000;

/// Returns how sending to this receiver goes.
pub(crate) fn sending(url: &str, counts: &ExportCounts) -> Sending {
    Sending {
        url: settings::without_credentials(url).into_owned(),
        metrics_sent: counts.sent(Signal::Metrics),
        metrics_dropped: counts.dropped(Signal::Metrics),
        spans_sent: counts.sent(Signal::Traces),
        spans_dropped: counts.dropped(Signal::Traces),
        failing: counts.complaints().failing(),
    }
}

/// Sends all metrics, and spans if they are wanted, at the end of each interval.
#[derive(Debug)]
pub(crate) struct Publisher {
    exporter: Option<Exporter>,
    counts: Arc<ExportCounts>,
    sender: Sender,
    began: u64,
    spans: Option<SpanPublisher>,
}

#[derive(Debug)]
struct SpanPublisher {
    table: Arc<Mutex<SpanTable>>,
    names: MethodNames,
    writer: SpanWriter,
    host: Arc<dyn Host>,
    /// How long a call waits for its parent, in nanoseconds.
    wait: u64,
}

impl Publisher {
    /// Starts the thread that sends to `url` and counts in `counts`.
    ///
    /// # Errors
    /// Why it cannot be, in a sentence.
    pub(crate) fn start(
        url: &str,
        config: &MetricsConfig,
        host: &Arc<dyn Host>,
        service: &str,
        spans: Option<Arc<Mutex<SpanTable>>>,
        counts: Arc<ExportCounts>,
    ) -> Result<Publisher, String> {
        let exporter = Exporter::start(Destination::of(url, config)?, Arc::clone(&counts), Arc::clone(host))
            .map_err(|error| format!("no thread for `otlp` in [metrics]: {error}"))?;
        let began = unix_nanos();
        let spans = spans.map(|table| SpanPublisher {
            table,
            names: MethodNames::new(host.probes()),
            writer: SpanWriter::new(began.wrapping_sub(host.now()) as i64, config.trace_percent),
            host: Arc::clone(host),
            wait: u64::try_from(config.interval.as_nanos()).unwrap_or(u64::MAX),
        });
        let sender =
            Sender::new(config.service.as_deref().unwrap_or(service), host.host_name().as_deref(), &config.resource);
        Ok(Publisher { exporter: Some(exporter), counts, sender, began, spans })
    }

    /// What was sent and dropped, as metrics.
    fn own_families(&self) -> Vec<Family> {
        let mut sent = Family::new(
            "instr.export.sent",
            Unit::Things("{item}"),
            Kind::Counter,
            "Values and spans that the OpenTelemetry receiver took",
        );
        let mut dropped = Family::new(
            "instr.export.dropped",
            Unit::Things("{item}"),
            Kind::Counter,
            "Values and spans that could not be sent",
        );
        for (name, signal) in [("metrics", Signal::Metrics), ("traces", Signal::Traces)] {
            sent = sent.with(&[("signal", name)], Value::Integer(self.counts.sent(signal)));
            dropped = dropped.with(&[("signal", name)], Value::Integer(self.counts.dropped(signal)));
        }
        let mut families = vec![sent, dropped];
        families.extend(self.spans.as_ref().map(SpanPublisher::family));
        families
    }

    fn send_metrics(&self, exporter: &Exporter, families: Vec<Family>) {
        let span = metrics_request::Span { start: self.began, now: unix_nanos() };
        for part in family::in_parts(families, SERIES_PER_REQUEST) {
            let body = metrics_request::request(&part, &self.sender, span).encode_to_vec();
            let items = part.iter().map(|family| family.series.len() as u64).sum();
            exporter.offer(Parcel { signal: Signal::Metrics, body, items });
        }
    }
}

impl IntervalEnd for Publisher {
    fn interval_ended(&mut self, last: bool, collect: &mut dyn FnMut() -> Vec<Family>) {
        let Some(exporter) = self.exporter.take() else { return };
        if let Some(spans) = &mut self.spans {
            spans.send(&exporter, &self.sender, last);
        }
        let mut families = collect();
        families.extend(self.own_families());
        self.send_metrics(&exporter, families);
        if last {
            exporter.stop();
        } else {
            self.exporter = Some(exporter);
        }
    }
}

impl SpanPublisher {
    fn send(&mut self, exporter: &Exporter, sender: &Sender, last: bool) {
        let now = self.host.now();
        let until = if last { u64::MAX } else { now.saturating_sub(self.wait) };
        let (steps, trees) = {
            let mut table = self.table.lock();
            (table.take_steps_until(until), table.take_until(until))
        };
        self.writer.follow_clock(unix_nanos().wrapping_sub(now) as i64);
        self.writer.tell_steps(&steps, until);
        self.names.update();
        for (request, spans) in self.writer.requests(trees, &self.names, sender, last) {
            let body = request.encode_to_vec();
            exporter.offer(Parcel { signal: Signal::Traces, body, items: spans as u64 });
        }
    }

    fn family(&self) -> Family {
        let counts = self.table.lock().counts();
        let help = "Calls that became no span or one without its inner spans, by reason";
        let reasons = [
            ("shorter than trace-threshold", counts.short),
            ("too many at once", counts.dropped),
            ("trace not taken", self.writer.left_out()),
            ("inner calls sent before", counts.late),
        ];
        let family = Family::new("instr.spans.incomplete", Unit::Things("{call}"), Kind::Counter, help);
        reasons
            .iter()
            .fold(family, |family, (reason, count)| family.with(&[("reason", reason)], Value::Integer(*count)))
    }
}

fn unix_nanos() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_nanos()).unwrap_or(0)
}
