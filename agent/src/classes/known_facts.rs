//! The facts of classes that were analysed, whatever the rules were: by the content of the class file, and by class. What a later reading of
//! the rules wants is decided from them (decision 050).

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;

use classfile::ClassFile;
use control::Analysis;
use instrument_core::facts::{self, ClassFacts};
use instrument_core::selection::FactSource;
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::class_table::ClassTable;
use super::hierarchy::LoaderId;

/// Facts that take more bytes than this together are dropped, the oldest first. Enough for about 16,000 classes.
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// What the tables themselves take for each class, roughly.
const TABLE_BYTES: usize = 200;

/// The facts of the classes of a session.
#[derive(Debug, Default)]
pub(crate) struct KnownFacts {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// By a hash of the class file.
    by_content: FxHashMap<u64, Arc<ClassFacts>>,
    /// What passed the class hook last under this name.
    classes: ClassTable<Analysed>,
    /// Keys of `by_content`, the oldest first.
    order: VecDeque<u64>,
    counts: Analysis,
}

/// A class that was analysed.
#[derive(Debug)]
struct Analysed {
    content: u64,
    /// A digest of what the rules want of the class, once that is final.
    decided: Option<u64>,
}

/// The facts of classes that one loader has defined or is about to define.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FactsOfLoader<'a> {
    pub(crate) known: &'a KnownFacts,
    pub(crate) loader: LoaderId,
}

impl FactSource for FactsOfLoader<'_> {
    fn facts(&self, file: &ClassFile<'_>) -> Arc<ClassFacts> {
        self.known.of(file, self.loader, false)
    }
}

impl KnownFacts {
    /// Returns the facts of a class in the class hook. A class that is loaded already is recognised even if the JVM has written it down anew.
    pub(crate) fn of(&self, file: &ClassFile<'_>, loader: LoaderId, is_loaded: bool) -> Arc<ClassFacts> {
        let name = file.this_class().0;
        let content = FxBuildHasher.hash_one(file.bytes());
        let before = if is_loaded { self.table.lock().of_class(name, loader) } else { None };
        let found = self.table.lock().find_content(content, name);
        // Without the lock: other threads load classes, too.
        let found = found.or_else(|| recognised(&*before?, file));
        self.table.lock().count(found.is_some());
        let facts = found.unwrap_or_else(|| Arc::new(ClassFacts::of(file)));
        self.table.lock().keep((name, loader), content, &facts);
        facts
    }

    /// Returns the facts of a loaded class, and what was decided about it last.
    pub(crate) fn of_loaded(&self, name: &[u8], loader: LoaderId) -> Option<(Arc<ClassFacts>, Option<u64>)> {
        let mut table = self.table.lock();
        let decided = table.classes.get(name, loader)?.decided;
        let facts = table.of_class(name, loader)?;
        table.counts.reused += 1;
        Some((facts, decided))
    }

    /// Notes what was decided about a class.
    pub(crate) fn note_decision(&self, name: &[u8], loader: LoaderId, decided: Option<u64>) {
        if let Some(entry) = self.table.lock().classes.get_mut(name, loader) {
            entry.decided = decided;
        }
    }

    /// Forgets the classes of loaders that are gone. The facts themselves stay: another loader may define the same class.
    pub(crate) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        self.table.lock().classes.forget(gone);
    }

    /// Returns how much is known.
    pub(crate) fn counts(&self) -> Analysis {
        let table = self.table.lock();
        Analysis { kept: table.by_content.len() as u64, ..table.counts }
    }
}

impl Table {
    fn of_class(&self, name: &[u8], loader: LoaderId) -> Option<Arc<ClassFacts>> {
        self.by_content.get(&self.classes.get(name, loader)?.content).cloned()
    }

    fn find_content(&self, content: u64, name: &[u8]) -> Option<Arc<ClassFacts>> {
        self.by_content.get(&content).filter(|facts| facts.name() == name).cloned()
    }

    fn count(&mut self, was_known: bool) {
        *(if was_known { &mut self.counts.reused } else { &mut self.counts.classes }) += 1;
    }

    fn keep(&mut self, (name, loader): (&[u8], LoaderId), content: u64, facts: &Arc<ClassFacts>) {
        if self.by_content.insert(content, Arc::clone(facts)).is_none() {
            self.order.push_back(content);
            self.counts.bytes += weight(facts) as u64;
        }
        while self.counts.bytes > MOST_BYTES as u64
            && let Some(oldest) = self.order.pop_front()
        {
            let dropped = self.by_content.remove(&oldest);
            self.counts.bytes = self.counts.bytes.saturating_sub(dropped.as_deref().map_or(0, weight) as u64);
        }
        if self.classes.get(name, loader).is_none_or(|known| known.content != content) {
            self.classes.insert(name, loader, Analysed { content, decided: None });
        }
    }
}

