//! From families of metrics to a request for `/v1/metrics`.

use super::messages::{
    Buckets, CUMULATIVE, ExponentialHistogram, ExponentialHistogramDataPoint, ExportMetricsServiceRequest, Gauge,
    Histogram, HistogramDataPoint, KeyValue, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, metric,
    number_data_point,
};
use super::resource::{Sender, attribute};
use crate::durations::{Durations, SCALE};
use crate::family::{Attributes, Family, Kind, Series, Unit, Value};

/// From when and when values are, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    /// When counting began.
    pub(crate) start: u64,
    /// When the values were read.
    pub(crate) now: u64,
}

/// The request.
pub(crate) fn request(families: &[Family], sender: &Sender, span: Span) -> ExportMetricsServiceRequest {
    let told = families.iter().filter(|family| !family.series.is_empty());
    let metrics = told.flat_map(|family| metric(family, span).into_iter().chain(estimates(family, span))).collect();
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(sender.resource.clone()),
            scope_metrics: vec![ScopeMetrics { scope: Some(sender.scope.clone()), metrics }],
        }],
    }
}

/// The metric of all series but estimates, if there are any.
fn metric(family: &Family, span: Span) -> Option<Metric> {
    if family.series.iter().all(|series| matches!(series.value, Value::Estimate(..))) {
        return None;
    }
    let data = match family.kind {
        Kind::Gauge => metric::Data::Gauge(Gauge { data_points: numbers(family, span) }),
        Kind::Counter | Kind::UpDownCounter => metric::Data::Sum(Sum {
            data_points: numbers(family, span),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: family.kind == Kind::Counter,
        }),
        Kind::Distribution => distribution(family, span),
    };
    Some(Metric {
        name: family.name.to_owned(),
        description: family.help.to_owned(),
        unit: unit(family.unit).to_owned(),
        data: Some(data),
    })
}

fn numbers(family: &Family, span: Span) -> Vec<NumberDataPoint> {
    let point = |series: &Series| {
        let value = match &series.value {
            Value::Integer(value) => number_data_point::Value::AsInt(i64::try_from(*value).unwrap_or(i64::MAX)),
            Value::Number(value) => number_data_point::Value::AsDouble(*value),
            Value::Durations(_) | Value::CountAndSum(..) | Value::Estimate(..) => return None,
        };
        Some(NumberDataPoint {
            attributes: attributes(&series.attributes),
            start_time_unix_nano: if family.kind == Kind::Gauge { 0 } else { span.start },
            time_unix_nano: span.now,
            value: Some(value),
        })
    };
    family.series.iter().filter_map(point).collect()
}

/// Durations of which only number and sum are known become a histogram without buckets.
fn distribution(family: &Family, span: Span) -> metric::Data {
    let (mut exponential, mut plain) = (Vec::new(), Vec::new());
    for Series { attributes: named, value } in &family.series {
        let attributes = attributes(named);
        match value {
            Value::Durations(durations) => exponential.push(exponential_point(durations, attributes, span)),
            Value::CountAndSum(count, sum) => plain.push(HistogramDataPoint {
                attributes,
                start_time_unix_nano: span.start,
                time_unix_nano: span.now,
                count: *count,
                sum: Some(*sum),
            }),
            Value::Integer(_) | Value::Number(_) | Value::Estimate(..) => {}
        }
    }
    if exponential.is_empty() {
        metric::Data::Histogram(Histogram { data_points: plain, aggregation_temporality: CUMULATIVE })
    } else {
        metric::Data::ExponentialHistogram(ExponentialHistogram {
            data_points: exponential,
            aggregation_temporality: CUMULATIVE,
        })
    }
}

