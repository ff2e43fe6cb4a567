//! The hierarchy as one class sees it while the class hook decides about it.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use instrument_core::selection::{AskedTypes, FirstLook, Hierarchy, Supertypes};

use super::{BOOT, Latecomers, LoaderId, TypeIndex};
use crate::jvm::{self, Jni, Jvmti, ObjectRef, read_class_resource};

/// Super types as the loader of a class would find them.
#[derive(Debug)]
pub(crate) struct LoaderView<'a> {
    index: &'a TypeIndex,
    loader: LoaderId,
    /// The loader itself; absent for the boot loader and where Java code must not run.
    object: Option<(Jvmti, &'a Jni<'a>, ObjectRef<'a>)>,
    /// Whether the loader may be asked for class files, which takes long.
    may_ask: bool,
    /// The class, if it is being loaded.
    newcomer: Option<&'a Newcomer<'a>>,
}

/// Whether HotSpot of this version can retransform a class later, by its name and loader, its bytes, and whether it may be a record.
pub(crate) type IsSafe = fn(u32, (&[u8], LoaderId), &[u8], bool) -> bool;

/// A class that is being loaded.
#[derive(Debug)]
pub(crate) struct Newcomer<'a> {
    /// `None` if it was defined without a name.
    name: Option<&'a [u8]>,
    loader: LoaderId,
    bytes: &'a [u8],
    java_version: u32,
    is_safe: IsSafe,
    /// Supposed, until its super types are known.
    is_record: Cell<bool>,
    may_come_again: OnceCell<bool>,
    /// Whether it has a super type that nobody had seen, and whether one of these was read.
    has_unseen: Cell<bool>,
    has_read: Cell<bool>,
    /// The types that rules ask for above it, once they are known.
    found: OnceCell<Arc<Supertypes>>,
}

impl<'a> Newcomer<'a> {
    /// This class, if it is a new one.
    pub(crate) fn of(
        class: &jvm::ClassFile<'a>,
        loader: LoaderId,
        java_version: u32,
        is_safe: IsSafe,
    ) -> Option<Newcomer<'a>> {
        class.is_new().then(|| Newcomer {
            name: class.name,
            loader,
            bytes: class.bytes,
            java_version,
            is_safe,
            is_record: Cell::new(true),
            may_come_again: OnceCell::new(),
            has_unseen: Cell::new(false),
            has_read: Cell::new(false),
            found: OnceCell::new(),
        })
    }

    /// Whether HotSpot can retransform it.
    fn may_come_again(&self) -> bool {
        *self.may_come_again.get_or_init(|| {
            let class = self.name.map(|name| (name, self.loader));
            class.is_some_and(|class| (self.is_safe)(self.java_version, class, self.bytes, self.is_record.get()))
        })
    }
}

