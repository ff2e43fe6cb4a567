//! What is known about names of types, by loader.
//!
//! Most classes come, are written down, and nobody ever asks about them: so they are only appended to a journal, and put in their places when
//! somebody asks about any name at all.

use std::sync::Arc;

use instrument_core::selection::Supertypes;
use rustc_hash::{FxHashMap, FxHashSet};

use super::on_their_way::Came;
use super::{BOOT, ClassId, LoaderId};

/// So many loaders with a class of the same name are told apart; of more, the newest. Programs that make loaders all the time would
/// fill the memory otherwise.
pub(super) const MOST_LOADERS: usize = 64;

/// So many absent names are remembered at most.
const MOST_ABSENT: usize = 10_000;

/// So many classes wait for a super type at most.
const MOST_AWAITING: usize = 10_000;

/// So many classes wait for one super type at most: it comes soon after the first of them, or never.
const MOST_FOR_ONE: usize = 64;

/// A journal of this many bytes, some 30,000 classes, is put in its places even if nobody asks: the same classes may come again and again.
const LONGEST_JOURNAL: usize = 4 << 20;

/// A journal that had more bytes than this gives its memory back.
const MOST_KEPT: usize = 1 << 16;

/// All that is known.
#[derive(Debug)]
pub(super) struct Known {
    names: FxHashMap<Box<[u8]>, Candidates>,
    journal: Journal,
    /// Names for which a loader was asked in vain. If such a class turns up after all, those that extend it are decided late.
    absent: FxHashSet<ClassId>,
    /// Super types that have not come, and the classes that must be looked at again when they do.
    awaited: FxHashMap<Box<[u8]>, Vec<ClassId>>,
    /// All classes in [`Self::awaited`].
    awaiting: usize,
    /// How often a name has turned out to mean two types: marks from before may be wrong and count no longer.
    surprises: u32,
    /// What many classes have: Object as the super class and no interface.
    plain: Arc<Supertypes>,
}

/// What is known about a name, by loader; there is hardly ever more than one.
#[derive(Debug)]
struct Candidates {
    first: Candidate,
    others: Vec<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    loader: LoaderId,
    types: Arc<Supertypes>,
    /// [`Known::surprises`] when it was noted that the rules ask for neither the type nor one of its super types.
    unasked_since: Option<u32>,
}

impl Candidates {
    fn iter(&self) -> impl Iterator<Item = &Candidate> {
        std::iter::once(&self.first).chain(&self.others)
    }

    fn of_loader(&mut self, loader: LoaderId) -> Option<&mut Candidate> {
        std::iter::once(&mut self.first).chain(&mut self.others).find(|candidate| candidate.loader == loader)
    }

    fn add(&mut self, candidate: Candidate) {
        if self.others.len() + 1 >= MOST_LOADERS {
            self.others.remove(0);
        }
        self.others.push(candidate);
    }

    /// Forgets loaders that are gone; false if none is left.
    fn forget(&mut self, gone: &FxHashSet<LoaderId>) -> bool {
        self.others.retain(|candidate| !gone.contains(&candidate.loader));
        let first_is_gone = gone.contains(&self.first.loader);
        if first_is_gone && !self.others.is_empty() {
            self.first = self.others.remove(0);
            return true;
        }
        !first_is_gone
    }

    /// What all loaders say, if they agree.
    fn undisputed(&self) -> Option<&Arc<Supertypes>> {
        let first = &self.first.types;
        self.others.iter().all(|other| other.types == *first).then_some(first)
    }
}

/// Classes in the order in which they came.
#[derive(Debug, Default)]
struct Journal {
    /// Of each class its name and those of its super types, a zero, which stands in no name, behind each.
    text: Vec<u8>,
    /// Loader of each class, and where its names end.
    classes: Vec<(LoaderId, usize)>,
}

impl Default for Known {
    fn default() -> Self {
        Known {
            names: FxHashMap::default(),
            journal: Journal::default(),
            absent: FxHashSet::default(),
            awaited: FxHashMap::default(),
            awaiting: 0,
            surprises: 0,
            plain: Arc::new(Supertypes::named([b"java/lang/Object".as_slice()])),
        }
    }
}

