//! Super types at any depth, without loading a class.

use std::cell::OnceCell;
use std::hash::BuildHasher;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::facts::Supertypes;

/// Which of the types that rules ask for exist at all, where one class loader looks for classes. Decisions and marks
/// ([`Hierarchy::note_unasked`]) rely on it: if such a type is loaded later, the marks are invalid, and classes whose definition was in
/// flight by then must be decided again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AskedTypes {
    /// None of them: no class can have one above it.
    Nowhere,
    /// Classes, but no interfaces: only super classes can be among them.
    Classes,
    /// Perhaps interfaces, too.
    Any,
}

/// Knows the direct super types of classes, as seen from one class loader.
pub trait Hierarchy {
    /// The super types of a type, or `None` if they cannot be found now.
    fn supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>>;

    /// Returns the same if it is known without reading class files of the application.
    fn known_supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        self.supertypes(internal_name)
    }

    /// Returns whether the super types of this type, which has not been loaded yet, need not be known now: if the type turns out to be a
    /// subtype of one that rules ask for when it is loaded, the class is decided again.
    fn postpone(&self, _internal_name: &[u8]) -> bool {
        false
    }

    /// Which of the types that rules ask for exist.
    fn asked_types(&self) -> AskedTypes {
        AskedTypes::Any
    }

    /// Whether any of them does. Easier to decide than which.
    fn has_asked_types(&self) -> bool {
        self.asked_types() != AskedTypes::Nowhere
    }

    /// True if it was noted that the rules ask for neither this type nor one of its super types.
    fn is_unasked(&self, _internal_name: &[u8]) -> bool {
        false
    }

    /// Notes that the rules ask for neither this type nor one of its super types, which are known as far as they matter.
    fn note_unasked(&self, _internal_name: &[u8]) {}

    /// Returns the types that rules ask for and that a walk found above the class, if that was noted.
    fn found_above(&self) -> Option<Arc<Supertypes>> {
        None
    }

    /// Notes that all super types of the class were walked. `found` are those that rules ask for, unless some are unknown.
    fn note_walk(&self, _found: Option<Supertypes>) {}
}

/// More super types than any real class has; a hierarchy beyond it is not followed further.
const MOST_SUPERTYPES: usize = 2048;

/// The types that rules ask for, each with a number.
#[derive(Debug, Default)]
pub(super) struct WantedTypes {
    numbers: FxHashMap<Box<[u8]>, usize>,
}

impl WantedTypes {
    pub(super) fn number(&mut self, internal_name: &[u8]) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(internal_name.into()).or_insert(next)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub(super) fn contains(&self, internal_name: &[u8]) -> bool {
        self.numbers.contains_key(internal_name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.numbers.keys().map(|name| &**name)
    }
}

/// What is known about the super types of one class.
#[derive(Debug, Default)]
pub(super) struct SupertypeFacts {
    /// Numbers of the wanted types among them.
    found: Vec<usize>,
    /// Types whose own super types are unknown, so that there may be more.
    pub(super) unresolved: Vec<Vec<u8>>,
    /// Whether there may be more above types that will be checked when they are loaded.
    is_postponed: bool,
}

/// Super types of one type on the way.
struct Holder {
    types: Arc<Supertypes>,
    /// Whether this is the class or one of its super classes.
    is_class: bool,
}

impl SupertypeFacts {
    /// Returns what is above a class with these direct super types, the class itself included. They are walked once for each loading of a class.
    pub(super) fn find(
        class: &[u8],
        direct: impl FnOnce() -> Arc<Supertypes>,
        hierarchy: &dyn Hierarchy,
        wanted: &WantedTypes,
    ) -> SupertypeFacts {
        if let Some(found) = hierarchy.found_above() {
            let found = found.names().filter_map(|name| wanted.numbers.get(name).copied()).collect();
            return SupertypeFacts { found, ..SupertypeFacts::default() };
        }
        let facts = SupertypeFacts::walk(class, direct(), hierarchy, wanted);
        let is_final = facts.unresolved.is_empty() && !facts.is_postponed;
        let is_found = |number: &usize| facts.found.contains(number);
        let names = || wanted.numbers.iter().filter(|(_, number)| is_found(number)).map(|(name, _)| &**name);
        hierarchy.note_walk(is_final.then(|| Supertypes::named(names().collect::<Vec<_>>())));
        facts
    }

