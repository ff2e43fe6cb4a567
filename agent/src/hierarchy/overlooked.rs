//! Classes that were left alone because no type existed that a rule asks for, and that turn out to be below one.
//!
//! The JVM shows a class first and its super types, as far as they are new, directly afterwards. So when the first such type comes, there
//! may be classes on their way that have it above them: their super types are known by now, or not yet come either. All others that came
//! before are complete, and what is above them has been seen.

use std::sync::Arc;

use instrument_core::selection::{AskedTypes, Supertypes};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{BOOT, LoaderId, TypeIndex};

/// A class by its name and the loader that defines it.
pub(crate) type ClassId = (Box<[u8]>, LoaderId);

/// Takes classes that must be looked at once more when they are linked.
pub(crate) trait Latecomers {
    /// Leaves only the classes that the JVM has not loaded completely.
    fn keep_unfinished(&self, classes: &mut FxHashSet<ClassId>);

    /// Has the class come again.
    fn note(&self, class: &ClassId);
}

/// A class that came, with its super types.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) class: ClassId,
    pub(super) types: Arc<Supertypes>,
}

/// Up to which types the overlooked classes were looked for.
#[derive(Debug)]
pub(super) struct Overlooked {
    found_for: Mutex<AskedTypes>,
}

impl Default for Overlooked {
    fn default() -> Self {
        Overlooked { found_for: Mutex::new(AskedTypes::Nowhere) }
    }
}

impl Overlooked {
    /// A type of this name comes, for which rules ask or classes wait.
    #[cold]
    pub(super) fn look_again(&self, index: &TypeIndex, name: &[u8], late: &dyn Latecomers) {
        // The same type of another loader waits here: it must not be defined before the classes are noted that are below it.
        let mut found_for = self.found_for.lock();
        if let Some(now) = index.asked.newly_seen(*found_for) {
            find_overlooked(index, late);
            *found_for = now;
        }
        for class in index.known().awaiting(name) {
            late.note(&class);
        }
        index.known().forget_awaited(name);
    }
}

fn find_overlooked(index: &TypeIndex, late: &dyn Latecomers) {
    let came = index.known().all();
    let is_in_jdk = |name: &[u8]| index.of_jdk(name).is_some();
    let Sorted { below, unsure } = sort_out(&came, |name| index.asked.is_asked(name), is_in_jdk);
    let mut unfinished: FxHashSet<ClassId> =
        below.iter().chain(unsure.iter().map(|(_, class)| class)).cloned().collect();
    if !unfinished.is_empty() {
        late.keep_unfinished(&mut unfinished);
    }
    tracing::debug!(came = came.len(), unfinished = unfinished.len(), "a type that rules ask for has come up");
    below.iter().filter(|class| unfinished.contains(*class)).for_each(|class| late.note(class));
    let mut known = index.known();
    known.forget_marks();
    let mut come_meanwhile = Vec::new();
    for (super_type, class) in unsure.into_iter().filter(|(_, class)| unfinished.contains(class)) {
        match known.of_loader(&super_type, class.1) {
            Some(_) => come_meanwhile.push(class),
            None => known.await_type(super_type, class),
        }
    }
    drop(known);
    come_meanwhile.iter().for_each(|class| late.note(class));
}

#[derive(Debug, Default)]
struct Sorted {
    /// Classes with a type above them that is asked for.
    below: Vec<ClassId>,
    /// A super type that the loader of the class is not known to have, and the class.
    unsure: Vec<(Box<[u8]>, ClassId)>,
}

fn sort_out(came: &[Came], is_asked: impl Fn(&[u8]) -> bool, is_in_jdk: impl Fn(&[u8]) -> bool) -> Sorted {
    let mut by_name: FxHashMap<&[u8], Vec<&Came>> = FxHashMap::default();
    came.iter().for_each(|came| by_name.entry(&came.class.0).or_default().push(came));
    let mut sorted = Sorted::default();
    for class in came {
        let mut missing = Vec::new();
        match is_below(class, &by_name, &is_asked, &is_in_jdk, &mut missing) {
            true => sorted.below.push(class.class.clone()),
            false => sorted.unsure.extend(missing.into_iter().map(|name| (name.into(), class.class.clone()))),
        }
    }
    sorted
}

