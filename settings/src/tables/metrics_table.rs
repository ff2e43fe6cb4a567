//! `[metrics]`: figures of the running program, for monitoring systems.

use core::net::SocketAddr;
use core::time::Duration;
use std::ops::RangeInclusive;

use instrument_core::config::{Boolean, Problems, Table as _, TableReader, list, number, parsed, text, time};
use instrument_core::declare_table;
use instrument_core::rules::patterns::pattern_error::PatternError;

/// Bounds of times: from the least that can be written to a day.
const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(86_400);

declare_table! {
    /// Figures of the running program, for monitoring systems. Without `openmetrics` and `otlp` nothing is computed.
    pub struct MetricsConfig = "metrics" {
        /// Address and port of a page in the OpenMetrics text format, for instance `127.0.0.1:9464`; the path is `/metrics`.
        openmetrics: Option<SocketAddr> = key("openmetrics", parsed(address)),
        /// Let `openmetrics` be an address that other machines can reach. Names of methods are then public, without a password or
        /// TLS.
        allow_remote: bool = key("allow-remote", Boolean, false),
        /// Base address of an OpenTelemetry receiver (OTLP over HTTP, protobuf), for instance `http://localhost:4318`, or with TLS
        /// `https://otlp.example.com`. `/v1/metrics` and `/v1/traces` are added.
        otlp: Option<String> = key("otlp", parsed(receiver)),
        /// With `https`: a PEM file with the certificates of the authorities that may vouch for the receiver, relative to this file.
        /// Default: those that the system trusts.
        ca_file: Option<String> = key("ca-file", text()),
        /// Send long calls to the OpenTelemetry receiver as spans, too.
        otlp_traces: bool = key("otlp-traces", Boolean, false),
        /// How often figures are sent, and the time over which rates, means and concurrency are taken: a whole number with `ms`, `s` or
        /// `min`.
        interval: Duration = key("interval", time(TIMES), Duration::from_secs(10)),
        /// A call at level `full` that is still running after this time counts as stalled.
        stalled_after: Duration = key("stalled-after", time(TIMES), Duration::from_secs(10)),
        /// Whether level `full` takes the processor time of each call: most of what that level costs.
        cpu_time: bool = key("cpu-time", Boolean, true),
        /// Report how often each method called each other: some nanoseconds more for each record, on the thread of the recorder.
        callers: bool = key("callers", Boolean, false),
        /// Number of methods, those with the most time since the start, that have series of their own; the others are counted in
        /// `instr.methods.omitted`.
        max_methods: u32 = key("max-methods", number(1..=100_000), 1_000),
        /// The service name that a monitoring system shows, `service.name`. Default: the main class or jar.
        service: Option<String> = key("service", text()),
        /// Headers of each request to the receiver, `name=value`. `${NAME}` in a value is the environment variable of that name, so that
        /// secrets need not be in the file: `["authorization=Bearer ${OTLP_TOKEN}"]`. Recordings have `***` in place of the values.
        headers: Vec<KeyValue> = key("headers", list(|text| key_value("headers", text)).plain(), Vec::new()),
        /// Further attributes of the process in what is sent to the receiver, `name=value`, for instance
        /// `["deployment.environment.name=test"]`.
        resource: Vec<KeyValue> = key("resource", list(|text| key_value("resource", text)).plain(), Vec::new()),
        /// Calls shorter than this become no span.
        trace_threshold: Duration = key("trace-threshold", time(TIMES), Duration::from_millis(10)),
        /// Percentage of the traces that are sent.
        trace_percent: u32 = key("trace-percent", number(1..=100), 100),
    }
}

/// A name and a value, written `name=value`.
pub type KeyValue = (String, String);

impl MetricsConfig {
    /// Whether anybody wants figures.
    pub fn is_wanted(&self) -> bool {
        self.openmetrics.is_some() || self.otlp.is_some()
    }
}

pub(crate) fn read_metrics(table: &TableReader<'_, '_>, problems: &mut Problems) -> MetricsConfig {
    let metrics = MetricsConfig::read(table, problems);
    let uses_tls = metrics.otlp.as_ref().is_some_and(|url| url.starts_with("https://"));
    if let Some(place) = table.value("ca-file").filter(|_| metrics.otlp.is_some() && !uses_tls) {
        let help = Some("let `otlp` begin with `https://`, or leave `ca-file` out".to_owned());
        problems.error(place.span(), "`ca-file` means something with TLS only", help);
    }
    if metrics.otlp_traces && table.value("otlp").is_none() {
        let help = Some("add `otlp`".to_owned());
        problems.error(table.span("otlp-traces"), "`otlp-traces` needs a receiver", help);
    }
    if let Some(address) = metrics.openmetrics.filter(|address| !address.ip().is_loopback() && !metrics.allow_remote) {
        let help = Some("write `127.0.0.1`, or add `allow-remote = true` if that is meant".to_owned());
        problems.error(table.span("openmetrics"), format!("other machines can reach {address}"), help);
    }
    metrics
}

