//! Classes that could not be decided or rewritten when they came: their super types were unknown, or they were not linked.
//! They are presented to the class hook once more when the JVM has linked them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::hierarchy::{LoaderId, TypeIndex};
use crate::jvm::{Event, Jni, Jvmti, LoadedClass};
use crate::loaded_before;
use crate::session::Session;

/// So many classes are remembered at most.
const MOST: usize = 10_000;

/// The waiting classes.
#[derive(Debug, Default)]
pub(crate) struct LateDecisions {
    classes: Mutex<Waiting>,
    /// How many there are, to be read without the lock.
    count: AtomicUsize,
    /// Somebody else listens, too.
    keeps_listening: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Loaders that define a waiting class of this name.
    names: FxHashMap<Box<[u8]>, Vec<LoaderId>>,
    /// Classes get one more chance, not one each time they come.
    tried: FxHashSet<(Box<[u8]>, LoaderId)>,
}

impl LateDecisions {
    /// Remembers a class and has the JVM tell when it is linked.
    pub(crate) fn remember(&self, jvmti: Jvmti, name: &[u8], loader: LoaderId) {
        let mut waiting = self.classes.lock();
        if waiting.tried.len() >= MOST || !waiting.tried.insert((name.into(), loader)) {
            return;
        }
        waiting.names.entry(name.into()).or_default().push(loader);
        if self.count.fetch_add(1, Ordering::Relaxed) == 0 {
            self.listen(jvmti, true);
        }
    }

    /// From now on the JVM tells of every class that it links, whether one is waiting or not.
    pub(crate) fn keep_listening(&self, jvmti: Jvmti) {
        self.keeps_listening.store(true, Ordering::Release);
        self.listen(jvmti, true);
    }

    fn listen(&self, jvmti: Jvmti, enabled: bool) {
        if !enabled && self.keeps_listening.load(Ordering::Acquire) {
            return;
        }
        if let Err(error) = jvmti.set_event(Event::ClassPrepare, enabled) {
            tracing::warn!(%error, "classes with unknown super types stay undecided");
        }
    }

    /// A class has been linked: if it is one of ours, its super types are known now.
    pub(crate) fn class_prepared(&self, jvmti: Jvmti, jni: &Jni<'_>, session: &Session, class: LoadedClass<'_>) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let Some(name) = class.internal_name(jvmti) else { return };
        let loader = class.with_loader(jvmti, jni, |loader| jvmti.identity_hash(loader));
        if !self.forget(jvmti, &name, loader) {
            return;
        }
        if session.setup.rules.needs_hierarchy() {
            learn_super_types(jvmti, jni, &session.types, class, loader, 0);
        }
        loaded_before::retransform_classes(jvmti, session, &[class]);
    }

    fn forget(&self, jvmti: Jvmti, name: &[u8], loader: LoaderId) -> bool {
        let mut waiting = self.classes.lock();
        let Some(loaders) = waiting.names.get_mut(name) else { return false };
        let Some(at) = loaders.iter().position(|waiting| *waiting == loader) else { return false };
        loaders.swap_remove(at);
        if loaders.is_empty() {
            waiting.names.remove(name);
        }
        if self.count.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.listen(jvmti, false);
        }
        true
    }
}

/// Deeper hierarchies do not exist; a limit keeps the recursion off the end of a small stack.
const DEEPEST: usize = 128;

/// Notes the super types of a linked class, up to those that are known already.
fn learn_super_types(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    types: &TypeIndex,
    class: LoadedClass<'_>,
    seen_by: LoaderId,
    depth: usize,
) {
    let Some(name) = class.internal_name(jvmti) else { return };
    if depth >= DEEPEST || name == b"java/lang/Object" {
        return;
    }
    class.with_super_types(jvmti, jni, |super_class, interfaces| {
        let super_name = super_class.and_then(|class| class.internal_name(jvmti));
        let super_name = super_name.unwrap_or_else(|| b"java/lang/Object".to_vec());
        let interface_names: Vec<_> = interfaces.iter().filter_map(|class| class.internal_name(jvmti)).collect();
        let names = std::iter::once(&super_name).chain(&interface_names).map(Vec::as_slice);
        // Known under the loader whose class asks: that is how the JVM resolved the name for it.
        types.learn(&name, seen_by, names);
        for class in super_class.into_iter().chain(interfaces.iter().copied()) {
            learn_super_types(jvmti, jni, types, class, seen_by, depth + 1);
        }
    });
}