/// The series without a distribution of a family in which others have one: a metric has one kind of points.
fn estimates(family: &Family, span: Span) -> Option<Metric> {
    let point = |series: &Series| match series.value {
        Value::Estimate(count, sum) => Some(HistogramDataPoint {
            attributes: attributes(&series.attributes),
            start_time_unix_nano: span.start,
            time_unix_nano: span.now,
            count,
            sum: Some(sum),
        }),
        _ => None,
    };
    let data_points: Vec<_> = family.series.iter().filter_map(point).collect();
    (!data_points.is_empty()).then(|| Metric {
        name: format!("{}.estimate", family.name),
        description: format!("{} (level watch: number and time of the calls that a tick has seen)", family.help),
        unit: unit(family.unit).to_owned(),
        data: Some(metric::Data::Histogram(Histogram { data_points, aggregation_temporality: CUMULATIVE })),
    })
}

fn exponential_point(durations: &Durations, attributes: Vec<KeyValue>, span: Span) -> ExponentialHistogramDataPoint {
    let (offset, bucket_counts) = durations.buckets();
    let seconds = |nanos: u64| Some(nanos as f64 / 1e9);
    ExponentialHistogramDataPoint {
        attributes,
        start_time_unix_nano: span.start,
        time_unix_nano: span.now,
        count: durations.count(),
        sum: seconds(durations.sum()),
        scale: SCALE,
        zero_count: durations.zeros(),
        positive: Some(Buckets { offset, bucket_counts }),
        min: seconds(durations.min()),
        max: seconds(durations.max()),
    }
}

fn attributes(attributes: &Attributes) -> Vec<KeyValue> {
    attributes.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "s",
        Unit::Bytes => "By",
        Unit::Things(name) | Unit::Rate(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn a_request_is_read_back_as_it_was_meant() {
        let mut durations = Durations::default();
        [0, 1_000_000_000, 1_000_000_000, 4_000_000_000].into_iter().for_each(|nanos| durations.record(nanos));
        let families = [
            Family::new("a", Unit::Bytes, Kind::Counter, "").with(&[("k", "v")], Value::Integer(7)),
            Family::new("b", Unit::Seconds, Kind::Distribution, "")
                .with(&[], Value::Durations(Box::new(durations)))
                .with(&[], Value::Estimate(9, 2.0)),
            Family::new("c", Unit::Seconds, Kind::Distribution, "").with(&[], Value::CountAndSum(3, 0.5)),
            Family::new("nothing", Unit::Seconds, Kind::Gauge, ""),
        ];
        let sender = Sender::new("shop", None, &[]);
        let bytes = request(&families, &sender, Span { start: 1, now: 2 }).encode_to_vec();
        let read = ExportMetricsServiceRequest::decode(bytes.as_slice()).unwrap();
        let metrics = &read.resource_metrics[0].scope_metrics[0].metrics;
        assert_eq!(
            metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>(),
            ["a", "b", "b.estimate", "c"]
        );
        let Some(metric::Data::Sum(sum)) = &metrics[0].data else { panic!("a is a sum") };
        assert!(sum.is_monotonic && sum.data_points[0].start_time_unix_nano == 1);
        assert_eq!(sum.data_points[0].value, Some(number_data_point::Value::AsInt(7)));
        let Some(metric::Data::ExponentialHistogram(histogram)) = &metrics[1].data else { panic!("b is exponential") };
        let point = &histogram.data_points[0];
        let buckets = point.positive.clone().unwrap();
        // 1 s = 2^0 is the upper end of bucket -1, 4 s = 2^2 that of bucket 31.
        assert_eq!((point.count, point.zero_count, point.scale, buckets.offset), (4, 1, 4, -1));
        assert_eq!((buckets.bucket_counts[0], buckets.bucket_counts[32], buckets.bucket_counts.len()), (2, 1, 33));
        assert_eq!((point.sum, point.min, point.max), (Some(6.0), Some(0.0), Some(4.0)));
        let Some(metric::Data::Histogram(estimate)) = &metrics[2].data else { panic!("estimates are a histogram") };
        assert_eq!((estimate.data_points[0].count, estimate.data_points[0].sum), (9, Some(2.0)));
        let Some(metric::Data::Histogram(plain)) = &metrics[3].data else { panic!("c is a histogram") };
        assert_eq!((plain.data_points[0].count, plain.data_points[0].sum), (3, Some(0.5)));
    }
}