    /// Walks all super types of a class with these direct ones, the class itself included.
    fn walk(class: &[u8], direct: Arc<Supertypes>, hierarchy: &dyn Hierarchy, wanted: &WantedTypes) -> SupertypeFacts {
        let mut walk = Walk { holders: vec![Holder { types: direct, is_class: true }], seen: Vec::new() };
        let mut facts = SupertypeFacts::default();
        if wanted.numbers.len() == 1 {
            facts.found.extend(
                walk.holders.iter().flat_map(|direct| direct.types.names()).find_map(|name| wanted.numbers.get(name)),
            );
            if !facts.found.is_empty() {
                // Nothing else can be found.
                return facts;
            }
        }
        let asked = OnceCell::new();
        let mut next = 0;
        while let Some((holder, is_class)) = walk.holder(next) {
            for (position, name) in holder.names().enumerate() {
                if name == class || !walk.is_new(name, next, position) {
                    continue;
                }
                facts.found.extend(wanted.numbers.get(name));
                if name == b"java/lang/Object" || hierarchy.is_unasked(name) {
                    continue;
                }
                let is_class = is_class && position == 0;
                let can_lead_to_one = || match asked.get_or_init(|| hierarchy.asked_types()) {
                    AskedTypes::Nowhere => false,
                    AskedTypes::Classes => is_class,
                    AskedTypes::Any => true,
                };
                match hierarchy.known_supertypes(name) {
                    Some(types) => walk.holders.push(Holder { types, is_class }),
                    None if !can_lead_to_one() => {}
                    None if hierarchy.postpone(name) => facts.is_postponed = true,
                    None => match hierarchy.supertypes(name) {
                        Some(types) => walk.holders.push(Holder { types, is_class }),
                        None => facts.unresolved.push(name.to_vec()),
                    },
                }
                if walk.seen.len() == MOST_SUPERTYPES {
                    facts.found.extend(wanted.numbers.get(class));
                    return facts;
                }
            }
            next += 1;
        }
        if facts.found.is_empty() && facts.unresolved.is_empty() && !facts.is_postponed {
            // The super types of each of them are among them.
            let names = walk.holders.iter().flat_map(|holder| holder.types.names());
            names.filter(|name| *name != class).for_each(|name| hierarchy.note_unasked(name));
        }
        facts.found.extend(wanted.numbers.get(class));
        facts
    }

    pub(super) fn has(&self, number: usize) -> bool {
        self.found.contains(&number)
    }
}

/// Breadth first with a list of what was seen: no recursion and no end to fear in cyclic or hostile hierarchies.
struct Walk {
    holders: Vec<Holder>,
    /// Hash of each name seen, and where the name itself is stored: holder and position.
    seen: Vec<(u64, usize, usize)>,
}

impl Walk {
    fn holder(&self, at: usize) -> Option<(Arc<Supertypes>, bool)> {
        self.holders.get(at).map(|holder| (Arc::clone(&holder.types), holder.is_class))
    }

    fn is_new(&mut self, name: &[u8], holder: usize, position: usize) -> bool {
        let hash = FxBuildHasher.hash_one(name);
        let known = |&(other, holder, position): &(u64, usize, usize)| {
            other == hash && self.holders.get(holder).and_then(|held| held.types.name_at(position)) == Some(name)
        };
        if self.seen.iter().any(known) {
            return false;
        }
        self.seen.push((hash, holder, position));
        true
    }
}