fn is_below<'c>(
    class: &'c Came,
    by_name: &FxHashMap<&[u8], Vec<&'c Came>>,
    is_asked: &impl Fn(&[u8]) -> bool,
    is_in_jdk: &impl Fn(&[u8]) -> bool,
    missing: &mut Vec<&'c [u8]>,
) -> bool {
    let mut pending: Vec<&'c [u8]> = class.types.names().collect();
    let mut seen = FxHashSet::default();
    while let Some(name) = pending.pop() {
        if name == b"java/lang/Object" || !seen.insert(name) {
            continue;
        }
        if is_asked(name) {
            return true;
        }
        let known = by_name.get(name).map_or(&[][..], Vec::as_slice);
        let own = known.iter().find(|known| known.class.1 == class.class.1 || known.class.1 == BOOT);
        if own.is_none() && !is_in_jdk(name) {
            missing.push(name);
        }
        // Whose class it will be is for the JVM to say.
        let possible = own.map_or(known, std::slice::from_ref);
        pending.extend(possible.iter().flat_map(|known| known.types.names()));
    }
    false
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::PathBuf;
    use std::sync::Barrier;
    use std::time::SystemTime;

    use super::super::asked::Asked;
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
        let Sorted { below, unsure } = sort_out(came, |name| name == b"a/Wanted", is_in_jdk);
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

    /// Knows which classes are loaded, and remembers those that were noted.
    #[derive(Default)]
    struct Noting {
        loaded: Vec<&'static str>,
        noted: RefCell<Vec<String>>,
    }

    impl Latecomers for Noting {
        fn keep_unfinished(&self, classes: &mut FxHashSet<ClassId>) {
            classes.retain(|(name, _)| !self.loaded.iter().any(|loaded| loaded.as_bytes() == &**name));
        }

        fn note(&self, (name, loader): &ClassId) {
            self.noted.borrow_mut().push(format!("{} of {loader}", String::from_utf8_lossy(name)));
        }
    }

    /// Rules ask for `a/Wanted` and `a/Class`, which the JDK does not have.
    fn index() -> TypeIndex {
        let asked = Asked::new([b"a/Wanted".as_slice(), b"a/Class"].into_iter(), true);
        asked.all_loaded_are_noted();
        assert_eq!(asked.in_jdk(|_| true), AskedTypes::Nowhere);
        TypeIndex::asking(PathBuf::from("/nowhere"), SystemTime::now(), asked)
    }

    fn arrive(index: &TypeIndex, late: &Noting, name: &str, loader: LoaderId, super_type: &str) -> Vec<String> {
        let is_interface = name == "a/Wanted";
        index.arrive((name.as_bytes(), loader), is_interface, [super_type.as_bytes()].into_iter(), late);
        late.noted.take()
    }

    const OBJECT: &str = "java/lang/Object";

    #[test]
    fn a_type_that_comes_up_brings_back_the_classes_on_their_way() {
        let (index, late) = (index(), Noting { loaded: vec!["a/Loaded"], ..Noting::default() });
        assert_eq!(index.asked.believe(AskedTypes::Nowhere), AskedTypes::Nowhere);
        assert!(arrive(&index, &late, "a/Loaded", 1, "a/Wanted").is_empty());
        assert!(arrive(&index, &late, "a/Far", 1, "a/Near").is_empty());
        assert!(arrive(&index, &late, "a/Near", 1, "a/Wanted").is_empty());
        assert!(arrive(&index, &late, "a/Other", 1, OBJECT).is_empty());
        let mut noted = arrive(&index, &late, "a/Wanted", 1, OBJECT);
        noted.sort();
        assert_eq!(noted, ["a/Far of 1", "a/Near of 1"]);
        assert!(arrive(&index, &late, "a/Wanted", 2, OBJECT).is_empty(), "from now on nobody is left alone");
    }

    #[test]
    fn a_class_with_an_unseen_super_type_comes_back_when_that_is_seen() {
        let (index, late) = (index(), Noting { loaded: vec!["a/Loaded"], ..Noting::default() });
        assert_eq!(index.asked.believe(AskedTypes::Nowhere), AskedTypes::Nowhere);
        arrive(&index, &late, "a/OnItsWay", 1, "a/Unseen");
        arrive(&index, &late, "a/Loaded", 1, "a/Unseen");
        assert!(arrive(&index, &late, "a/Wanted", 1, OBJECT).is_empty());
        assert_eq!(arrive(&index, &late, "a/Unseen", 1, "a/Wanted"), ["a/OnItsWay of 1"]);
        assert!(arrive(&index, &late, "a/Unseen", 2, OBJECT).is_empty());
    }

    #[test]
    fn an_interface_behind_a_class_is_news_and_marks_are_forgotten() {
        let (index, late) = (index(), Noting::default());
        assert_eq!(index.asked.believe(AskedTypes::Nowhere), AskedTypes::Nowhere);
        arrive(&index, &late, "a/Below", 1, "a/Middle");
        assert!(arrive(&index, &late, "a/Class", 1, OBJECT).is_empty());
        assert_eq!(index.asked_types(), AskedTypes::Classes);
        assert_eq!(arrive(&index, &late, "a/Middle", 1, "a/Wanted"), ["a/Below of 1"]);
        index.known().note_unasked(b"a/Middle", 1);
        assert!(index.known().is_unasked(b"a/Middle", 1));
        let mut noted = arrive(&index, &late, "a/Wanted", 1, OBJECT);
        noted.sort();
        assert_eq!(noted, ["a/Below of 1", "a/Middle of 1"]);
        assert!(!index.known().is_unasked(b"a/Middle", 1));
    }

    #[test]
    fn whoever_comes_on_another_thread_is_noted_or_sees_the_type() {
        for _ in 0..200 {
            let index = index();
            let start = Barrier::new(2);
            let (seen, noted) = std::thread::scope(|scope| {
                let class = scope.spawn(|| {
                    start.wait();
                    arrive(&index, &Noting::default(), "a/OnItsWay", 1, "a/Wanted");
                    index.asked.believe(AskedTypes::Nowhere)
                });
                start.wait();
                let noted = arrive(&index, &Noting::default(), "a/Wanted", 1, OBJECT);
                (class.join().unwrap(), noted)
            });
            assert!(seen == AskedTypes::Any || noted == ["a/OnItsWay of 1"], "{seen:?} {noted:?}");
        }
    }

    #[test]
    fn a_circle_has_an_end() {
        assert_eq!(sorted(&came(&[("a/A", 1, &["a/B"]), ("a/B", 1, &["a/A"])])), (vec![], vec![]));
    }
}
