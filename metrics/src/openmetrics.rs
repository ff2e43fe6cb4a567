//! The OpenMetrics text format, version 1.0.

use std::fmt::Write as _;

use super::durations::Durations;
use super::family::{Family, Kind, Series, Unit, Value};

/// What the page is, for the HTTP header.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Percentiles that are shown.
const QUANTILES: [(&str, f64); 4] = [("0.5", 50.0), ("0.9", 90.0), ("0.99", 99.0), ("0.999", 99.9)];

/// The page.
pub(crate) fn page(families: &[Family]) -> String {
    let mut page = String::new();
    for family in families.iter().filter(|family| !family.series.is_empty()) {
        write_family(&mut page, family);
    }
    page.push_str("# EOF\n");
    page
}

fn write_family(page: &mut String, family: &Family) {
    let name = exposed_name(family);
    let kind = match family.kind {
        Kind::Counter => "counter",
        Kind::UpDownCounter | Kind::Gauge => "gauge",
        Kind::Distribution => "summary",
    };
    // Writing to a string cannot fail.
    let _ = writeln!(page, "# TYPE {name} {kind}");
    if let Some(unit) = unit_suffix(family.unit) {
        let _ = writeln!(page, "# UNIT {name} {unit}");
    }
    let _ = writeln!(page, "# HELP {name} {}", escaped(family.help));
    for Series { attributes, value } in &family.series {
        let labels: Vec<String> = attributes
            .iter()
            .map(|(name, value)| format!("{}=\"{}\"", name.replace('.', "_"), escaped(value)))
            .collect();
        let sample = Sample { name: &name, labels: &labels.join(",") };
        match value {
            Value::Integer(value) if family.kind == Kind::Counter => sample.write(page, "_total", "", *value as f64),
            Value::Number(value) if family.kind == Kind::Counter => sample.write(page, "_total", "", *value),
            Value::Integer(value) => sample.write(page, "", "", *value as f64),
            Value::Number(value) => sample.write(page, "", "", *value),
            Value::CountAndSum(count, sum) | Value::Estimate(count, sum) => sample.write_sum(page, *count, *sum),
            Value::Durations(durations) => sample.write_durations(page, durations),
        }
    }
}

/// A series under the names of the format.
struct Sample<'a> {
    name: &'a str,
    labels: &'a str,
}

impl Sample<'_> {
    fn write(&self, page: &mut String, suffix: &str, quantile: &str, value: f64) {
        let comma = if quantile.is_empty() || self.labels.is_empty() { "" } else { "," };
        let labels = format!("{}{comma}{quantile}", self.labels);
        let _ = if labels.is_empty() {
            writeln!(page, "{}{suffix} {value}", self.name)
        } else {
            writeln!(page, "{}{suffix}{{{labels}}} {value}", self.name)
        };
    }

    fn write_sum(&self, page: &mut String, count: u64, sum: f64) {
        self.write(page, "_count", "", count as f64);
        self.write(page, "_sum", "", sum);
    }

    fn write_durations(&self, page: &mut String, durations: &Durations) {
        for (quantile, percent) in QUANTILES {
            self.write(page, "", &format!("quantile=\"{quantile}\""), durations.percentile(percent));
        }
        self.write_sum(page, durations.count(), durations.sum() as f64 / 1e9);
    }
}

/// The name with underscores, and with its unit at the end, as the format demands.
fn exposed_name(family: &Family) -> String {
    let name = family.name.replace('.', "_");
    match unit_suffix(family.unit) {
        Some(unit) => format!("{name}_{unit}"),
        None => name,
    }
}

fn unit_suffix(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::Seconds => Some("seconds"),
        Unit::Bytes => Some("bytes"),
        Unit::Things(_) | Unit::Rate(_) => None,
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_metric_has_its_form() {
        let mut durations = Durations::default();
        (0..4).for_each(|_| durations.record(500_000_000));
        let families = [
            Family::new("process.cpu.time", Unit::Seconds, Kind::Counter, "CPU \"time\"").with(&[], Value::Number(1.5)),
            Family::new("jvm.thread.count", Unit::Things("{thread}"), Kind::UpDownCounter, "Threads")
                .with(&[("jvm.thread.daemon", "true")], Value::Integer(7)),
            Family::new("instr.method.duration", Unit::Seconds, Kind::Distribution, "Calls")
                .with(&[("code.function.name", "a\"b\\c")], Value::Durations(Box::new(durations))),
            Family::new("jvm.gc.duration", Unit::Seconds, Kind::Distribution, "GC")
                .with(&[], Value::CountAndSum(2, 0.25)),
            Family::new("nothing", Unit::Bytes, Kind::Gauge, "is left out"),
        ];
        let expected = r##"# TYPE process_cpu_time_seconds counter
# UNIT process_cpu_time_seconds seconds
# HELP process_cpu_time_seconds CPU \"time\"
process_cpu_time_seconds_total 1.5
# TYPE jvm_thread_count gauge
# HELP jvm_thread_count Threads
jvm_thread_count{jvm_thread_daemon="true"} 7
# TYPE instr_method_duration_seconds summary
# UNIT instr_method_duration_seconds seconds
# HELP instr_method_duration_seconds Calls
instr_method_duration_seconds{code_function_name="a\"b\\c",quantile="0.5"} 0.5
instr_method_duration_seconds{code_function_name="a\"b\\c",quantile="0.9"} 0.5
instr_method_duration_seconds{code_function_name="a\"b\\c",quantile="0.99"} 0.5
instr_method_duration_seconds{code_function_name="a\"b\\c",quantile="0.999"} 0.5
instr_method_duration_seconds_count{code_function_name="a\"b\\c"} 4
instr_method_duration_seconds_sum{code_function_name="a\"b\\c"} 2
# TYPE jvm_gc_duration_seconds summary
# UNIT jvm_gc_duration_seconds seconds
# HELP jvm_gc_duration_seconds GC
jvm_gc_duration_seconds_count 2
jvm_gc_duration_seconds_sum 0.25
# EOF
"##;
        assert_eq!(page(&families), expected.replace("a\"b\\c", "a\\\"b\\\\c"));
    }
}