thread_local! {
    /// Set while this thread asks a loader: classes loaded on the way are decided without asking.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

impl<'a> LoaderView<'a> {
    /// The view of a class defined by the boot loader, or of any class where no Java code may run.
    pub(crate) fn of_boot(index: &'a TypeIndex) -> LoaderView<'a> {
        LoaderView { index, loader: BOOT, object: None, may_ask: false, newcomer: None }
    }

    /// The view of a class that this loader has defined, as far as it is known without asking.
    pub(crate) fn of_loaded(index: &'a TypeIndex, loader: LoaderId) -> LoaderView<'a> {
        LoaderView { loader, ..LoaderView::of_boot(index) }
    }

    /// The view of a loaded class; `loader` is the identity of its loader, which may be asked for class files.
    pub(crate) fn of_loaded_class(
        index: &'a TypeIndex,
        loader: LoaderId,
        object: Option<(Jvmti, &'a Jni<'a>, ObjectRef<'a>)>,
    ) -> LoaderView<'a> {
        LoaderView { index, loader, object, may_ask: true, newcomer: None }
    }

    /// Returns the view of a class in the hook; `loader` is the identity of its loader.
    pub(crate) fn of_class(
        index: &'a TypeIndex,
        loader: LoaderId,
        class: &'a jvm::ClassFile<'a>,
        newcomer: Option<&'a Newcomer<'a>>,
    ) -> LoaderView<'a> {
        let object = class.loader.map(|object| (class.jvmti, class.jni, object));
        LoaderView { index, loader, object, may_ask: true, newcomer }
    }

    /// Returns the same view without anything that would take time.
    pub(crate) fn without_asking(&self) -> LoaderView<'a> {
        LoaderView { may_ask: false, ..*self }
    }

    /// Notes the class whose loader this is and its super types; `late` is notified of classes that were decided too early.
    pub(crate) fn arrive(&self, class: &FirstLook<'_, '_>, late: &dyn Latecomers) {
        if let Some(newcomer) = self.newcomer {
            newcomer.is_record.set(class.super_types().next() == Some(b"java/lang/Record"));
        }
        let class_id = (class.name(), self.loader);
        self.index.arrive(class_id, class.is_interface(), class.super_types(), late);
    }

    /// Whether the class is decided again when more types are loaded that rules ask for.
    fn may_come_again(&self) -> bool {
        self.newcomer.is_some_and(Newcomer::may_come_again)
    }

    /// Learns that a class with these direct super types is wanted.
    pub(crate) fn note_wanted<'n>(&self, mut super_types: impl Iterator<Item = &'n [u8]>) {
        let has_read = self.newcomer.is_some_and(|newcomer| newcomer.has_read.get());
        if has_read && !super_types.any(|name| self.index.asked.is_asked(name)) {
            self.index.experience.note_wanted();
        }
    }

    /// Which of the types that rules ask for exist, as far as the class may rely on it, if these have been seen.
    fn expected_types(&self, come: AskedTypes) -> AskedTypes {
        match (come, self.object) {
            (AskedTypes::Classes | AskedTypes::Nowhere, Some(_)) if self.may_come_again() => {
                self.index.asked.believe(come)
            }
            _ => AskedTypes::Any,
        }
    }

    fn ask_loader(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
        let (_, jni, loader) = self.object.filter(|_| self.may_ask)?;
        let is_absent = self.index.known().is_absent(name, self.loader);
        if is_absent || ASKING.replace(true) {
            return None;
        }
        let bytes = read_class_resource(jni, loader, name);
        ASKING.set(false);
        // A resource of that name need not hold the class of that name.
        let found = bytes.and_then(|bytes| self.index.learn_from(name, self.loader, &bytes)).map(|(types, _)| types);
        if found.is_none() {
            self.index.known().note_absent(name, self.loader);
        }
        found
    }
}

impl Hierarchy for LoaderView<'_> {
    fn supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        self.known_supertypes(internal_name)
            .or_else(|| self.index.undisputed(internal_name))
            .or_else(|| self.ask_loader(internal_name))
    }

    fn known_supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        self.index.of_loader(internal_name, self.loader).or_else(|| self.index.of_jdk(internal_name))
    }

    fn postpone(&self, internal_name: &[u8]) -> bool {
        let Some(newcomer) = self.newcomer else { return false };
        if !newcomer.has_unseen.replace(true) {
            self.index.experience.note_class();
        }
        let class = newcomer.name.map(|name| (name, self.loader));
        let waits = class.is_some_and(|class| self.index.postpone(internal_name, class, || newcomer.may_come_again()));
        newcomer.has_read.set(newcomer.has_read.get() | !waits);
        waits
    }

    fn asked_types(&self) -> AskedTypes {
        self.expected_types(self.index.asked_types())
    }

    fn has_asked_types(&self) -> bool {
        match self.index.asked_types() {
            AskedTypes::Nowhere => self.expected_types(AskedTypes::Nowhere) != AskedTypes::Nowhere,
            AskedTypes::Classes | AskedTypes::Any => true,
        }
    }

    fn is_unasked(&self, internal_name: &[u8]) -> bool {
        self.index.known().is_unasked(internal_name, self.loader)
    }

    fn note_unasked(&self, internal_name: &[u8]) {
        self.index.known().note_unasked(internal_name, self.loader);
    }

    fn found_above(&self) -> Option<Arc<Supertypes>> {
        self.newcomer?.found.get().map(Arc::clone)
    }

    fn note_walk(&self, found: Option<Supertypes>) {
        self.index.walks.fetch_add(1, Ordering::Relaxed);
        if let (Some(newcomer), Some(found)) = (self.newcomer, found) {
            let _ = newcomer.found.set(Arc::new(found));
        }
    }
}
