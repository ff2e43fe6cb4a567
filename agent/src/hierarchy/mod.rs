//! Super types without loading a class.
//!
//! A question is answered, in this order, by
//! 1. what the class hook saw the same loader define;
//! 2. the JDK's run-time image (for names that the image has);
//! 3. for the application's own loader and for URL class loaders: the jars and directories of the class path, read natively;
//! 4. what the hook saw other loaders define, if they all agree;
//! 5. the loader's resources, over JNI, never from inside another such question;
//! 6. nobody: [`LateDecisions`](crate::late_decisions) asks again when the class is linked.
//!
//! Most questions are not asked at all: a type whose whole ancestry holds nothing that a rule asks for is marked so, and the next
//! class that extends it needs one look. And a question that would have to be answered from a class file (3. to 6.) is only asked if the
//! answer can lead to a type that a rule asks for: not where no such type exists, nor about interfaces where only classes do ([`asked`]).
//!
//! A loader is identified by the identity hash of its object: two loaders with the same hash that both define a class of the
//! same name with different super types would be confused, which costs at worst a probe too many or too few.

mod asked;
mod loader_view;
mod native_paths;

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use class_source::JdkImage;
use classfile::{ClassHead, HeadMemory};
use instrument_core::selection::{AskedTypes, Supertypes};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use asked::Asked;
pub(crate) use loader_view::LoaderView;
use native_paths::NativePaths;

use crate::jvm::Jni;
use crate::thread_memory::with_memory;

/// Identity of a class loader; 0 is the boot loader.
pub(crate) type LoaderId = i32;

/// The boot loader.
pub(crate) const BOOT: LoaderId = 0;

/// So many loaders with a class of the same name are told apart; of more, the newest. Programs that make loaders all the time would
/// fill the memory otherwise.
const MOST_LOADERS: usize = 64;

/// So many absent names are remembered at most.
const MOST_ABSENT: usize = 10_000;

thread_local! {
    /// Memory for reading the heads of super types, while that of the class itself is in use.
    static HEAD: RefCell<HeadMemory> = RefCell::new(HeadMemory::default());
}

/// All super types learnt so far.
#[derive(Debug)]
pub(crate) struct TypeIndex {
    java_home: PathBuf,
    image: OnceLock<Option<JdkImage>>,
    paths: NativePaths,
    asked: Asked,
    known: Mutex<Known>,
    /// What many classes have: Object as the super class and no interface.
    plain: Arc<Supertypes>,
}

#[derive(Debug, Default)]
struct Known {
    names: FxHashMap<Box<[u8]>, Candidates>,
    /// Names for which a loader was asked in vain. If such a class turns up after all, those that extend it are decided late.
    absent: FxHashSet<(LoaderId, Box<[u8]>)>,
    /// How often a name has turned out to mean two types: marks from before may be wrong and count no longer.
    surprises: u32,
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

    /// What all loaders say, if they agree.
    fn undisputed(&self) -> Option<&Arc<Supertypes>> {
        let first = &self.first.types;
        self.others.iter().all(|other| other.types == *first).then_some(first)
    }
}

