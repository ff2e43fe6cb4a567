//! Known bugs of HotSpot that make it unsafe to retransform certain classes. Rewriting them when they are loaded is safe:
//! only a retransform has the JVM put the class file together again from its own data.
//!
//! Last checked against: JDK 26 (2026-11).

use std::ops::RangeInclusive;

use crate::jvm::{Jvmti, LoadedClass};

/// A class of bugs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hazard {
    /// Name for statistics.
    pub(crate) key: &'static str,
    /// What would happen.
    pub(crate) reason: &'static str,
    versions: RangeInclusive<u32>,
    /// The class is affected if its constant pool holds all these names of attributes.
    attributes: &'static [&'static str],
}

const HAZARDS: [Hazard; 2] = [
    Hazard {
        key: "hotspot-8240908",
        reason: "retransforming would lose the names of its parameters (JDK-8240908); it can be rewritten only when it is loaded",
        versions: 0..=18,
        attributes: &["MethodParameters"],
    },
    Hazard {
        key: "hotspot-8376185",
        reason: "retransforming a record with type annotations leaves a broken class behind (JDK-8376185)",
        versions: 16..=26,
        attributes: &["Record", "RuntimeVisibleTypeAnnotations"],
    },
];

/// The bug that forbids to retransform this class, if any.
pub(crate) fn of_class(jvmti: Jvmti, java_version: u32, class: LoadedClass<'_>) -> Option<&'static Hazard> {
    if !HAZARDS.iter().any(|hazard| hazard.versions.contains(&java_version)) {
        return None;
    }
    of_pool(java_version, &class.constant_pool(jvmti)?)
}

/// The bug that will forbid to retransform the class in this class file once it is loaded, if any.
pub(crate) fn of_class_file(java_version: u32, class: &[u8]) -> Option<&'static Hazard> {
    // The pool is most of it.
    of_pool(java_version, class)
}

/// The bug that concerns classes with this constant pool.
fn of_pool(java_version: u32, pool: &[u8]) -> Option<&'static Hazard> {
    HAZARDS.iter().find(|hazard| {
        hazard.versions.contains(&java_version) && hazard.attributes.iter().all(|attribute| has_text(pool, attribute))
    })
}

/// Whether the pool has this text as an entry. Looks for the entry's bytes instead of decoding the pool: they could stand
/// inside a longer text by chance, which would only leave one more class alone.
fn has_text(pool: &[u8], text: &str) -> bool {
    let length = u16::try_from(text.len()).unwrap_or(0).to_be_bytes();
    let entry: Vec<u8> = [1].into_iter().chain(length).chain(text.bytes()).collect();
    memchr::memmem::find(pool, &entry).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(texts: &[&str]) -> Vec<u8> {
        texts.iter().flat_map(|text| [&[1, 0, text.len() as u8], text.as_bytes()].concat()).collect()
    }

    #[test]
    fn only_affected_versions_and_classes_are_left_alone() {
        let with_parameters = pool(&["Code", "MethodParameters"]);
        assert_eq!(of_pool(17, &with_parameters).map(|hazard| hazard.key), Some("hotspot-8240908"));
        assert_eq!(of_pool(21, &with_parameters), None);
        assert_eq!(of_pool(17, &pool(&["Code", "MethodParametersX"])), None);
        let record = pool(&["Record", "RuntimeVisibleTypeAnnotations"]);
        assert_eq!(of_pool(25, &record).map(|hazard| hazard.key), Some("hotspot-8376185"));
        assert_eq!(of_pool(25, &pool(&["RuntimeVisibleTypeAnnotations"])), None);
        assert_eq!(of_pool(27, &record), None);
    }
}