impl Known {
    /// Writes a class down, to be known as soon as somebody asks.
    pub(super) fn write_down<'n>(&mut self, name: &'n [u8], loader: LoaderId, types: impl Iterator<Item = &'n [u8]>) {
        let Journal { text, classes } = &mut self.journal;
        for name in std::iter::once(name).chain(types) {
            text.extend_from_slice(name);
            text.push(0);
        }
        classes.push((loader, text.len()));
        if text.len() > LONGEST_JOURNAL {
            self.put_in_places();
        }
    }

    /// Everything that was written down is known from here on.
    pub(super) fn put_in_places(&mut self) {
        if self.journal.classes.is_empty() {
            return;
        }
        let mut journal = std::mem::take(&mut self.journal);
        let mut start = 0;
        for (loader, end) in journal.classes.drain(..) {
            let text = &journal.text;
            let names = text.get(start..end).unwrap_or_default();
            let mut names =
                names.split_inclusive(|byte| *byte == 0).filter_map(<[u8]>::split_last).map(|(_, name)| name);
            if let Some(name) = names.next() {
                self.learn(name, loader, names);
            }
            start = end;
        }
        journal.text.clear();
        if journal.text.capacity() <= MOST_KEPT {
            self.journal = journal;
        }
    }

    /// The super types of a class as this loader sees it.
    pub(super) fn learn<'n>(
        &mut self,
        name: &[u8],
        loader: LoaderId,
        super_types: impl Iterator<Item = &'n [u8]> + Clone,
    ) -> Arc<Supertypes> {
        let Known { names, surprises, plain, .. } = self;
        let make = || match plain.are(super_types.clone()) {
            true => Arc::clone(plain),
            false => Arc::new(Supertypes::named(super_types.clone())),
        };
        let Some(candidates) = names.get_mut(name) else {
            let types = make();
            let first = Candidate { loader, types: Arc::clone(&types), unasked_since: None };
            names.insert(name.into(), Candidates { first, others: Vec::new() });
            return types;
        };
        // Loaders that see the same class share one entry.
        let shared = candidates.iter().find(|candidate| candidate.types.are(super_types.clone()));
        let types = match shared {
            Some(candidate) => Arc::clone(&candidate.types),
            None => {
                *surprises = surprises.wrapping_add(1);
                make()
            }
        };
        match candidates.of_loader(loader) {
            Some(same) if same.types == types => {}
            Some(changed) => {
                *surprises = surprises.wrapping_add(1);
                changed.types = Arc::clone(&types);
            }
            None => candidates.add(Candidate { loader, types: Arc::clone(&types), unasked_since: None }),
        }
        types
    }

    /// What is known of this loader's class of that name.
    pub(super) fn of_loader(&mut self, name: &[u8], loader: LoaderId) -> Option<Arc<Supertypes>> {
        self.names.get_mut(name)?.of_loader(loader).map(|candidate| Arc::clone(&candidate.types))
    }

    /// What all loaders that know a class of this name say, if they agree.
    pub(super) fn undisputed(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
        self.names.get(name)?.undisputed().map(Arc::clone)
    }

    /// What any loader says.
    pub(super) fn of_all_loaders(&self, name: &[u8]) -> Vec<Arc<Supertypes>> {
        self.names.get(name).map_or_else(Vec::new, |known| known.iter().map(|one| Arc::clone(&one.types)).collect())
    }

    /// All classes of all loaders.
    pub(super) fn all(&self) -> Vec<Came> {
        let one = |name: &[u8], known: &Candidate| Came {
            class: (name.into(), known.loader),
            types: Arc::clone(&known.types),
        };
        self.names.iter().flat_map(|(name, known)| known.iter().map(move |known| one(name, known))).collect()
    }

    /// Whether classes wait for a type of this name.
    #[inline]
    pub(super) fn is_awaited(&self, name: &[u8]) -> bool {
        !self.awaited.is_empty() && self.awaited.contains_key(name)
    }

    /// Has a class wait for a type that nobody has seen; false if somebody has, or if too many are waiting.
    pub(super) fn await_new(&mut self, name: &[u8], class: (&[u8], LoaderId)) -> bool {
        let waiting = self.awaited.get(name).map_or(0, Vec::len);
        !self.names.contains_key(name) && waiting < MOST_FOR_ONE && self.await_once(name, class)
    }

    /// Has a class wait for a type; false if too many are waiting.
    pub(super) fn await_once(&mut self, name: &[u8], class: (&[u8], LoaderId)) -> bool {
        let waiting = self.awaited.get_mut(name);
        let known = waiting.as_deref().map_or(&[][..], Vec::as_slice);
        if known.iter().any(|known| *known.0 == *class.0 && known.1 == class.1) {
            return true;
        }
        if self.awaiting >= MOST_AWAITING {
            return false;
        }
        self.awaiting += 1;
        let class: ClassId = (class.0.into(), class.1);
        match waiting {
            Some(waiting) => waiting.push(class),
            None => _ = self.awaited.insert(name.into(), vec![class]),
        }
        true
    }

    /// The classes of this loader that wait for a type of this name; they do not any more.
    pub(super) fn take_awaiting_of(&mut self, name: &[u8], loader: LoaderId) -> Vec<ClassId> {
        self.take_awaiting(name, |class| class.1 == loader)
    }

    /// The same of all other loaders.
    pub(super) fn take_awaiting_elsewhere(&mut self, name: &[u8], loader: LoaderId) -> Vec<ClassId> {
        self.take_awaiting(name, |class| class.1 != loader)
    }

    fn take_awaiting(&mut self, name: &[u8], is_meant: impl Fn(&ClassId) -> bool) -> Vec<ClassId> {
        let Some(waiting) = self.awaited.get_mut(name) else { return Vec::new() };
        let taken: Vec<ClassId> = waiting.extract_if(.., |class| is_meant(class)).collect();
        if waiting.is_empty() {
            self.awaited.remove(name);
        }
        self.awaiting -= taken.len();
        taken
    }

    /// Notes that the loader has no class file of this name.
    pub(super) fn note_absent(&mut self, name: &[u8], loader: LoaderId) {
        if self.absent.len() < MOST_ABSENT {
            self.absent.insert((name.into(), loader));
        }
    }

    pub(super) fn is_absent(&self, name: &[u8], loader: LoaderId) -> bool {
        self.absent.contains(&(name.into(), loader))
    }

    /// Notes that the rules ask for neither this type, as this loader sees it, nor one of its super types.
    pub(super) fn note_unasked(&mut self, name: &[u8], loader: LoaderId) {
        let Known { names, surprises, .. } = self;
        let Some(candidates) = names.get_mut(name) else { return };
        let unasked_since = Some(*surprises);
        let asked = if candidates.of_loader(loader).is_some() { loader } else { BOOT };
        if let Some(candidate) = candidates.of_loader(asked) {
            candidate.unasked_since = unasked_since;
        } else if let Some(types) = candidates.undisputed().map(Arc::clone) {
            candidates.add(Candidate { loader, types, unasked_since });
        }
    }

    /// Whether that was noted and still holds.
    pub(super) fn is_unasked(&mut self, name: &[u8], loader: LoaderId) -> bool {
        let Known { names, surprises, .. } = self;
        let Some(candidates) = names.get_mut(name) else { return false };
        let asked = if candidates.of_loader(loader).is_some() { loader } else { BOOT };
        candidates.of_loader(asked).is_some_and(|candidate| candidate.unasked_since == Some(*surprises))
    }

    /// Forgets the classes of loaders that are gone.
    pub(super) fn forget(&mut self, gone: &FxHashSet<LoaderId>) {
        self.names.retain(|_, candidates| candidates.forget(gone));
        self.absent.retain(|(_, loader)| !gone.contains(loader));
        self.awaited.retain(|_, waiting| {
            waiting.retain(|(_, loader)| !gone.contains(loader));
            !waiting.is_empty()
        });
        self.awaiting = self.awaited.values().map(Vec::len).sum();
    }

    /// How many names are known.
    pub(super) fn size(&self) -> usize {
        self.names.len()
    }

    /// None of these marks holds any longer.
    pub(super) fn forget_marks(&mut self) {
        self.surprises = self.surprises.wrapping_add(1);
    }

    /// How many loaders are told apart that have a class of this name.
    #[cfg(test)]
    pub(super) fn loaders_of(&self, name: &[u8]) -> usize {
        self.names.get(name).map_or(0, |candidates| candidates.iter().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(known: &mut Known, name: &str, loader: LoaderId, super_class: &str) {
        known.learn(name.as_bytes(), loader, [super_class.as_bytes()].into_iter());
    }

    fn types(super_class: &str) -> Supertypes {
        Supertypes::named([super_class.as_bytes()])
    }

    #[test]
    fn each_loader_has_its_own_answer_and_a_disputed_name_has_none() {
        let mut known = Known::default();
        learn(&mut known, "a/C", 1, "a/X");
        assert_eq!(known.undisputed(b"a/C").as_deref(), Some(&types("a/X")));
        learn(&mut known, "a/C", 2, "a/Y");
        assert_eq!(known.of_loader(b"a/C", 2).as_deref(), Some(&types("a/Y")));
        assert_eq!(known.of_loader(b"a/C", 3), None);
        assert_eq!(known.undisputed(b"a/C"), None);
    }

    #[test]
    fn loaders_that_come_and_go_leave_a_bounded_number_of_answers() {
        let mut known = Known::default();
        (1..=1_000).for_each(|loader| learn(&mut known, "a/C", loader, "a/X"));
        assert_eq!(known.loaders_of(b"a/C"), MOST_LOADERS);
        assert_eq!(known.of_loader(b"a/C", 1_000).as_deref(), Some(&types("a/X")));
        assert_eq!(known.undisputed(b"a/C").as_deref(), Some(&types("a/X")), "for those that were forgotten");
    }

    #[test]
    fn a_class_that_is_defined_again_replaces_what_was_known() {
        let mut known = Known::default();
        learn(&mut known, "a/C", 1, "a/X");
        learn(&mut known, "a/C", 1, "a/Y");
        assert_eq!(known.undisputed(b"a/C").as_deref(), Some(&types("a/Y")));
    }

    #[test]
    fn a_mark_holds_for_its_loader_until_a_name_means_two_types() {
        let mut known = Known::default();
        learn(&mut known, "a/C", 1, "a/X");
        assert!(!known.is_unasked(b"a/C", 1));
        known.note_unasked(b"a/C", 1);
        assert!(known.is_unasked(b"a/C", 1) && !known.is_unasked(b"a/C", 2));
        // As another loader sees it, when nobody disagrees.
        known.note_unasked(b"a/C", 2);
        assert!(known.is_unasked(b"a/C", 2));
        learn(&mut known, "a/D", 1, "a/X");
        learn(&mut known, "a/C", 1, "a/X");
        assert!(known.is_unasked(b"a/C", 1), "nothing new was learnt");
        learn(&mut known, "a/D", 2, "a/Y");
        assert!(!known.is_unasked(b"a/C", 1) && !known.is_unasked(b"a/C", 2), "a/D may be one of its super types");
    }

    #[test]
    fn a_mark_on_a_class_of_the_jdk_holds_for_loaders_without_their_own() {
        let mut known = Known::default();
        learn(&mut known, "j/C", BOOT, "j/X");
        known.note_unasked(b"j/C", 1);
        assert!(known.is_unasked(b"j/C", 1) && known.is_unasked(b"j/C", BOOT) && known.is_unasked(b"j/C", 2));
        learn(&mut known, "j/C", 2, "j/X");
        assert!(!known.is_unasked(b"j/C", 2), "its own class of that name is not known to be unasked");
    }

    #[test]
    fn what_is_written_down_is_known_once_somebody_asks() {
        let mut known = Known::default();
        let names = |names: &'static [&'static str]| names.iter().map(|name| name.as_bytes());
        known.write_down(b"a/C", 1, names(&["a/X", "a/I", "a/J"]));
        known.write_down(b"a/Root", 1, names(&[]));
        known.write_down(b"a/C", 2, names(&["a/Y"]));
        known.put_in_places();
        assert_eq!(known.of_loader(b"a/C", 1).as_deref(), Some(&Supertypes::named(names(&["a/X", "a/I", "a/J"]))));
        assert_eq!(known.of_loader(b"a/Root", 1).as_deref(), Some(&Supertypes::default()));
        // The later one counts.
        known.write_down(b"a/C", 2, names(&["a/Z"]));
        known.put_in_places();
        assert_eq!(known.of_loader(b"a/C", 2).as_deref(), Some(&types("a/Z")));
        assert_eq!(known.all().len(), 3);
    }

    #[test]
    fn the_journal_is_bounded_whoever_asks() {
        let mut known = Known::default();
        let name = vec![b'x'; 1000];
        for _ in 0..2 * LONGEST_JOURNAL / name.len() {
            known.write_down(&name, 1, [b"a/X".as_slice()].into_iter());
            assert!(known.journal.text.len() <= LONGEST_JOURNAL);
        }
        assert_eq!(known.of_loader(&name, 1).as_deref(), Some(&types("a/X")));
        known.put_in_places();
        assert!(known.journal.text.capacity() <= MOST_KEPT);
    }

    #[test]
    fn what_a_loader_had_is_forgotten_with_it() {
        let mut known = Known::default();
        [1, 2, 3].into_iter().for_each(|loader| learn(&mut known, "a/C", loader, "a/X"));
        learn(&mut known, "a/D", 1, "a/X");
        known.note_absent(b"a/E", 2);
        assert!(known.await_once(b"a/Z", (b"a/C", 1)) && known.await_once(b"a/Z", (b"a/C", 3)));
        known.forget(&FxHashSet::from_iter([1, 2]));
        assert_eq!((known.size(), known.loaders_of(b"a/C"), known.awaiting), (1, 1, 1));
        assert!(known.of_loader(b"a/C", 3).is_some() && known.of_loader(b"a/C", 1).is_none());
        assert!(!known.is_absent(b"a/E", 2));
        known.forget(&FxHashSet::from_iter([3]));
        assert!(known.size() == 0 && !known.is_awaited(b"a/Z"));
    }

    #[test]
    fn classes_wait_for_a_type_until_it_comes() {
        let mut known = Known::default();
        assert!(known.await_once(b"a/Z", (b"a/X", 1)) && known.await_once(b"a/Z", (b"a/Y", 1)));
        assert!(known.await_once(b"a/Z", (b"a/Y", 2)));
        assert!(known.is_awaited(b"a/Z") && !known.is_awaited(b"a/X"));
        assert_eq!(known.take_awaiting_elsewhere(b"a/Z", 1).len(), 1);
        assert!(known.is_awaited(b"a/Z"));
        assert_eq!(known.take_awaiting_of(b"a/Z", 1).len(), 2);
        assert!(!known.is_awaited(b"a/Z") && known.take_awaiting_of(b"a/Z", 1).is_empty());
        assert_eq!(known.awaiting, 0);
    }

    #[test]
    fn nobody_waits_for_a_type_that_was_seen_nor_twice_nor_without_end() {
        let mut known = Known::default();
        learn(&mut known, "a/Seen", 2, "a/X");
        assert!(!known.await_new(b"a/Seen", (b"a/C", 1)), "another loader may have given it to this one");
        assert!(known.await_new(b"a/Z", (b"a/C", 1)) && known.await_new(b"a/Z", (b"a/C", 1)));
        assert!(known.await_new(b"a/Z", (b"a/C", 2)));
        assert_eq!(known.take_awaiting(b"a/Z", |_| true).len(), 2);
        let most = LoaderId::try_from(MOST_FOR_ONE).unwrap();
        assert!((0..most).all(|loader| known.await_new(b"a/Z", (b"a/C", loader))));
        assert!(!known.await_new(b"a/Z", (b"a/C", most)));
        let taken = (0..2 * MOST_AWAITING).filter(|number| known.await_new(&number.to_be_bytes(), (b"a/D", 1))).count();
        assert_eq!(taken, MOST_AWAITING - MOST_FOR_ONE);
    }
}
