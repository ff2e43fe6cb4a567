//! `[metrics]`: figures of the running program, for monitoring systems.

use core::net::SocketAddr;
use core::time::Duration;

use schemars::JsonSchema;
use serde_spanned::Spanned;

use instrument_core::config::{Problems, TableReader, string_or_list};

/// Figures of the running program, for monitoring systems. Without `openmetrics` and `otlp` nothing is computed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MetricsConfig {
    /// Address and port of a page in the OpenMetrics text format, for instance `127.0.0.1:9464`; the path is `/metrics`.
    #[schemars(with = "String")]
    pub openmetrics: Option<SocketAddr>,
    /// Let `openmetrics` be an address that other machines can reach. Names of methods are then public, without a password.
    pub allow_remote: bool,
    /// Base address of an OpenTelemetry receiver (OTLP over HTTP, protobuf), for instance `http://localhost:4318`, or with TLS
    /// `https://otlp.example.com`.
    #[schemars(with = "String")]
    pub otlp: Option<String>,
    /// With `https`: a PEM file with the certificates of the authorities that may vouch for the receiver, relative to this file.
    /// Default: those that the system trusts.
    #[schemars(with = "String")]
    pub ca_file: Option<String>,
    /// Send long calls to the OpenTelemetry receiver as spans, too.
    pub otlp_traces: bool,
    /// How often figures are sent, and the time over which rates are taken: a number with `ms`, `s` or `min`.
    #[schemars(with = "String", extend("default" = "10 s"))]
    pub interval: Duration,
    /// A call at level `full` that is still running after this time counts as stalled.
    #[schemars(with = "String", extend("default" = "10 s"))]
    pub stalled_after: Duration,
    /// Whether level `full` takes the processor time of each call: most of what that level costs. Default: true.
    pub cpu_time: bool,
    /// Tell how often each method called each other: some nanoseconds more for each record, on the thread of the recorder. Default: false.
    pub callers: bool,
    /// Number of methods, those with the most time, that have series of their own; the others are only counted.
    #[schemars(range(min = 1, max = 100000))]
    pub max_methods: u32,
    /// The service name that a monitoring system shows. Default: the main class or jar.
    #[schemars(with = "String")]
    pub service: Option<String>,
    /// Headers of each request to the receiver, `name=value`. `${NAME}` in a value is the environment variable of that name.
    #[schemars(schema_with = "string_or_list")]
    pub headers: Vec<KeyValue>,
    /// Further attributes of the process in what is sent to the receiver, `name=value`.
    #[schemars(schema_with = "string_or_list")]
    pub resource: Vec<KeyValue>,
    /// Calls shorter than this become no span.
    #[schemars(with = "String", extend("default" = "10 ms"))]
    pub trace_threshold: Duration,
    /// Percentage of the traces that are sent.
    #[schemars(range(min = 1, max = 100))]
    pub trace_percent: u32,
}

/// A name and a value, written `name=value`.
pub type KeyValue = (String, String);

impl Default for MetricsConfig {
    fn default() -> MetricsConfig {
        MetricsConfig {
            openmetrics: None,
            allow_remote: false,
            otlp: None,
            ca_file: None,
            otlp_traces: false,
            interval: Duration::from_secs(10),
            stalled_after: Duration::from_secs(10),
            cpu_time: true,
            callers: false,
            max_methods: 1_000,
            service: None,
            headers: Vec::new(),
            resource: Vec::new(),
            trace_threshold: Duration::from_millis(10),
            trace_percent: 100,
        }
    }
}

impl MetricsConfig {
    /// Whether anybody wants figures.
    pub fn is_wanted(&self) -> bool {
        self.openmetrics.is_some() || self.otlp.is_some()
    }
}

