//! The calls of a loaded method, from the bytecode that the JVM runs; decoded once until that changes.

use std::cell::{Cell, RefCell};
use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;

use classfile::{ClassFile, ConstantPool};
use instrument_core::facts::call_sites::{Body, Call, FileCalls, Insertions, calls, needs_file};
use instrument_core::is_name_of_original;
use rustc_hash::FxBuildHasher;

use super::loaded_types::LoadedTypes;
use super::resolution::{Declared, MethodAt, Types};
use crate::classes::hierarchy::ClassId;
use crate::classes::known_calls::KnownCalls;
use crate::classes::large_files::LARGE_FILES;
use crate::jvm::{Jni, Jvmti, LoadedClass, TooLong, read_class_resource_up_to};

/// What a session knows about the code of loaded classes.
pub(crate) trait InstrumentedCode {
    /// Calls that were decoded before.
    fn known(&self) -> &KnownCalls;

    /// Whether something was inserted into the class.
    fn is_rewritten(&self, class: &ClassId) -> bool;

    /// Whether the method is a wrapper of its original.
    fn is_wrapper(&self, class: &ClassId, name: &[u8], descriptor: &[u8]) -> bool;

    /// How many calls of the method its probes have recorded.
    fn recorded(&self, class: &ClassId, name: &[u8], descriptor: &[u8]) -> u64;

    /// Whether code of templates calls this method.
    fn is_called_by_templates(&self, owner: &[u8], name: &[u8], descriptor: &[u8]) -> bool;

    /// The file of a class of the JDK.
    fn jdk_class(&self, name: &[u8]) -> Option<Vec<u8>>;
}

/// Reads bodies.
pub(super) struct Bodies<'a> {
    pub(super) jvmti: Jvmti,
    pub(super) jni: &'a Jni<'a>,
    pub(super) types: &'a LoadedTypes<'a>,
    pub(super) code: &'a dyn InstrumentedCode,
    /// The most bytes of a class.
    pub(super) most_bytes: usize,
    pub(super) counts: Counts,
    /// The constants of the class that was looked at last: its methods follow each other.
    pub(super) constants: RefCell<Option<(ClassId, ReadConstants)>>,
}

/// The constants of a class, or why they are not read.
pub(super) type ReadConstants = Result<Rc<Constants>, String>;

/// How many bodies were decoded, and how many were known.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) decoded: Cell<u64>,
    pub(super) known: Cell<u64>,
}

/// The constants of a class.
pub(super) struct Constants {
    beginning_of_file: Vec<u8>,
    hash: u64,
}

impl Bodies<'_> {
    /// Returns what a method may call, or why that is unknown.
    pub(super) fn calls(&self, at: MethodAt) -> Result<Arc<[Call]>, String> {
        let at = self.original_of(at);
        let unloaded = || "its class was unloaded".to_owned();
        let (class, id) = self.types.class(at.0).ok_or_else(unloaded)?;
        let method = self.types.methods(at.0).get(at.1).cloned().ok_or_else(unloaded)?;
        let method_id = self.types.method_id(at).ok_or_else(unloaded)?;
        let bytecode = method_id.bytecode(self.jvmti).ok_or("the JVM does not show its bytecode")?;
        let constants = self.constants(class, id)?;
        let content = FxBuildHasher.hash_one((&bytecode, constants.hash));
        let named = (&*method.name, &*method.descriptor);
        if let Some(known) = self.code.known().of(id, named, content) {
            self.counts.known.set(self.counts.known.get() + 1);
            return Ok(known);
        }
        self.counts.decoded.set(self.counts.decoded.get() + 1);
        let damaged = |error: classfile::Error| format!("its bytecode cannot be read: {error}");
        let pool = ConstantPool::of_beginning(&constants.beginning_of_file).map_err(damaged)?;
        let lines = method_id.lines(self.jvmti).unwrap_or_default();
        let body = Body { bytecode: &bytecode, constants: &pool, lines: &lines };
        let of_templates =
            |owner: &[u8], name: &[u8], descriptor: &[u8]| self.code.is_called_by_templates(owner, name, descriptor);
        let insertions = Insertions { has_probe: self.code.is_rewritten(id), calls: &of_templates };
        let file = needs_file(&body, &insertions).then(|| self.file_calls(class, id, &method)).flatten();
        let calls: Arc<[Call]> = calls(&body, file.as_ref(), &insertions).map_err(damaged)?.into();
        self.code.known().keep(id, named, content, &calls);
        Ok(calls)
    }

    /// A method that was renamed, in place of its wrapper, which only calls it.
    fn original_of(&self, (class, method): MethodAt) -> MethodAt {
        let original = || {
            let (_, id) = self.types.class(class)?;
            let methods = self.types.methods(class);
            let wrapper = methods.get(method)?;
            if !self.code.is_wrapper(id, &wrapper.name, &wrapper.descriptor) {
                return None;
            }
            methods.iter().position(|other| {
                other.descriptor == wrapper.descriptor && is_name_of_original(&other.name, &wrapper.name)
            })
        };
        (class, original().unwrap_or(method))
    }

    fn constants(&self, class: LoadedClass<'_>, id: &ClassId) -> ReadConstants {
        if let Some((of, constants)) = &*self.constants.borrow()
            && of == id
        {
            return constants.clone();
        }
        // Of a class that is too large, too: if the size of its file is unknown, the JVM makes copies of its constants before their size is known.
        let constants = self.constants_of_jvm(class, id);
        *self.constants.borrow_mut() = Some((id.clone(), constants.clone()));
        constants
    }

    fn constants_of_jvm(&self, class: LoadedClass<'_>, id: &ClassId) -> ReadConstants {
        if LARGE_FILES.exceeds(id, self.most_bytes) {
            return Err(self.skipped("its class file takes"));
        }
        let pool = class
            .constant_pool_up_to(self.jvmti, self.most_bytes)
            .ok_or("the JVM does not show the constants of its class")?;
        let pool = pool.map_err(|TooLong| self.skipped("the constants of its class take"))?;
        let hash = FxBuildHasher.hash_one((pool.count, &pool.bytes));
        Ok(Rc::new(Constants { beginning_of_file: pool.beginning_of_file(), hash }))
    }

    fn skipped(&self, what_takes: &str) -> String {
        format!("skipped: {what_takes} more than {} KiB (`--class-kb`)", self.most_bytes / 1_024)
    }

    /// The calls of a method by the file that the class was presumably loaded from.
    fn file_calls(&self, class: LoadedClass<'_>, id: &ClassId, method: &Declared) -> Option<FileCalls> {
        let of_loader = class.with_loader(self.jvmti, self.jni, |loader| {
            read_class_resource_up_to(self.jni, loader?, &id.0, self.most_bytes)
        });
        let bytes = of_loader.or_else(|| self.code.jdk_class(&id.0)).filter(|bytes| bytes.len() <= self.most_bytes)?;
        let file = ClassFile::parse(&bytes).ok().filter(|file| *file.this_class().as_bytes() == *id.0)?;
        let in_file = file
            .methods()
            .iter()
            .find(|of| *of.name.as_bytes() == *method.name && *of.descriptor.as_bytes() == *method.descriptor);
        // A wrapped method has its own name in the file.
        let wrapped = || {
            file.methods().iter().find(|of| {
                *of.descriptor.as_bytes() == *method.descriptor && is_name_of_original(&method.name, of.name.as_bytes())
            })
        };
        FileCalls::of(&file, in_file.or_else(wrapped)?)
    }
}
