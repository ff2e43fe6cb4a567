//! Classes that a program makes, uses and drops, each with a name of its own: proxies, scripts, generated code. Their probes would use up
//! numbers and memory for ever, so after some of a kind the next ones share theirs (decision 038).

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::probe_registry::ProbeRequest;

/// That many unloaded classes of a kind have had probes of their own.
pub(crate) const MOST_OF_A_KIND: usize = 256;

/// What classes of one package with the same probed methods have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Kind(u64);

impl Kind {
    /// Returns the kind of a class with these probes.
    pub(crate) fn of(class: &[u8], requests: &[ProbeRequest<'_>]) -> Kind {
        let mut hasher = FxHasher::default();
        package(class).hash(&mut hasher);
        for request in requests {
            (request.name, request.descriptor, request.template).hash(&mut hasher);
            (request.level.name(), request.live).hash(&mut hasher);
        }
        Kind(hasher.finish())
    }
}

/// The kinds of all classes that were unloaded.
#[derive(Debug, Default)]
pub(crate) struct ClassKinds {
    unloaded: FxHashMap<Kind, Unloaded>,
}

#[derive(Debug)]
struct Unloaded {
    classes: usize,
    /// What their names begin with.
    prefix: Box<[u8]>,
}

impl ClassKinds {
    /// Counts a class of which no loader is left; once for each name.
    pub(crate) fn note_unloaded(&mut self, class: &[u8], kind: Kind) {
        let unloaded = self.unloaded.entry(kind).or_insert_with(|| Unloaded { classes: 0, prefix: class.into() });
        unloaded.classes += 1;
        unloaded.shorten(class);
    }

    /// Returns the name under which the probes of a new class are recorded together with those of others, such as `gen/Script*`; `None` if
    /// it has probes of its own.
    pub(crate) fn shared_name(&mut self, class: &[u8], kind: Kind) -> Option<Vec<u8>> {
        let unloaded = self.unloaded.get_mut(&kind).filter(|unloaded| unloaded.classes >= MOST_OF_A_KIND)?;
        // Another package with the same hash.
        if package(&unloaded.prefix) != package(class) {
            return None;
        }
        unloaded.shorten(class);
        let digits = unloaded.prefix.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let stem = unloaded.prefix.get(..unloaded.prefix.len() - digits)?;
        Some([stem, b"*"].concat())
    }
}

impl Unloaded {
    fn shorten(&mut self, class: &[u8]) {
        let common = self.prefix.iter().zip(class).take_while(|(a, b)| a == b).count();
        if common < self.prefix.len() {
            self.prefix = self.prefix.iter().take(common).copied().collect();
        }
    }
}

/// The package, with the slash at its end.
fn package(class: &[u8]) -> &[u8] {
    let end = class.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    class.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use instrument_core::level::Level;

    use super::*;

    fn request(name: &str) -> ProbeRequest<'_> {
        let name = name.as_bytes();
        ProbeRequest { name, descriptor: b"()V", access_flags: 1, template: "t", level: Level::Time, live: true }
    }

    #[test]
    fn a_kind_is_a_package_and_the_probed_methods() {
        let kind = |class: &str, methods: &[&str]| {
            Kind::of(class.as_bytes(), &methods.iter().map(|name| request(name)).collect::<Vec<_>>())
        };
        assert_eq!(kind("a/Script1", &["run", "add"]), kind("a/Other", &["run", "add"]));
        assert_ne!(kind("a/Script1", &["run"]), kind("b/Script1", &["run"]));
        assert_ne!(kind("a/Script1", &["run"]), kind("a/Script1", &["go"]));
    }

    #[test]
    fn the_next_after_many_share_what_their_names_begin_with() {
        let mut kinds = ClassKinds::default();
        let kind = Kind(1);
        for number in 0..MOST_OF_A_KIND {
            assert_eq!(kinds.shared_name(b"a/Script7777", kind), None, "{number} are unloaded");
            kinds.note_unloaded(format!("a/Script{}", 1000 + number).as_bytes(), kind);
        }
        let mut shared =
            |class: &[u8], kind| kinds.shared_name(class, kind).map(|name| String::from_utf8(name).unwrap());
        assert_eq!(shared(b"a/Script1999", kind).as_deref(), Some("a/Script*"));
        assert_eq!(shared(b"a/Screen", kind).as_deref(), Some("a/Scr*"));
        assert_eq!(shared(b"a/Script1999", kind).as_deref(), Some("a/Scr*"));
        assert_eq!(shared(b"b/Script1", kind), None);
        assert_eq!(shared(b"a/Script1", Kind(2)), None);
    }
}