pub(super) fn read_metrics(table: &TableReader<'_, '_>, problems: &mut Problems) -> MetricsConfig {
    let default = MetricsConfig::default();
    let allow_remote = table.boolean("allow-remote", problems).unwrap_or_default();
    let otlp = table.string("otlp", problems).and_then(|url| receiver(&url, problems));
    let ca_file = table.string("ca-file", problems).map(Spanned::into_inner);
    let uses_tls = otlp.as_ref().is_some_and(|url| url.starts_with("https://"));
    if let Some(place) = table.value("ca-file").filter(|_| otlp.is_some() && !uses_tls) {
        let help = Some("let `otlp` begin with `https://`, or leave `ca-file` out".to_owned());
        problems.error(place.span(), "`ca-file` means something with TLS only", help);
    }
    let otlp_traces = table.boolean("otlp-traces", problems).unwrap_or_default();
    if let Some(place) = table.value("otlp-traces").filter(|_| otlp_traces && table.value("otlp").is_none()) {
        problems.error(place.span(), "`otlp-traces` needs a receiver", Some("add `otlp`".to_owned()));
    }
    let mut duration = |key, otherwise| {
        let text = table.string(key, problems);
        text.and_then(|text| read_duration(key, &text, problems)).unwrap_or(otherwise)
    };
    let interval = duration("interval", default.interval);
    let stalled_after = duration("stalled-after", default.stalled_after);
    let trace_threshold = duration("trace-threshold", default.trace_threshold);
    MetricsConfig {
        openmetrics: table.string("openmetrics", problems).and_then(|text| address(&text, allow_remote, problems)),
        allow_remote,
        otlp,
        ca_file,
        otlp_traces,
        interval,
        stalled_after,
        cpu_time: table.boolean("cpu-time", problems).unwrap_or(default.cpu_time),
        callers: table.boolean("callers", problems).unwrap_or_default(),
        max_methods: table.number("max-methods", 1..100_001, problems).unwrap_or(default.max_methods),
        service: table.string("service", problems).map(Spanned::into_inner),
        headers: key_values(table, "headers", problems),
        resource: key_values(table, "resource", problems),
        trace_threshold,
        trace_percent: table.number("trace-percent", 1..101, problems).unwrap_or(default.trace_percent),
    }
}

fn address(text: &Spanned<String>, allow_remote: bool, problems: &mut Problems) -> Option<SocketAddr> {
    // No other name is looked up: that would need the network.
    let numeric = text.get_ref().replace("localhost:", "127.0.0.1:");
    let Ok(address) = numeric.parse::<SocketAddr>() else {
        let message = format!("`{}` is not an address with a port", text.get_ref());
        problems.error(text.span(), message, Some("write for instance `127.0.0.1:9464`".to_owned()));
        return None;
    };
    if !address.ip().is_loopback() && !allow_remote {
        let message = format!("other machines can reach {address}");
        let help = "write `127.0.0.1`, or add `allow-remote = true` if that is meant";
        problems.error(text.span(), message, Some(help.to_owned()));
        return None;
    }
    Some(address)
}

fn receiver(url: &Spanned<String>, problems: &mut Problems) -> Option<String> {
    let text = url.get_ref().trim_end_matches('/');
    let is_address = |scheme| text.strip_prefix(scheme).is_some_and(|rest: &str| !rest.is_empty());
    if is_address("http://") || is_address("https://") {
        return Some(text.to_owned());
    }
    let help = "write for instance `http://localhost:4318`";
    problems.error(url.span(), "`otlp` must begin with `http://` or `https://`", Some(help.to_owned()));
    None
}

fn read_duration(key: &str, text: &Spanned<String>, problems: &mut Problems) -> Option<Duration> {
    let duration = parse_duration(text.get_ref()).filter(|duration| !duration.is_zero());
    if duration.is_none() {
        let message = format!("`{key}` must be a time above 0, this is `{}`", text.get_ref());
        problems.error(text.span(), message, Some("write for instance `10 s`, `500 ms` or `2 min`".to_owned()));
    }
    duration
}

fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    match unit.trim() {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "min" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

fn key_values(table: &TableReader<'_, '_>, key: &'static str, problems: &mut Problems) -> Vec<KeyValue> {
    let mut pairs = Vec::new();
    for text in table.strings(key, problems) {
        match text.get_ref().split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => {
                pairs.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            _ => {
                let message = format!("`{}` in `{key}` is not a name and a value", text.get_ref());
                problems.error(text.span(), message, Some("write `name=value`".to_owned()));
            }
        }
    }
    pairs
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
            ("interval = '10'", "`interval` must be a time above 0"),
            ("interval = '0 s'", "`interval` must be a time above 0"),
            ("headers = 'a'", "is not a name and a value"),
        ] {
            let errors = metrics(line).unwrap_err();
            assert!(errors[0].to_string().contains(part), "{line}: {}", errors[0]);
        }
    }
}