/// Returns the facts of a class that HotSpot has written down anew; `None` if this is another class.
fn recognised(known: &ClassFacts, file: &ClassFile<'_>) -> Option<Arc<ClassFacts>> {
    if known.fingerprint() != facts::fingerprint(file) {
        return None;
    }
    known.ordered_as(file).map(Arc::new)
}

fn weight(facts: &ClassFacts) -> usize {
    facts.size_in_memory() + TABLE_BYTES
}

#[cfg(test)]
mod tests {
    use instrument_core::facts::MethodFacts;

    use super::*;
    use crate::config::embedded::RUNTIME_CLASSES;

    fn counts(facts: &KnownFacts) -> (u64, u64, u64) {
        let counts = facts.counts();
        (counts.classes, counts.reused, counts.kept)
    }

    #[test]
    fn the_same_bytes_are_analysed_once_for_all_loaders_and_generations() {
        let (_, bytes) = RUNTIME_CLASSES[0];
        let file = ClassFile::parse(bytes).unwrap();
        let (facts, name) = (KnownFacts::default(), file.this_class().0);
        let first = facts.of(&file, 1, false);
        assert!(Arc::ptr_eq(&first, &facts.of(&file, 2, false)) && Arc::ptr_eq(&first, &facts.of(&file, 1, true)));
        assert_eq!(counts(&facts), (1, 2, 1));
        facts.note_decision(name, 1, Some(7));
        assert_eq!(facts.of_loaded(name, 1).unwrap().1, Some(7));
        assert_eq!(facts.of_loaded(name, 2).unwrap().1, None);
        assert!(facts.of_loaded(name, 3).is_none());
        // The loader is gone, its class may be loaded once more.
        facts.forget(&FxHashSet::from_iter([1]));
        assert!(facts.of_loaded(name, 1).is_none());
        facts.of(&file, 3, false);
        assert_eq!(counts(&facts).0, 1);
    }

    #[test]
    fn a_loaded_class_is_recognised_by_its_code_and_not_by_its_name() {
        let (_, bytes) = RUNTIME_CLASSES[0];
        let facts = KnownFacts::default();
        facts.of(&ClassFile::parse(bytes).unwrap(), 1, false);
        // An attribute of the class that a JVM does not keep.
        let mut written_anew = bytes.to_vec();
        let count = ClassFile::parse(bytes).unwrap().attributes_offset();
        written_anew.truncate(count);
        written_anew.extend([0, 0]);
        facts.of(&ClassFile::parse(&written_anew).unwrap(), 1, true);
        assert_eq!(counts(&facts).0, 1);
        // Methods in another order, of which the first two are exchanged.
        let file = ClassFile::parse(bytes).unwrap();
        let [first, second] = [0, 1].map(|at| bytes[file.methods()[at].offset..file.methods()[at].end].to_vec());
        let (start, end) = (file.methods()[0].offset, file.methods()[1].end);
        let mut exchanged = bytes.to_vec();
        exchanged.splice(start..end, [second, first].concat());
        let exchanged = ClassFile::parse(&exchanged).unwrap();
        let found = facts.of(&exchanged, 1, true);
        assert_eq!(counts(&facts).0, 1);
        let shown = |facts: &ClassFacts| -> Vec<String> {
            let methods = facts.methods();
            let shown = |method: MethodFacts<'_>| {
                let calls: Vec<_> = method.calls().map(|(owner, name)| [owner, name].concat()).collect();
                format!("{:?} {:?} {calls:?} {:?}", method.name(), method.descriptor(), method.size())
            };
            methods.map(shown).collect()
        };
        assert_eq!(shown(&found), shown(&ClassFacts::of(&exchanged)), "as if it had been analysed");
        // Other flags of a method: another class.
        let mut other = bytes.to_vec();
        let method = ClassFile::parse(bytes).unwrap().methods()[0].offset;
        other[method] ^= 0x10;
        facts.of(&ClassFile::parse(&other).unwrap(), 1, true);
        assert_eq!(counts(&facts).0, 2);
    }

    #[test]
    fn of_too_many_facts_the_oldest_are_dropped() {
        let (_, bytes) = RUNTIME_CLASSES[0];
        let file = ClassFile::parse(bytes).unwrap();
        let mut table = Table::default();
        let facts = Arc::new(ClassFacts::of(&file));
        let most = u64::try_from(MOST_BYTES / weight(&facts)).unwrap();
        (0..most + 3).for_each(|content| table.keep((b"a/C", content), content, &facts));
        assert!(table.counts.bytes <= MOST_BYTES as u64 && table.by_content.len() == most as usize);
        assert!(!table.by_content.contains_key(&2) && table.by_content.contains_key(&3));
        assert!(table.of_class(b"a/C", 2).is_none() && table.of_class(b"a/C", 3).is_some());
    }
}
