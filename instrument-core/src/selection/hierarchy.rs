//! Super types at any depth, without loading a class.

use std::hash::BuildHasher;
use std::sync::Arc;

use classfile::ClassFile;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// The direct super types of one type, as internal names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supertypes {
    /// `None` only for `java/lang/Object`.
    pub super_class: Option<Vec<u8>>,
    /// The direct super interfaces.
    pub interfaces: Vec<Vec<u8>>,
}

impl Supertypes {
    /// Those of a parsed class.
    pub fn of(class: &ClassFile<'_>) -> Supertypes {
        Supertypes {
            super_class: class.super_class().map(|name| name.0.to_vec()),
            interfaces: class.interfaces().map(|name| name.0.to_vec()).collect(),
        }
    }

    fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.super_class.iter().chain(&self.interfaces).map(Vec::as_slice)
    }

    fn name_at(&self, position: usize) -> Option<&[u8]> {
        self.names().nth(position)
    }
}

/// Knows the direct super types of classes, as seen from one class loader.
pub trait Hierarchy {
    /// The super types of a type, or `None` if they cannot be found now.
    fn supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>>;
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
}

/// What is known about the super types of one class.
#[derive(Debug, Default)]
pub(super) struct SupertypeFacts {
    /// Numbers of the wanted types among them.
    found: Vec<usize>,
    /// Types whose own super types are unknown, so that there may be more.
    pub(super) unresolved: Vec<Vec<u8>>,
}

impl SupertypeFacts {
    /// Walks all super types of a class, the class itself included.
    pub(super) fn walk(class: &ClassFile<'_>, hierarchy: &dyn Hierarchy, wanted: &WantedTypes) -> SupertypeFacts {
        let mut walk = Walk { holders: vec![Arc::new(Supertypes::of(class))], seen: Vec::new() };
        let mut facts = SupertypeFacts::default();
        facts.found.extend(wanted.numbers.get(class.this_class().0));
        let mut next = 0;
        while let Some(holder) = walk.holders.get(next).cloned() {
            for (position, name) in holder.names().enumerate() {
                if name == class.this_class().0 || !walk.is_new(name, next, position) {
                    continue;
                }
                facts.found.extend(wanted.numbers.get(name));
                if name == b"java/lang/Object" {
                    continue;
                }
                match hierarchy.supertypes(name) {
                    Some(supertypes) => walk.holders.push(supertypes),
                    None => facts.unresolved.push(name.to_vec()),
                }
                if walk.seen.len() == MOST_SUPERTYPES {
                    return facts;
                }
            }
            next += 1;
        }
        facts
    }

    pub(super) fn has(&self, number: usize) -> bool {
        self.found.contains(&number)
    }
}

/// Breadth first with a list of what was seen: no recursion and no end to fear in cyclic or hostile hierarchies.
struct Walk {
    holders: Vec<Arc<Supertypes>>,
    /// Hash of each name seen, and where the name itself stands: holder and position.
    seen: Vec<(u64, usize, usize)>,
}

impl Walk {
    fn is_new(&mut self, name: &[u8], holder: usize, position: usize) -> bool {
        let hash = FxBuildHasher.hash_one(name);
        let known = |&(other, holder, position): &(u64, usize, usize)| {
            other == hash && self.holders.get(holder).and_then(|held| held.name_at(position)) == Some(name)
        };
        if self.seen.iter().any(known) {
            return false;
        }
        self.seen.push((hash, holder, position));
        true
    }
}
