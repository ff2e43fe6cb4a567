//! Which classes may be on their way to a type that a rule asks for, among all that came.

use std::sync::Arc;

use instrument_core::selection::Supertypes;
use rustc_hash::FxHashMap;

use super::BOOT;
use super::class_id::ClassId;

/// A class that came, with its super types.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) class: ClassId,
    pub(super) types: Arc<Supertypes>,
}

#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// Classes with a type above them that is asked for.
    pub(super) below: Vec<ClassId>,
    /// A super type that the loader of the class is not known to have, and the class.
    pub(super) unsure: Vec<(Box<[u8]>, ClassId)>,
    /// Whether one of these is known to another loader.
    pub(super) is_disputed: bool,
}

/// Number of a class in the order of the list.
type Number = usize;

/// All classes and which of them may be a super type of which.
#[derive(Debug, Default)]
struct Relations<'c> {
    /// The last class of each name.
    last: FxHashMap<&'c [u8], Number>,
    /// The one before that has the same name.
    previous: Vec<Option<Number>>,
    /// Class and possible super type.
    edges: Vec<(Number, Number)>,
    is_below: Vec<bool>,
    /// Super types at any depth that the loader of the class is not known to have.
    missing: FxHashMap<Number, Vec<&'c [u8]>>,
    is_disputed: bool,
}

/// Sorts out which classes are below an asked type, or may be.
pub(super) fn sort_out(came: &[Came], is_asked: impl Fn(&[u8]) -> bool, is_in_jdk: impl Fn(&[u8]) -> bool) -> Sorted {
    let mut relations = Relations { is_below: vec![false; came.len()], ..Relations::default() };
    for (number, class) in came.iter().enumerate() {
        relations.previous.push(relations.last.insert(&class.class.0, number));
    }
    let mut of_jdk: FxHashMap<&[u8], bool> = FxHashMap::default();
    for (number, class) in came.iter().enumerate() {
        let names = class.types.names().filter(|name| *name != b"java/lang/Object");
        for name in names {
            let is_in_jdk = || *of_jdk.entry(name).or_insert_with(|| is_in_jdk(name));
            relations.relate(came, number, name, is_asked(name), is_in_jdk);
        }
    }
    while relations.inherit() {}
    relations.sorted(came)
}

impl<'c> Relations<'c> {
    fn relate(
        &mut self,
        came: &[Came],
        class: Number,
        super_type: &'c [u8],
        is_asked: bool,
        is_in_jdk: impl FnOnce() -> bool,
    ) {
        if is_asked {
            if let Some(is_below) = self.is_below.get_mut(class) {
                *is_below = true;
            }
            return;
        }
        let loader_of = |number: Number| came.get(number).map(|class| class.class.1);
        let loader = loader_of(class);
        let last = self.last.get(super_type).copied();
        let mut known = std::iter::successors(last, |number| self.previous.get(*number).copied().flatten());
        let own = known.clone().find(|number| matches!(loader_of(*number), of if of == loader || of == Some(BOOT)));
        if let Some(own) = own {
            return self.edges.push((class, own));
        }
        if !is_in_jdk() {
            self.missing.entry(class).or_default().push(super_type);
            self.is_disputed |= last.is_some();
        }
        // Whose class it will be is for the JVM to say.
        let edges = &mut self.edges;
        known.by_ref().for_each(|possible| edges.push((class, possible)));
    }

    /// One step of handing down from super types to classes; false if nothing was new.
    fn inherit(&mut self) -> bool {
        let mut is_new = false;
        // Most classes come directly before their super types.
        for (class, super_type) in self.edges.iter().rev() {
            if self.is_below.get(*super_type) == Some(&true)
                && let Some(is_below) = self.is_below.get_mut(*class)
                && !*is_below
            {
                (*is_below, is_new) = (true, true);
            }
            let Some(inherited) = self.missing.get(super_type).cloned() else { continue };
            let own = self.missing.entry(*class).or_default();
            for name in inherited {
                if !own.contains(&name) {
                    own.push(name);
                    is_new = true;
                }
            }
        }
        is_new
    }

    fn sorted(mut self, came: &[Came]) -> Sorted {
        let mut sorted = Sorted { is_disputed: self.is_disputed, ..Sorted::default() };
        for (number, (class, is_below)) in came.iter().zip(&self.is_below).enumerate() {
            if *is_below {
                sorted.below.push(class.class.clone());
            } else {
                let missing = self.missing.remove(&number).unwrap_or_default();
                sorted.unsure.extend(missing.into_iter().map(|name| (name.into(), class.class.clone())));
            }
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use instrument_core::selection::Supertypes;

    use super::super::LoaderId;
    use super::*;

    fn came(classes: &[(&str, LoaderId, &[&str])]) -> Vec<Came> {
        let one = |(name, loader, types): &(&str, LoaderId, &[&str])| Came {
            class: (name.as_bytes().into(), *loader),
            types: Arc::new(Supertypes::named(types.iter().map(|name| name.as_bytes()))),
        };
        classes.iter().map(one).collect()
    }

    fn sorted(came: &[Came]) -> (Vec<String>, Vec<String>) {
        let is_in_jdk = |name: &[u8]| name.starts_with(b"java/");
        let Sorted { below, unsure, .. } = sort_out(came, |name| name == b"a/Wanted", is_in_jdk);
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let mut below: Vec<_> = below.iter().map(|(name, _)| text(name)).collect();
        let mut unsure: Vec<_> =
            unsure.iter().map(|(name, class)| format!("{} < {}", text(&class.0), text(name))).collect();
        below.sort();
        unsure.sort();
        (below, unsure)
    }

    #[test]
    fn classes_are_below_a_type_at_any_depth_or_unsure_or_neither() {
        let came = came(&[
            ("a/Near", 1, &["java/lang/Object", "a/Wanted"]),
            ("a/Far", 1, &["a/Near"]),
            ("a/Complete", 1, &["java/util/ArrayList", "a/Marker"]),
            ("a/Marker", 1, &["java/lang/Object"]),
            ("a/OnItsWay", 1, &["a/Unseen", "a/Marker"]),
            ("a/Behind", 1, &["a/OnItsWay"]),
        ]);
        let (below, unsure) = sorted(&came);
        assert_eq!(below, ["a/Far", "a/Near"]);
        assert_eq!(unsure, ["a/Behind < a/Unseen", "a/OnItsWay < a/Unseen"]);
    }

    #[test]
    fn what_another_loader_has_may_be_meant_or_not() {
        let came = came(&[
            ("a/Base", 2, &["java/lang/Object"]),
            ("a/Worker", 1, &["a/Base"]),
            ("b/Base", 2, &["a/Wanted"]),
            ("b/Worker", 1, &["b/Base"]),
        ]);
        let (below, unsure) = sorted(&came);
        assert_eq!(below, ["b/Base", "b/Worker"]);
        assert_eq!(unsure, ["a/Worker < a/Base"]);
    }

    #[test]
    fn a_circle_has_an_end() {
        assert_eq!(sorted(&came(&[("a/A", 1, &["a/B"]), ("a/B", 1, &["a/A"])])), (vec![], vec![]));
    }
}
