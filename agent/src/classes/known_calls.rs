//! What methods may call, as it was decoded for somebody who asked: kept until the bytecode or the constants of the class are others, or its loader is
//! gone.

use std::sync::Arc;

use instrument_core::facts::call_sites::Call;
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::class_table::ClassTable;
use super::hierarchy::{ClassId, LoaderId};

/// Methods of which the calls are kept. When there are more, all are dropped: nobody looks at so many.
const MOST: usize = 20_000;

/// Name and descriptor.
type Method = (Box<[u8]>, Box<[u8]>);

/// The calls of methods.
#[derive(Debug, Default)]
pub(crate) struct KnownCalls {
    table: Mutex<ClassTable<FxHashMap<Method, Known>>>,
}

#[derive(Debug)]
struct Known {
    content: u64,
    calls: Arc<[Call]>,
}

impl KnownCalls {
    /// Returns the calls of a method if what they were decoded from has this hash.
    pub(crate) fn of(
        &self,
        (class, loader): &ClassId,
        (name, descriptor): (&[u8], &[u8]),
        content: u64,
    ) -> Option<Arc<[Call]>> {
        let table = self.table.lock();
        let known = table.get(class, *loader)?.get(&(name.into(), descriptor.into()))?;
        (known.content == content).then(|| Arc::clone(&known.calls))
    }

    /// Keeps the calls of a method.
    pub(crate) fn keep(
        &self,
        (class, loader): &ClassId,
        (name, descriptor): (&[u8], &[u8]),
        content: u64,
        calls: &Arc<[Call]>,
    ) {
        let mut table = self.table.lock();
        if table.values().map(FxHashMap::len).sum::<usize>() >= MOST {
            *table = ClassTable::default();
        }
        let known = Known { content, calls: Arc::clone(calls) };
        let method = (name.into(), descriptor.into());
        match table.get_mut(class, *loader) {
            Some(methods) => _ = methods.insert(method, known),
            None => table.insert(class, *loader, FxHashMap::from_iter([(method, known)])),
        }
    }

    /// Forgets the classes of loaders that are gone.
    pub(crate) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        self.table.lock().forget(gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_until_the_code_changes_or_the_loader_is_gone() {
        let known = KnownCalls::default();
        let class: ClassId = (b"a/B"[..].into(), 3);
        let calls: Arc<[Call]> = Arc::new([]);
        let method = (&b"run"[..], &b"()V"[..]);
        known.keep(&class, method, 1, &calls);
        assert!(known.of(&class, method, 1).is_some());
        assert!(known.of(&class, method, 2).is_none(), "other code");
        assert!(known.of(&class, (b"run", b"(I)V"), 1).is_none(), "another method");
        assert!(known.of(&(class.0.clone(), 4), method, 1).is_none(), "the class of another loader");
        known.keep(&class, method, 2, &calls);
        assert!(known.of(&class, method, 1).is_none() && known.of(&class, method, 2).is_some());
        known.forget(&FxHashSet::from_iter([3]));
        assert!(known.of(&class, method, 2).is_none());
    }
}
