//! Classes that were left alone although they may be below a type that a rule asks for: because no such type had been seen, or because a super
//! type of theirs had not.
//!
//! The JVM shows a class first and its super types, as far as they are new, directly afterwards. So when the first type is seen that a rule asks
//! for, the definition of classes below it may be in progress: their super types are known by now, or not seen yet either. All other classes
//! that were seen before are complete, and so are their super types. From then on, each class with a super type that has not been seen waits for
//! that type, and is decided when it is seen.

use std::sync::Arc;

use instrument_core::selection::{AskedTypes, Supertypes};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use super::class_id::ClassId;
use super::on_their_way::{Sorted, sort_out};
use super::{LoaderId, TypeIndex};

/// Takes classes that must be looked at once more when they are linked.
pub(crate) trait Latecomers {
    /// Leaves only the classes that the JVM has not loaded completely.
    fn keep_unfinished(&self, classes: &mut FxHashSet<ClassId>);

    /// Has the class presented to the hook again.
    fn note(&self, class: &ClassId);

    /// Has the class presented to the hook again if it turns out to be below a type that rules ask for.
    fn note_doubtful(&self, class: &ClassId);
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
    /// Handles a type that rules ask for or classes wait for.
    #[cold]
    pub(super) fn look_again(&self, index: &TypeIndex, (name, loader): (&[u8], LoaderId), late: &dyn Latecomers) {
        // The same type of another loader waits here: it must not be defined before the classes are noted that are below it.
        let mut found_for = self.found_for.lock();
        if let Some(now) = index.asked.newly_seen(*found_for) {
            find_overlooked(index, index.asked.is_first(*found_for), late);
            *found_for = now;
        }
        let others = index.known().take_awaiting_elsewhere(name, loader);
        doubt(index, others, late);
        settle(index, name, loader, late);
    }
}

/// Notes classes of which only the JVM knows whether they get the type of another loader, or one of the same name from their own.
fn doubt(index: &TypeIndex, mut classes: Vec<ClassId>, late: &dyn Latecomers) {
    while let Some(class) = classes.pop() {
        late.note_doubtful(&class);
        classes.extend(index.known().take_awaiting_of(&class.0, class.1));
    }
}

/// Decides about the classes that wait for this type, and about those that wait for them, as far as that is known by now.
fn settle(index: &TypeIndex, name: &[u8], loader: LoaderId, late: &dyn Latecomers) {
    let mut pending: Vec<Box<[u8]>> = vec![name.into()];
    while let Some(name) = pending.pop() {
        if !index.known().is_awaited(&name) {
            continue;
        }
        let above = above(index, &name, loader);
        let is_below = above.is_below || index.asked.is_asked(&name);
        if !is_below && !above.missing.is_empty() {
            // The type waits itself, and all that wait for it with it.
            if !await_all(index, &above.missing, (&name, loader)) {
                let classes = index.known().take_awaiting_of(&name, loader);
                doubt(index, classes, late);
            }
            continue;
        }
        let classes = {
            let mut known = index.known();
            if !is_below {
                known.note_unasked(&name, loader);
            }
            known.take_awaiting_of(&name, loader)
        };
        for (class, _) in classes.into_iter().inspect(|class| tell(index, is_below, class, late)) {
            pending.push(class);
        }
    }
}

fn tell(index: &TypeIndex, is_below: bool, class: &ClassId, late: &dyn Latecomers) {
    if is_below {
        late.note(class);
        index.experience.note_wanted();
    }
}

/// Has the class wait for all these types; returns false if it cannot: one has been seen meanwhile, on another thread, or there is no room.
fn await_all(index: &TypeIndex, types: &[Box<[u8]>], class: (&[u8], LoaderId)) -> bool {
    let mut known = index.known();
    types.iter().all(|name| known.of_loader(name, class.1).is_none() && known.await_once(name, class))
}

