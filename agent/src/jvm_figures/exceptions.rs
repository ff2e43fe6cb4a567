//! Exceptions by type: how many calls at level full ended with each.

use metrics::{Family, Kind, Unit, Value};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// So many types are told apart; what comes later counts as [`OTHER`].
const MOST_TYPES: usize = 200;
const OTHER: &str = "_OTHER";

/// Counts by the internal name of the type. Process-wide, like the code that calls it.
#[derive(Debug, Default)]
pub(crate) struct Exceptions {
    counts: Mutex<FxHashMap<Box<[u8]>, u64>>,
}

static EXCEPTIONS: std::sync::OnceLock<Exceptions> = std::sync::OnceLock::new();

/// A call at level full ended with an exception of this type (internal name).
pub(crate) fn thrown(type_name: &[u8]) {
    EXCEPTIONS.get_or_init(Exceptions::default).add(type_name);
}

/// The counts as a metric.
pub(super) fn family() -> Family {
    EXCEPTIONS.get_or_init(Exceptions::default).family()
}

impl Exceptions {
    fn add(&self, type_name: &[u8]) {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(type_name) {
            *count += 1;
        } else {
            let is_room = counts.len() < MOST_TYPES;
            *counts.entry(if is_room { type_name.into() } else { OTHER.as_bytes().into() }).or_default() += 1;
        }
    }

    fn family(&self) -> Family {
        let help = "Calls at level full that ended with an exception, by its type; one that leaves several such methods counts in each";
        let mut counts: Vec<(String, u64)> = {
            let counts = self.counts.lock();
            counts
                .iter()
                .map(|(name, count)| (classfile::ModifiedUtf8(name).to_string().replace('/', "."), *count))
                .collect()
        };
        counts.sort();
        let family = Family::new("instr.exceptions", Unit::Things("{exception}"), Kind::Counter, help);
        counts
            .into_iter()
            .fold(family, |family, (name, count)| family.with(&[("exception.type", &name)], Value::Integer(count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(exceptions: &Exceptions) -> Vec<(String, u64)> {
        let series = exceptions.family().series;
        let value = |value: &Value| if let Value::Integer(number) = value { *number } else { 0 };
        series.iter().map(|series| (series.attributes[0].1.clone(), value(&series.value))).collect()
    }

    #[test]
    fn each_type_is_counted_and_too_many_types_are_one() {
        let exceptions = Exceptions::default();
        exceptions.add(b"java/io/IOException");
        exceptions.add(b"a/B$C");
        exceptions.add(b"java/io/IOException");
        assert_eq!(series(&exceptions), [("a.B$C".to_owned(), 1), ("java.io.IOException".to_owned(), 2)]);
        for number in 0..300 {
            exceptions.add(format!("p/E{number}").as_bytes());
        }
        let all = series(&exceptions);
        assert_eq!(all.len(), MOST_TYPES + 1);
        assert_eq!(all.iter().map(|(_, count)| count).sum::<u64>(), 303);
        assert!(all.contains(&(OTHER.to_owned(), 102)));
    }
}
