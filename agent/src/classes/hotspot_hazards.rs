//! Known bugs of HotSpot that make it unsafe to retransform certain classes. Rewriting them when they are loaded is safe.
//! What is safe all the same: `safe_retransforms.rs`.
//!
//! Last checked against: JDK 26 (2026-11).

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use memchr::memmem::Finder;

/// A class of bugs.
#[derive(Debug)]
pub(crate) struct Hazard {
    /// Name for statistics.
    pub(crate) key: &'static str,
    /// What would happen.
    pub(crate) reason: &'static str,
    versions: RangeInclusive<u32>,
    /// The class is affected if its constant pool holds all these texts, names of attributes above all: the bytes of their entries.
    entries: &'static [&'static LazyLock<Finder<'static>>],
    /// Only records are affected.
    of_records: bool,
    /// All that is lost are `MethodParameters`.
    pub(crate) loses_parameters: bool,
}

static METHOD_PARAMETERS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\x01\x00\x10MethodParameters"));
static RECORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\x01\x00\x06Record"));
static RECORD_CLASS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\x01\x00\x10java/lang/Record"));
static TYPE_ANNOTATIONS: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(b"\x01\x00\x1dRuntimeVisibleTypeAnnotations"));

static HAZARDS: [Hazard; 2] = [
    Hazard {
        key: "hotspot-8376185",
        reason: "retransforming a record with type annotations leaves a broken class behind (JDK-8376185)",
        versions: 16..=26,
        entries: &[&RECORD, &TYPE_ANNOTATIONS, &RECORD_CLASS],
        of_records: true,
        loses_parameters: false,
    },
    Hazard {
        key: "hotspot-8240908",
        reason: "retransforming would lose the names of its parameters (JDK-8240908), and the class file that has them was not found",
        versions: 0..=18,
        entries: &[&METHOD_PARAMETERS],
        of_records: false,
        loses_parameters: true,
    },
];

/// Whether any of the bugs is in this version.
pub(crate) fn concern(java_version: u32) -> bool {
    HAZARDS.iter().any(|hazard| hazard.versions.contains(&java_version))
}

/// The bug that forbids to retransform the class with this constant pool, if any; the class file will do, most of which is the pool.
///
/// Looks for the bytes of entries instead of decoding the pool: they could stand inside a longer text by chance, which would only leave one
/// more class alone.
pub(crate) fn of_pool(java_version: u32, pool: &[u8]) -> Option<&'static Hazard> {
    of_class(java_version, pool, true)
}

/// The same for a class of which it is known whether it is a record: most are not, and need not be searched for what only those have.
pub(crate) fn of_class(java_version: u32, pool: &[u8], is_record: bool) -> Option<&'static Hazard> {
    HAZARDS.iter().find(|hazard| {
        hazard.versions.contains(&java_version)
            && (is_record || !hazard.of_records)
            && hazard.entries.iter().all(|entry| entry.find(pool).is_some())
    })
}

/// Whether the pool has this text.
pub(crate) fn has_text(pool: &[u8], text: &[u8]) -> bool {
    let Ok(length) = u16::try_from(text.len()) else { return false };
    memchr::memmem::find(pool, &[&[1], &length.to_be_bytes()[..], text].concat()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(texts: &[&str]) -> Vec<u8> {
        texts.iter().flat_map(|text| [&[1, 0, text.len() as u8], text.as_bytes()].concat()).collect()
    }

    #[test]
    fn a_text_is_a_whole_entry() {
        let pool = pool(&["count", "label"]);
        assert!(has_text(&pool, b"label") && has_text(&pool, b"count"));
        assert!(!has_text(&pool, b"coun") && !has_text(&pool, b"abel") && !has_text(&pool, &[b'x'; 70_000]));
    }

    #[test]
    fn only_affected_versions_and_classes_are_left_alone() {
        let with_parameters = pool(&["Code", "MethodParameters"]);
        assert_eq!(of_pool(17, &with_parameters).map(|hazard| hazard.key), Some("hotspot-8240908"));
        assert!(of_pool(21, &with_parameters).is_none());
        assert!(of_pool(17, &pool(&["Code", "MethodParametersX"])).is_none());
        let record = pool(&["java/lang/Record", "Record", "RuntimeVisibleTypeAnnotations"]);
        assert_eq!(of_pool(25, &record).map(|hazard| hazard.key), Some("hotspot-8376185"));
        assert!(of_pool(25, &pool(&["java/lang/Record", "Record"])).is_none());
        assert!(of_pool(25, &pool(&["Record", "RuntimeVisibleTypeAnnotations"])).is_none(), "speaks of them, is none");
        assert!(of_pool(27, &record).is_none());
        assert!(of_class(25, &record, false).is_none());
        assert!(concern(18) && concern(26) && !concern(27));
        let both = pool(&["MethodParameters", "java/lang/Record", "Record", "RuntimeVisibleTypeAnnotations"]);
        assert_eq!(of_pool(17, &both).map(|hazard| hazard.loses_parameters), Some(false), "names alone would not help");
    }
}