impl TypeIndex {
    /// An empty index over the JDK at `java_home`, whose image is opened when it is first needed, for a JVM that was started then or later
    /// and rules that ask for these types.
    pub(crate) fn new<'n>(java_home: PathBuf, started: SystemTime, asked: impl Iterator<Item = &'n [u8]>) -> TypeIndex {
        TypeIndex {
            java_home,
            image: OnceLock::new(),
            paths: NativePaths::new(started),
            asked: Asked::new(asked),
            known: Mutex::new(Known::default()),
            plain: Arc::new(Supertypes::named([b"java/lang/Object".as_slice()])),
        }
    }

    /// Notes the super types of a class that this loader defines or sees: their names, the super class first. What may be an interface or
    /// not is an interface.
    pub(crate) fn learn<'n>(
        &self,
        name: &[u8],
        loader: LoaderId,
        is_interface: bool,
        super_types: impl Iterator<Item = &'n [u8]> + Clone,
    ) -> Arc<Supertypes> {
        self.asked.note(name, is_interface);
        self.share(name, loader, super_types)
    }

    /// Notes the super types of a class that was learnt before, as another loader sees it.
    fn share<'n>(
        &self,
        name: &[u8],
        loader: LoaderId,
        super_types: impl Iterator<Item = &'n [u8]> + Clone,
    ) -> Arc<Supertypes> {
        let mut known = self.known.lock();
        let Known { names, surprises, .. } = &mut *known;
        let Some(candidates) = names.get_mut(name) else {
            let types = self.supertypes(super_types);
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
                self.supertypes(super_types)
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

    fn supertypes<'n>(&self, names: impl Iterator<Item = &'n [u8]> + Clone) -> Arc<Supertypes> {
        if self.plain.are(names.clone()) { Arc::clone(&self.plain) } else { Arc::new(Supertypes::named(names)) }
    }

    /// What the hook saw this loader define, or what was found out for it.
    fn of_loader(&self, name: &[u8], loader: LoaderId) -> Option<Arc<Supertypes>> {
        let mut known = self.known.lock();
        known.names.get_mut(name)?.of_loader(loader).map(|candidate| Arc::clone(&candidate.types))
    }

    /// What all loaders that know a class of this name say, if they agree.
    fn undisputed(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
        self.known.lock().names.get(name)?.undisputed().map(Arc::clone)
    }

    /// Notes that the loader has no class file of this name.
    fn note_absent(&self, name: &[u8], loader: LoaderId) {
        let absent = &mut self.known.lock().absent;
        if absent.len() < MOST_ABSENT {
            absent.insert((loader, name.into()));
        }
    }

    fn is_absent(&self, name: &[u8], loader: LoaderId) -> bool {
        self.known.lock().absent.contains(&(loader, name.into()))
    }

    /// Notes that the rules ask for neither this type, as this loader sees it, nor one of its super types.
    fn note_unasked(&self, name: &[u8], loader: LoaderId) {
        let mut known = self.known.lock();
        let Known { names, surprises, .. } = &mut *known;
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
    fn is_unasked(&self, name: &[u8], loader: LoaderId) -> bool {
        let mut known = self.known.lock();
        let Known { names, surprises, .. } = &mut *known;
        let Some(candidates) = names.get_mut(name) else { return false };
        let asked = if candidates.of_loader(loader).is_some() { loader } else { BOOT };
        candidates.of_loader(asked).is_some_and(|candidate| candidate.unasked_since == Some(*surprises))
    }

    /// The super types of a class of the JDK.
    fn of_jdk(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
        if let Some(known) = self.of_loader(name, BOOT) {
            return Some(known);
        }
        let bytes = self.jdk_class(name)?;
        self.learn_from(name, BOOT, &bytes)
    }

    /// Notes the super types of the class in these bytes, if it has this name.
    fn learn_from(&self, name: &[u8], loader: LoaderId, class: &[u8]) -> Option<Arc<Supertypes>> {
        with_memory(&HEAD, |memory| {
            let head = ClassHead::read(class, memory, |_| {}).ok()?;
            if head.this_class().as_bytes() != name {
                return None;
            }
            let super_types = head.super_class().into_iter().chain(head.interfaces()).map(|name| name.0);
            Some(self.learn(name, loader, head.is_interface(), super_types))
        })
    }

    /// Notes a class that the JVM had loaded before the class hook was on.
    pub(crate) fn note_loaded(&self, name: &[u8]) {
        self.asked.note_loaded(name, || self.of_jdk(name).is_some());
    }

    /// All of them are noted.
    pub(crate) fn all_loaded_are_noted(&self) {
        self.asked.all_loaded_are_noted();
    }

    /// Which of the types that rules ask for are known to exist, in the JDK or elsewhere.
    fn asked_types(&self) -> AskedTypes {
        match self.asked.seen() {
            AskedTypes::Any => AskedTypes::Any,
            _ => self.asked.in_jdk(|name| self.of_jdk(name).is_some() || !self.is_in_jdk_package(name)),
        }
    }

    /// Whether some module of the JDK has the package of this class, as far as the JDK can be read.
    fn is_in_jdk_package(&self, name: &[u8]) -> bool {
        self.image().is_none_or(|image| image.has_package_of(name).unwrap_or(true))
    }

    /// Closes what is held open.
    pub(crate) fn close(&self, jni: &Jni<'_>) {
        self.paths.close(jni);
    }

    fn image(&self) -> Option<&JdkImage> {
        let open = || {
            let opened = JdkImage::open(&self.java_home);
            opened.inspect_err(|error| tracing::warn!(%error, "the JDK's classes cannot be read")).ok()
        };
        self.image.get_or_init(open).as_ref()
    }

    /// The module of a class of the JDK, by its internal name; the image is not opened for the names of an application.
    pub(crate) fn jdk_module(&self, name: &str) -> Option<String> {
        const PREFIXES: [&str; 8] =
            ["java/", "javax/", "jdk/", "sun/", "com/sun/", "org/xml/sax/", "org/w3c/dom/", "org/ietf/jgss/"];
        if !PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            return None;
        }
        // A class that the JVM has made (`Shop$$Lambda`) stands in no image, but the one that it was made for does.
        let shipped = name.split("$$").next().unwrap_or(name);
        self.image()?.module_of(shipped).ok().flatten().map(str::to_owned)
    }

    /// The class file of a class of the JDK, as it was shipped.
    pub(crate) fn jdk_class(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.image()?
            .find(name)
            .inspect_err(|error| tracing::warn!(%error, "a class of the JDK cannot be read"))
            .ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(index: &TypeIndex, name: &str, loader: LoaderId, super_class: &str) {
        index.learn(name.as_bytes(), loader, false, [super_class.as_bytes()].into_iter());
    }

    fn types(super_class: &str) -> Supertypes {
        Supertypes::named([super_class.as_bytes()])
    }

    fn index() -> TypeIndex {
        TypeIndex::new(PathBuf::from("/nowhere"), SystemTime::now(), std::iter::empty())
    }

    #[test]
    fn each_loader_has_its_own_answer_and_a_disputed_name_has_none() {
        let index = index();
        learn(&index, "a/C", 1, "a/X");
        assert_eq!(index.undisputed(b"a/C").as_deref(), Some(&types("a/X")));
        learn(&index, "a/C", 2, "a/Y");
        assert_eq!(index.of_loader(b"a/C", 2).as_deref(), Some(&types("a/Y")));
        assert_eq!(index.of_loader(b"a/C", 3), None);
        assert_eq!(index.undisputed(b"a/C"), None);
    }

    #[test]
    fn loaders_that_come_and_go_leave_a_bounded_number_of_answers() {
        let index = index();
        (1..=1_000).for_each(|loader| learn(&index, "a/C", loader, "a/X"));
        assert_eq!(index.known.lock().names[b"a/C".as_slice()].iter().count(), MOST_LOADERS);
        assert_eq!(index.of_loader(b"a/C", 1_000).as_deref(), Some(&types("a/X")));
        assert_eq!(index.undisputed(b"a/C").as_deref(), Some(&types("a/X")), "for those that were forgotten");
    }

    #[test]
    fn a_class_that_is_defined_again_replaces_what_was_known() {
        let index = index();
        learn(&index, "a/C", 1, "a/X");
        learn(&index, "a/C", 1, "a/Y");
        assert_eq!(index.undisputed(b"a/C").as_deref(), Some(&types("a/Y")));
    }

    #[test]
    fn a_mark_holds_for_its_loader_until_a_name_means_two_types() {
        let index = index();
        learn(&index, "a/C", 1, "a/X");
        assert!(!index.is_unasked(b"a/C", 1));
        index.note_unasked(b"a/C", 1);
        assert!(index.is_unasked(b"a/C", 1) && !index.is_unasked(b"a/C", 2));
        // As another loader sees it, when nobody disagrees.
        index.note_unasked(b"a/C", 2);
        assert!(index.is_unasked(b"a/C", 2));
        learn(&index, "a/D", 1, "a/X");
        learn(&index, "a/C", 1, "a/X");
        assert!(index.is_unasked(b"a/C", 1), "nothing new was learnt");
        learn(&index, "a/D", 2, "a/Y");
        assert!(!index.is_unasked(b"a/C", 1) && !index.is_unasked(b"a/C", 2), "a/D may be one of its super types");
    }

    #[test]
    fn a_mark_on_a_class_of_the_jdk_holds_for_loaders_without_their_own() {
        let index = index();
        learn(&index, "j/C", BOOT, "j/X");
        index.note_unasked(b"j/C", 1);
        assert!(index.is_unasked(b"j/C", 1) && index.is_unasked(b"j/C", BOOT) && index.is_unasked(b"j/C", 2));
        learn(&index, "j/C", 2, "j/X");
        assert!(!index.is_unasked(b"j/C", 2), "its own class of that name is not known to be unasked");
    }
}