/// What is known to be above a class.
#[derive(Debug, Default)]
pub(super) struct Above {
    /// Perhaps a type that a rule asks for.
    pub(super) is_below: bool,
    /// Types that the loader is not known to have.
    pub(super) missing: Vec<Box<[u8]>>,
}

pub(super) fn above(index: &TypeIndex, name: &[u8], loader: LoaderId) -> Above {
    let mut found = Above::default();
    let mut pending: Vec<Arc<Supertypes>> = index.of_loader(name, loader).into_iter().collect();
    let mut seen: FxHashSet<Box<[u8]>> = FxHashSet::default();
    while let Some(types) = pending.pop() {
        for name in types.names() {
            if name == b"java/lang/Object" || !seen.insert(name.into()) {
                continue;
            }
            if index.asked.is_asked(name) {
                found.is_below = true;
                return found;
            }
            if index.known().is_unasked(name, loader) {
                continue;
            }
            match index.of_loader(name, loader).or_else(|| index.of_jdk(name)) {
                Some(own) => pending.push(own),
                None => {
                    found.missing.push(name.into());
                    // Whose class it will be is for the JVM to say.
                    pending.extend(index.known().of_all_loaders(name));
                }
            }
        }
    }
    found
}

fn find_overlooked(index: &TypeIndex, is_first: bool, late: &dyn Latecomers) {
    let came = index.known().all();
    let is_asked = |name: &[u8]| index.asked.is_asked(name);
    let is_in_jdk = |name: &[u8]| index.of_jdk(name).is_some();
    let Sorted { below, unsure, is_disputed } = sort_out(&came, is_asked, is_in_jdk);
    // Where nothing was asked for so far, nothing that is below it can be complete, nor what has a super type that nobody has seen.
    let may_be_complete = !is_first || is_disputed || unsure.iter().any(|(name, _)| !index.asked.may_still_come(name));
    let mut unfinished: FxHashSet<ClassId> = FxHashSet::default();
    if may_be_complete {
        unfinished.extend(below.iter().chain(unsure.iter().map(|(_, class)| class)).cloned());
        late.keep_unfinished(&mut unfinished);
    }
    let is_unfinished = |class: &ClassId| !may_be_complete || unfinished.contains(class);
    tracing::debug!(
        came = came.len(),
        below = below.len(),
        unsure = unsure.len(),
        "a type that rules ask for has come"
    );
    below.iter().filter(|class| is_unfinished(class)).for_each(|class| late.note(class));
    let mut known = index.known();
    known.forget_marks();
    let mut come_meanwhile = Vec::new();
    for (super_type, class) in unsure.into_iter().filter(|(_, class)| is_unfinished(class)) {
        match known.of_loader(&super_type, class.1) {
            Some(_) => come_meanwhile.push(class),
            None => _ = known.await_once(&super_type, (&class.0, class.1)),
        }
    }
    drop(known);
    come_meanwhile.iter().for_each(|class| late.note_doubtful(class));
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::PathBuf;
    use std::sync::Barrier;

    use super::super::BOOT;
    use super::super::asked::Asked;
    use super::*;

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

        fn note_doubtful(&self, (name, loader): &ClassId) {
            self.noted.borrow_mut().push(format!("perhaps {} of {loader}", String::from_utf8_lossy(name)));
        }
    }

    /// Rules ask for `a/Wanted` and `a/Class`, which the JDK does not have.
    fn index() -> TypeIndex {
        let asked = Asked::new([b"a/Wanted".as_slice(), b"a/Class"].into_iter(), true);
        asked.all_loaded_are_noted();
        assert_eq!(asked.in_jdk(|_| true), AskedTypes::Nowhere);
        TypeIndex::asking(PathBuf::from("/nowhere"), asked, Arc::default())
    }

    fn arrive(index: &TypeIndex, late: &Noting, name: &str, loader: LoaderId, super_type: &str) -> Vec<String> {
        let is_interface = name == "a/Wanted";
        index.arrive((name.as_bytes(), loader), is_interface, [super_type.as_bytes()].into_iter(), late);
        late.noted.take()
    }

    const OBJECT: &str = "java/lang/Object";

    #[test]
    fn a_type_that_comes_up_brings_back_the_classes_on_their_way() {
        let (index, late) = (index(), Noting::default());
        assert_eq!(index.asked.believe(AskedTypes::Nowhere), AskedTypes::Nowhere);
        assert!(arrive(&index, &late, "a/Far", 1, "a/Near").is_empty());
        assert!(arrive(&index, &late, "a/Near", 1, "a/Wanted").is_empty());
        assert!(arrive(&index, &late, "a/Other", 1, OBJECT).is_empty());
        let mut noted = arrive(&index, &late, "a/Wanted", 1, OBJECT);
        noted.sort();
        assert_eq!(noted, ["a/Far of 1", "a/Near of 1"]);
        assert!(arrive(&index, &late, "a/Wanted", 2, OBJECT).is_empty(), "from now on nobody is left alone");
    }

    #[test]
    fn of_the_classes_below_a_second_type_those_that_are_complete_stay() {
        let (index, late) = (index(), Noting { loaded: vec!["a/Loaded"], ..Noting::default() });
        assert_eq!(index.asked.believe(AskedTypes::Nowhere), AskedTypes::Nowhere);
        arrive(&index, &late, "a/Loaded", 1, "a/Class");
        assert_eq!(arrive(&index, &late, "a/Class", 1, OBJECT), ["a/Loaded of 1"]);
        assert_eq!(index.asked.believe(AskedTypes::Nowhere), AskedTypes::Classes);
        arrive(&index, &late, "a/OnItsWay", 1, "a/Wanted");
        assert_eq!(arrive(&index, &late, "a/Wanted", 1, OBJECT), ["a/OnItsWay of 1"]);
    }

    #[test]
    fn a_class_with_an_unseen_super_type_comes_back_when_that_is_seen() {
        let (index, late) = (index(), Noting::default());
        assert_eq!(index.asked.believe(AskedTypes::Nowhere), AskedTypes::Nowhere);
        arrive(&index, &late, "a/OnItsWay", 1, "a/Unseen");
        arrive(&index, &late, "a/Below", 1, "a/OnItsWay");
        arrive(&index, &late, "a/Harmless", 1, "a/Plain");
        assert!(arrive(&index, &late, "a/Wanted", 1, OBJECT).is_empty());
        assert!(arrive(&index, &late, "a/Plain", 1, OBJECT).is_empty());
        let mut noted = arrive(&index, &late, "a/Unseen", 1, "a/Wanted");
        noted.sort();
        assert_eq!(noted, ["a/Below of 1", "a/OnItsWay of 1"]);
        assert!(arrive(&index, &late, "a/Unseen", 2, OBJECT).is_empty());
    }

    /// Returns an index in which the wanted type has been seen.
    fn index_with_wanted(late: &Noting) -> TypeIndex {
        let index = index();
        index.asked.believe(AskedTypes::Nowhere);
        arrive(&index, late, "a/Wanted", 1, OBJECT);
        index
    }

    fn postpone(index: &TypeIndex, super_type: &str, class: &str) -> bool {
        index.postpone(super_type.as_bytes(), (class.as_bytes(), 1), || true)
    }

    #[test]
    fn a_class_waits_through_a_chain_of_unseen_super_types() {
        let late = Noting::default();
        let index = index_with_wanted(&late);
        for (class, super_type) in [("a/A", "a/B"), ("a/B", "a/C")] {
            assert!(arrive(&index, &late, class, 1, super_type).is_empty());
            assert!(postpone(&index, super_type, class));
        }
        let mut noted = arrive(&index, &late, "a/C", 1, "a/Wanted");
        noted.sort();
        assert_eq!(noted, ["a/A of 1", "a/B of 1"]);
        assert!(!postpone(&index, "a/C", "a/D"), "it has been seen");
        assert!(postpone(&index, "a/E", "a/D") && postpone(&index, "a/F", "a/D"));
        assert!(arrive(&index, &late, "a/E", 1, OBJECT).is_empty());
        assert_eq!(arrive(&index, &late, "a/F", 1, "a/A"), ["a/D of 1"]);
    }

    #[test]
    fn whose_super_type_it_is_that_comes_to_another_loader_is_told_by_the_jvm() {
        let late = Noting::default();
        let index = index_with_wanted(&late);
        assert!(postpone(&index, "a/B", "a/A"));
        assert_eq!(arrive(&index, &late, "a/B", 2, OBJECT), ["perhaps a/A of 1"]);
        assert!(!index.is_below_asked(b"a/A", 1));
        index.learn_loaded(b"a/B", 1, [b"a/Wanted".as_slice()].into_iter());
        index.learn_loaded(b"a/A", 1, [b"a/B".as_slice()].into_iter());
        assert!(index.is_below_asked(b"a/A", 1));
    }

    #[test]
    fn circles_and_classes_that_come_twice_have_an_end() {
        let late = Noting::default();
        let index = index_with_wanted(&late);
        arrive(&index, &late, "a/A", 1, "a/B");
        assert!(postpone(&index, "a/B", "a/A") && postpone(&index, "a/B", "a/A"));
        assert!(arrive(&index, &late, "a/B", 1, "a/A").is_empty());
        assert!(!index.known().is_awaited(b"a/B") && !index.known().is_awaited(b"a/A"));
    }

    #[test]
    fn nobody_waits_any_more_when_all_super_types_have_come() {
        let late = Noting::default();
        let index = index_with_wanted(&late);
        // Each has the next three above it, so there are many ways from the first to the last.
        let name = |number: usize| format!("a/Trait{number}");
        for number in 0..40 {
            let above: Vec<String> = (number + 1..number + 4).map(name).collect();
            let types = above.iter().map(String::as_bytes);
            index.arrive((name(number).as_bytes(), 1), true, types, &late);
            above.iter().for_each(|above| assert!(postpone(&index, above, &name(number))));
        }
        (40..43).for_each(|number| {
            index.arrive((name(number).as_bytes(), 1), true, [OBJECT.as_bytes()].into_iter(), &late)
        });
        assert!(late.noted.take().is_empty());
        assert!((0..50).all(|number| !index.known().is_awaited(name(number).as_bytes())));
        assert!(index.known().is_unasked(name(1).as_bytes(), 1));
    }

    #[test]
    fn who_cannot_come_again_does_not_wait_nor_anybody_if_many_are_wanted() {
        let late = Noting::default();
        let index = index_with_wanted(&late);
        assert!(!index.postpone(b"a/B", (b"a/A", 1), || false));
        assert!(!index.postpone(b"a/B", (b"a/A", BOOT), || true));
        index.asked.note_loaded(b"a/Before", || false);
        assert!(!postpone(&index, "a/Before", "a/A"), "it does not come any more");
        for number in 0..4 {
            let (class, super_type) = (format!("b/Class{number}"), format!("b/Base{number}"));
            index.experience.note_class();
            assert!(postpone(&index, &super_type, &class));
            assert_eq!(arrive(&index, &late, &super_type, 1, "a/Wanted").len(), 1);
        }
        assert!(!postpone(&index, "a/B", "a/A"));
    }

    #[test]
    fn a_class_that_waits_on_another_thread_is_noted_or_sees_its_super_type() {
        for _ in 0..200 {
            let late = Noting::default();
            let index = index_with_wanted(&late);
            let start = Barrier::new(2);
            let (waits, noted) = std::thread::scope(|scope| {
                let class = scope.spawn(|| {
                    start.wait();
                    arrive(&index, &Noting::default(), "a/A", 1, "a/B");
                    postpone(&index, "a/B", "a/A")
                });
                start.wait();
                let noted = arrive(&index, &Noting::default(), "a/B", 1, "a/Wanted");
                (class.join().unwrap(), noted)
            });
            assert_eq!(waits, noted == ["a/A of 1"], "{noted:?}");
        }
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
}
