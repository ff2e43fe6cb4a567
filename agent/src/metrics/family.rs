//! What is published, before it is written in the one or the other format: families of series, named as OpenTelemetry
//! names them.

use std::sync::Arc;

use super::durations::Durations;

/// One metric with all its series.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    /// OpenTelemetry's name, with dots.
    pub(crate) name: &'static str,
    /// What is counted.
    pub(crate) unit: Unit,
    /// How values of different times belong together.
    pub(crate) kind: Kind,
    /// One sentence for people.
    pub(crate) help: &'static str,
    /// The values.
    pub(crate) series: Vec<Series>,
}

/// One value and what it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// Names (with dots) and values, in a fixed order.
    pub(crate) attributes: Attributes,
    /// The value.
    pub(crate) value: Value,
}

/// Attributes of a series.
pub(crate) type Attributes = Arc<[(&'static str, String)]>;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Things, named in braces as UCUM wants it: `{call}`.
    Things(&'static str),
    /// Things a second.
    Rate(&'static str),
}

/// How values of different times belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Only grows.
    Counter,
    /// A sum that grows and shrinks.
    UpDownCounter,
    /// The latest value counts.
    Gauge,
    /// Durations.
    Distribution,
}

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// A whole number.
    Integer(u64),
    /// A number in the family's unit.
    Number(f64),
    /// All durations, with their distribution.
    Durations(Box<Durations>),
    /// Durations of which only number and sum are known, in seconds.
    CountAndSum(u64, f64),
}

impl Family {
    /// A family without series.
    pub(crate) fn new(name: &'static str, unit: Unit, kind: Kind, help: &'static str) -> Family {
        Family { name, unit, kind, help, series: Vec::new() }
    }

    /// Adds a series.
    pub(crate) fn push(&mut self, attributes: Attributes, value: Value) {
        self.series.push(Series { attributes, value });
    }

    /// The family with one series more, whose attributes are given as words.
    pub(crate) fn with(mut self, attributes: &[(&'static str, &str)], value: Value) -> Family {
        self.push(attributes.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(), value);
        self
    }
}
