//! Classes that a program makes, uses and drops, each with a name of its own: proxies, scripts, generated code. Their probes would use up
//! numbers and memory for ever, so after some of a kind the next ones share theirs (decision 038).

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::probe_request::ProbeRequest;

/// That many names of a kind, at least, have no living class before others are shared.
pub const MOST_OF_A_KIND: usize = 256;

/// What classes of one package with the same probed methods have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Kind(u64);

impl Kind {
    /// Returns the kind of a class with these probes.
    pub fn of(class: &[u8], requests: &[ProbeRequest<'_>]) -> Kind {
        let mut hasher = FxHasher::default();
        package(class).hash(&mut hasher);
        for request in requests {
            (request.name, request.descriptor, request.template).hash(&mut hasher);
            (request.level.name(), request.live).hash(&mut hasher);
        }
        Kind(hasher.finish())
    }
}

/// The kinds of all classes that have or had probes of their own.
#[derive(Debug, Default)]
pub struct ClassKinds {
    kinds: FxHashMap<Kind, OfKind>,
}

/// Names of one kind.
#[derive(Debug, Default)]
struct OfKind {
    /// Names with a living class, and how many they were at most.
    living: usize,
    most_living: usize,
    groups: Vec<Group>,
}

/// Names that begin alike.
#[derive(Debug)]
struct Group {
    /// Names without a living class.
    unloaded: usize,
    /// What the unloaded names begin with. It no longer changes once names are shared, so that a class that is loaded keeps its name.
    stem: Box<[u8]>,
    is_shared: bool,
}

impl ClassKinds {
    /// Notes that the first living class of a name was loaded; `again` if there were others before it.
    pub fn note_loaded(&mut self, class: &[u8], kind: Kind, again: bool) {
        let of_kind = self.kinds.entry(kind).or_default();
        of_kind.living += 1;
        of_kind.most_living = of_kind.most_living.max(of_kind.living);
        if again && let Some(group) = of_kind.group(class) {
            group.unloaded = group.unloaded.saturating_sub(1);
        }
    }

    /// Notes that no class of a name is left.
    pub fn note_unloaded(&mut self, class: &[u8], kind: Kind) {
        let of_kind = self.kinds.entry(kind).or_default();
        of_kind.living = of_kind.living.saturating_sub(1);
        // A program that is deployed anew unloads all that it has at once, and most of it is loaded again.
        let most = MOST_OF_A_KIND.max(2 * of_kind.most_living);
        if let Some(group) = of_kind.group(class) {
            group.note_unloaded(class, most);
        } else {
            of_kind.groups.push(Group { unloaded: 1, stem: class.into(), is_shared: false });
        }
    }

    /// Returns the name under which the probes of a new class are recorded together with those of others, such as `gen/Script*`; `None` if
    /// it has probes of its own.
    pub fn shared_name(&mut self, class: &[u8], kind: Kind) -> Option<Vec<u8>> {
        let group = self.kinds.get_mut(&kind)?.group(class).filter(|group| group.is_shared)?;
        // Another package may have the same hash.
        (package(&group.stem) == package(class)).then(|| [&*group.stem, b"*"].concat())
    }
}

impl OfKind {
    /// The group of a name: the one with its beginning, else the one that is not complete.
    fn group(&mut self, class: &[u8]) -> Option<&mut Group> {
        self.groups.iter_mut().find(|group| !group.is_shared || class.starts_with(&group.stem))
    }
}

impl Group {
    fn note_unloaded(&mut self, class: &[u8], most: usize) {
        self.unloaded += 1;
        if self.is_shared {
            return;
        }
        let common = self.stem.iter().zip(class).take_while(|(a, b)| a == b).count();
        if common < self.stem.len() {
            self.stem = self.stem.iter().take(common).copied().collect();
        }
        if self.unloaded >= most {
            let digits = self.stem.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            self.stem = self.stem.iter().take(self.stem.len() - digits).copied().collect();
            self.is_shared = true;
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
        ProbeRequest {
            name,
            descriptor: b"()V",
            access_flags: 1,
            template: "t",
            level: Level::Time,
            live: true,
            context: "",
        }
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
        churn(&mut kinds, kind, "a/Script", MOST_OF_A_KIND - 1);
        assert_eq!(shared(&mut kinds, "a/Script7777", kind), None);
        churn(&mut kinds, kind, "a/Script9", 1);
        assert_eq!(shared(&mut kinds, "a/Script1999", kind).as_deref(), Some("a/Script*"));
        assert_eq!(shared(&mut kinds, "b/Script1", kind), None);
        assert_eq!(shared(&mut kinds, "a/Script1", Kind(2)), None);
        // Names that begin otherwise have probes of their own until there are many of them, too; the others keep their name.
        assert_eq!(shared(&mut kinds, "a/Screen", kind), None);
        churn(&mut kinds, kind, "a/Proxy", MOST_OF_A_KIND);
        assert_eq!(shared(&mut kinds, "a/Proxy1", kind).as_deref(), Some("a/Proxy*"));
        assert_eq!(shared(&mut kinds, "a/Script1999", kind).as_deref(), Some("a/Script*"));
    }

    #[test]
    fn many_classes_that_are_deployed_anew_share_nothing() {
        let mut kinds = ClassKinds::default();
        let kind = Kind(1);
        let names: Vec<String> = (0..2 * MOST_OF_A_KIND).map(|number| format!("jsp/page{number}")).collect();
        for deployment in 0..5 {
            for name in &names {
                kinds.note_loaded(name.as_bytes(), kind, deployment > 0);
            }
            for name in &names {
                kinds.note_unloaded(name.as_bytes(), kind);
            }
            assert_eq!(shared(&mut kinds, "jsp/another", kind), None);
        }
    }

    /// Loads and unloads this many classes, one after the other.
    fn churn(kinds: &mut ClassKinds, kind: Kind, prefix: &str, count: usize) {
        for number in 0..count {
            let name = format!("{prefix}{}", 1000 + number);
            kinds.note_loaded(name.as_bytes(), kind, false);
            kinds.note_unloaded(name.as_bytes(), kind);
        }
    }

    fn shared(kinds: &mut ClassKinds, class: &str, kind: Kind) -> Option<String> {
        kinds.shared_name(class.as_bytes(), kind).map(|name| String::from_utf8(name).unwrap())
    }
}
