//! The hierarchy as one class sees it while the class hook decides about it.

use std::cell::Cell;
use std::sync::Arc;

use classfile::ClassFile;
use instrument_core::selection::{Hierarchy, Supertypes};

use super::{BOOT, LoaderId, TypeIndex};
use crate::jvm::{Jni, ObjectRef, read_class_resource};

/// Super types as the loader of a class would find them.
#[derive(Debug)]
pub(crate) struct LoaderView<'a> {
    index: &'a TypeIndex,
    loader: LoaderId,
    /// The loader itself, to ask for resources; absent for the boot loader and where Java code must not run.
    resources: Option<(&'a Jni<'a>, ObjectRef<'a>)>,
}

thread_local! {
    /// Set while this thread asks a loader: classes loaded on the way are decided without asking.
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

impl<'a> LoaderView<'a> {
    /// The view of a class defined by the boot loader, or of any class where no Java code may run.
    pub(crate) fn of_boot(index: &'a TypeIndex) -> LoaderView<'a> {
        LoaderView { index, loader: BOOT, resources: None }
    }

    /// The view of a class defined by `loader`, whose identity is `id`.
    pub(crate) fn of_loader(
        index: &'a TypeIndex,
        id: LoaderId,
        jni: &'a Jni<'a>,
        loader: ObjectRef<'a>,
    ) -> LoaderView<'a> {
        LoaderView { index, loader: id, resources: Some((jni, loader)) }
    }

    fn ask_loader(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
        let (jni, loader) = self.resources?;
        if ASKING.replace(true) {
            return None;
        }
        let bytes = read_class_resource(jni, loader, name);
        ASKING.set(false);
        let bytes = bytes?;
        let class = ClassFile::parse(&bytes).ok()?;
        // A resource of that name need not hold the class of that name.
        (class.this_class().as_bytes() == name).then(|| self.index.learn(name, self.loader, Supertypes::of(&class)))
    }
}

impl Hierarchy for LoaderView<'_> {
    fn supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        let index = self.index;
        index
            .of_loader(internal_name, self.loader)
            .or_else(|| index.of_jdk(internal_name))
            .or_else(|| index.undisputed(internal_name))
            .or_else(|| self.ask_loader(internal_name))
    }
}