fn address(text: &str) -> Result<SocketAddr, PatternError> {
    // No other name is looked up: that would need the network.
    text.replace("localhost:", "127.0.0.1:").parse().map_err(|_| {
        let message = format!("`{text}` is not an address with a port");
        PatternError::new(0..text.len(), message).suggest("write for instance `127.0.0.1:9464`")
    })
}

fn receiver(url: &str) -> Result<String, PatternError> {
    let base = url.trim_end_matches('/');
    let is_address = |scheme| base.strip_prefix(scheme).is_some_and(|rest: &str| !rest.is_empty());
    if is_address("http://") || is_address("https://") {
        return Ok(base.to_owned());
    }
    let message = "`otlp` must begin with `http://` or `https://`";
    Err(PatternError::new(0..url.len(), message).suggest("write for instance `http://localhost:4318`"))
}

fn key_value(key: &str, text: &str) -> Result<KeyValue, PatternError> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => {
            let message = format!("`{text}` in `{key}` is not a name and a value");
            Err(PatternError::new(0..text.len(), message).suggest("write `name=value`"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Diagnostic, parse};

    fn metrics(lines: &str) -> Result<MetricsConfig, Vec<Diagnostic>> {
        let text = format!("[metrics]\n{lines}\n[[rule]]\nclass = 'a.B'\n");
        parse(&text, "instr.toml").map(|(config, _)| config.metrics)
    }

    #[test]
    fn every_key_is_read() {
        let read = metrics(
            "openmetrics = '127.0.0.1:9464'\notlp = 'https://localhost:4318/'\nca-file = 'ca.pem'\notlp-traces = true\ninterval = '500 ms'\n\
             stalled-after = '2 min'\ncpu-time = false\ncallers = true\nmax-methods = 77\nservice = 'shop'\nheaders = 'a=b=c'\nresource = ['x=1', 'y = 2']\n\
             trace-threshold = '3s'\ntrace-percent = 5",
        );
        let expected = MetricsConfig {
            openmetrics: Some(SocketAddr::from(([127, 0, 0, 1], 9464))),
            allow_remote: false,
            otlp: Some("https://localhost:4318".to_owned()),
            ca_file: Some("ca.pem".to_owned()),
            otlp_traces: true,
            interval: Duration::from_millis(500),
            stalled_after: Duration::from_secs(120),
            cpu_time: false,
            callers: true,
            max_methods: 77,
            service: Some("shop".to_owned()),
            headers: vec![("a".to_owned(), "b=c".to_owned())],
            resource: vec![("x".to_owned(), "1".to_owned()), ("y".to_owned(), "2".to_owned())],
            trace_threshold: Duration::from_secs(3),
            trace_percent: 5,
        };
        assert_eq!(read.ok(), Some(expected));
    }

    #[test]
    fn nobody_outside_is_served_unless_that_is_said() {
        let errors = metrics("openmetrics = '0.0.0.0:9464'").unwrap_err();
        assert!(errors[0].to_string().contains("allow-remote = true"), "{}", errors[0]);
        assert!(metrics("openmetrics = '0.0.0.0:9464'\nallow-remote = true").is_ok());
    }

    #[test]
    fn settings_that_cannot_work_are_refused_at_their_place() {
        for (line, part) in [
            ("openmetrics = '9464'", "not an address with a port"),
            ("otlp = 'https://'", "must begin with `http://` or `https://`"),
            ("otlp = 'http://localhost:4318'\nca-file = 'ca.pem'", "with TLS only"),
            ("otlp = 'localhost:4318'", "must begin with `http://`"),
            ("otlp-traces = true", "needs a receiver"),
            ("interval = '10'", "`10` is not a time"),
            ("interval = '0 s'", "`interval` must be between 1 ms and 1440 min"),
            ("headers = 'a'", "is not a name and a value"),
        ] {
            let errors = metrics(line).unwrap_err();
            assert!(errors[0].to_string().contains(part), "{line}: {}", errors[0]);
        }
    }
}
