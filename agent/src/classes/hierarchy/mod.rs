//! Super types without loading a class.
//!
//! A question is answered, in this order, by
//! 1. what the class hook saw the same loader define;
//! 2. the JDK's run-time image (for names that the image has);
//! 3. what the hook saw other loaders define, if they all agree;
//! 4. the loader's resources, over JNI, never from inside another such question (decision 054);
//! 5. nobody: the class is decided again when it is linked (`linked_classes.rs`).
//!
//! Most questions are not asked at all: a type whose whole ancestry holds nothing that a rule asks for is marked so, and the next
//! class that extends it needs one look. And a question that would have to be answered from a class file (4. and 5.) is only asked if the
//! answer can lead to a type that a rule asks for: not before such a type has been seen, nor about interfaces where only classes have been ([`asked`]). When
//! one is seen, classes whose definition was in progress are decided late ([`overlooked`]). From then on, a class with a super type that was
//! never seen waits until that is loaded, too, unless reading is cheaper ([`experience`]). Classes that HotSpot could not retransform do not wait.
//!
//! A class is identified by its name and its loader, a loader by a tag that no other one ever has ([`LoaderId`]).

mod asked;
mod class_id;
mod experience;
mod known;
mod loader_view;
mod on_their_way;
mod overlooked;

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use class_source::JdkImage;
use classfile::{ClassHead, HeadMemory};
use instrument_core::selection::{AskedTypes, RuleSet, Supertypes};
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashSet;

use asked::Asked;
pub(crate) use class_id::{ClassId, class_id};
use experience::Experience;
use known::Known;
pub(crate) use loader_view::{LoaderView, Newcomer};
pub(crate) use overlooked::Latecomers;
use overlooked::Overlooked;

pub(crate) use records::{BOOT, LoaderId};

use crate::thread_memory::with_memory;

thread_local! {
    /// Memory for reading the heads of super types, while that of the class itself is in use.
    static HEAD: RefCell<HeadMemory> = RefCell::new(HeadMemory::default());
}

/// All super types learnt so far.
#[derive(Debug)]
pub(crate) struct TypeIndex {
    java_home: PathBuf,
    image: OnceLock<Option<JdkImage>>,
    asked: Asked,
    known: Mutex<Known>,
    overlooked: Overlooked,
    experience: Experience,
    /// How often the super types of a class were walked, for all indices of the session.
    walks: Arc<AtomicU64>,
}

impl TypeIndex {
    /// An empty index over the JDK at `java_home`, whose image is opened when it is first needed, for these rules.
    pub(crate) fn new(java_home: PathBuf, rules: &RuleSet) -> TypeIndex {
        let asked = Asked::new(rules.asked_types(), !rules.needs_hierarchy_at_load());
        TypeIndex::asking(java_home, asked, Arc::default())
    }

    /// An empty index for these rules; `None` if this one serves them: they ask for the same types.
    pub(crate) fn for_rules(&self, rules: &RuleSet) -> Option<TypeIndex> {
        let asked = Asked::new(rules.asked_types(), !rules.needs_hierarchy_at_load());
        (!asked.is_for_the_same(&self.asked))
            .then(|| TypeIndex::asking(self.java_home.clone(), asked, Arc::clone(&self.walks)))
    }

    fn asking(java_home: PathBuf, asked: Asked, walks: Arc<AtomicU64>) -> TypeIndex {
        TypeIndex {
            java_home,
            image: OnceLock::new(),
            asked,
            known: Mutex::default(),
            overlooked: Overlooked::default(),
            experience: Experience::default(),
            walks,
        }
    }

    /// Notes a class that this loader is about to define: its super types by their names, the super class first. `late` is notified of the classes
    /// that were decided without a super type that is one of those after all.
    pub(crate) fn arrive<'n>(
        &self,
        (name, loader): (&'n [u8], LoaderId),
        is_interface: bool,
        super_types: impl Iterator<Item = &'n [u8]> + Clone,
        late: &dyn Latecomers,
    ) {
        let is_awaited = {
            let mut known = self.known.lock();
            match self.asked.seen() {
                AskedTypes::Nowhere => known.write_down(name, loader, super_types),
                // Somebody asks with each class.
                AskedTypes::Classes | AskedTypes::Any => {
                    known.put_in_places();
                    known.learn(name, loader, super_types);
                }
            }
            known.is_awaited(name)
        };
        // After the class itself: a class that is examined from now on sees that the type exists.
        let is_asked = self.asked.note(name, is_interface);
        if is_asked || is_awaited {
            self.overlooked.look_again(self, (name, loader), late);
        }
    }

