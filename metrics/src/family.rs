//! What is published, before it is written in the one or the other format: families of series, named as OpenTelemetry
//! names them.

use std::sync::Arc;

use super::durations::Durations;

/// One metric with all its series.
#[derive(Debug, Clone)]
pub struct Family {
    /// OpenTelemetry's name, with dots.
    pub name: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// How values of different times belong together.
    pub kind: Kind,
    /// One sentence for people.
    pub help: &'static str,
    /// The values.
    pub series: Vec<Series>,
}

/// One value and what it belongs to.
#[derive(Debug, Clone)]
pub struct Series {
    /// Names (with dots) and values, in a fixed order.
    pub attributes: Attributes,
    /// The value.
    pub value: Value,
}

/// Attributes of a series.
pub type Attributes = Arc<[(&'static str, String)]>;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
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
pub enum Kind {
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
pub enum Value {
    /// A whole number.
    Integer(u64),
    /// A number in the family's unit.
    Number(f64),
    /// All durations, with their distribution.
    Durations(Box<Durations>),
    /// Durations of which only number and sum are known, in seconds.
    CountAndSum(u64, f64),
    /// The same of calls at level watch whose lengths are unknown, in a family whose other series have a distribution.
    Estimate(u64, f64),
}

impl Family {
    /// A family without series.
    pub fn new(name: &'static str, unit: Unit, kind: Kind, help: &'static str) -> Family {
        Family { name, unit, kind, help, series: Vec::new() }
    }

    /// Adds a series.
    pub fn push(&mut self, attributes: Attributes, value: Value) {
        self.series.push(Series { attributes, value });
    }

    /// The family with one series more, whose attributes are given as words.
    pub fn with(mut self, attributes: &[(&'static str, &str)], value: Value) -> Family {
        self.push(attributes.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(), value);
        self
    }
}

/// The same families in parts of at most `most` series; a family may stand in two of them.
pub(crate) fn in_parts(families: Vec<Family>, most: usize) -> Vec<Vec<Family>> {
    let (mut parts, mut part, mut room) = (Vec::new(), Vec::new(), most);
    for mut family in families {
        while family.series.len() > room {
            let rest = family.series.split_off(room);
            let head = Family { series: std::mem::replace(&mut family.series, rest), ..family };
            part.push(head);
            parts.push(std::mem::take(&mut part));
            room = most;
        }
        room -= family.series.len();
        part.push(family);
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_every_series_once_and_none_holds_too_many() {
        let family = |name: &'static str, series: u64| {
            let empty = Family::new(name, Unit::Bytes, Kind::Gauge, "");
            (0..series).fold(empty, |family, value| family.with(&[], Value::Integer(value)))
        };
        for sizes in [[0, 0, 0], [10, 1, 0], [9, 11, 35], [10, 10, 10]] {
            let names = ["a", "b", "c"];
            let families = names.iter().zip(sizes).map(|(name, size)| family(name, size)).collect();
            let parts = in_parts(families, 10);
            let of_part = |part: &Vec<Family>| part.iter().map(|family| family.series.len()).sum::<usize>();
            assert!(parts.iter().all(|part| of_part(part) <= 10), "{sizes:?}");
            for (name, size) in names.iter().zip(sizes) {
                let found = parts.iter().flatten().filter(|family| family.name == *name);
                assert_eq!(found.map(|family| family.series.len() as u64).sum::<u64>(), size, "{sizes:?}");
            }
        }
    }
}