    /// Notes the super types of a loaded class as this loader sees it: their names, the super class first.
    pub(crate) fn learn_loaded<'n>(
        &self,
        name: &[u8],
        loader: LoaderId,
        super_types: impl Iterator<Item = &'n [u8]> + Clone,
    ) -> Arc<Supertypes> {
        // What may be an interface or not is an interface.
        self.asked.note(name, true);
        self.known().learn(name, loader, super_types)
    }

    /// Has a class wait for a super type that nobody has seen: it will be decided again if that turns out to be below a type that rules ask
    /// for. False if it cannot wait or should not.
    fn postpone(&self, super_type: &[u8], class: (&[u8], LoaderId), may_come_again: impl FnOnce() -> bool) -> bool {
        class.1 != BOOT
            && !self.experience.reading_pays()
            && self.asked.may_still_come(super_type)
            && may_come_again()
            && self.known().await_new(super_type, class)
    }

    /// Whether a type that a rule asks for is this class, as that loader sees it, or above it, as far as is known.
    pub(crate) fn is_below_asked(&self, name: &[u8], loader: LoaderId) -> bool {
        self.asked.is_asked(name) || overlooked::above(self, name, loader).is_below
    }

    /// What all loaders that know a class of this name say, if they agree.
    fn undisputed(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
        self.known().undisputed(name)
    }

    /// What the hook saw this loader define, or what was found out for it.
    fn of_loader(&self, name: &[u8], loader: LoaderId) -> Option<Arc<Supertypes>> {
        self.known().of_loader(name, loader)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        let mut known = self.known.lock();
        known.put_in_places();
        known
    }

    /// The super types of a class of the JDK.
    fn of_jdk(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
        if let Some(known) = self.of_loader(name, BOOT) {
            return Some(known);
        }
        let bytes = self.jdk_class(name)?;
        let (types, is_interface) = self.learn_from(name, BOOT, &bytes)?;
        // It may be loaded without passing the class hook.
        self.asked.note(name, is_interface);
        Some(types)
    }

    /// Notes the super types of the class in these bytes, if it has this name, and returns them and whether it is an interface.
    fn learn_from(&self, name: &[u8], loader: LoaderId, class: &[u8]) -> Option<(Arc<Supertypes>, bool)> {
        with_memory(&HEAD, |memory| {
            let head = ClassHead::read(class, memory, |_| {}).ok()?;
            if head.this_class().as_bytes() != name {
                return None;
            }
            let super_types = head.super_class().into_iter().chain(head.interfaces()).map(|name| name.0);
            Some((self.known().learn(name, loader, super_types), head.is_interface()))
        })
    }

    /// Forgets the classes of loaders that are gone.
    pub(crate) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        self.known().forget(gone);
    }

    /// How often the super types of a class were walked.
    pub(crate) fn walks(&self) -> u64 {
        self.walks.load(Ordering::Relaxed)
    }

    /// Of how many names super types are known.
    pub(crate) fn size(&self) -> usize {
        self.known().size()
    }

    /// Notes a class that the JVM had loaded before the class hook was on.
    pub(crate) fn note_loaded(&self, name: &[u8]) {
        self.asked.note_loaded(name, || self.of_jdk(name).is_some());
    }

    /// All of them are noted.
    pub(crate) fn all_loaded_are_noted(&self) {
        self.asked.all_loaded_are_noted();
    }

    /// Whether all classes are noted that the JVM had loaded before the class hook was on.
    pub(crate) fn loaded_are_noted(&self) -> bool {
        self.asked.loaded_are_noted()
    }

    /// Which of the types that rules ask for are in the JDK or have been seen.
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
        // No image contains a class that the JVM has made (`Shop$$Lambda`), but the one that it was made for may be in it.
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
