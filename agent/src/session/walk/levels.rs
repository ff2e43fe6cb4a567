//! Two neighbouring levels of a walk: their methods, and what was measured of them.

use std::sync::Arc;

use crate::recorder::Nested;
use crate::walks::Measured;
use rustc_hash::FxHashMap;

/// The methods of two levels.
pub(super) struct TwoLevels {
    pub(super) level: usize,
    /// Those whose callers are looked for, and who are called by them: not those with which tasks begin.
    pub(super) callees: Vec<Arc<str>>,
    /// Their callers, of all hot methods together, each once.
    pub(super) callers: Vec<Arc<str>>,
    /// The callers that are followed, by hot method.
    pub(super) followed: Vec<Vec<Arc<str>>>,
    /// What is known of the methods with which tasks begin, and of who hands these over.
    pub(super) hooked: FxHashMap<Arc<str>, Measured>,
}

/// What was measured, and the methods by the numbers that they had meanwhile.
pub(super) struct Seen {
    pub(super) nested: Nested,
    pub(super) methods: Vec<Arc<str>>,
    /// Those whose calls were not recorded all the time.
    pub(super) without: Vec<Arc<str>>,
}

impl Seen {
    /// Returns what was seen of a method; `None` if it, or one of those of its callers that are followed, had no probe: then calls of that one would count for
    /// whoever called it.
    pub(super) fn of(&self, callee: &Arc<str>, followed: &[Arc<str>]) -> Option<Measured> {
        let number = self.methods.binary_search(callee).ok()?;
        let is_seen = |method: &Arc<str>| self.methods.binary_search(method).is_ok() && !self.without.contains(method);
        if !is_seen(callee) || !followed.iter().all(is_seen) {
            return None;
        }
        let mut found = Measured::default();
        for ((_, caller), sum) in self.nested.edges.iter().filter(|((of, _), _)| *of == number) {
            // Within a call of another method that has a probe: it may have called by way of one that has none.
            match caller.and_then(|caller| self.methods.get(caller)).filter(|caller| followed.contains(caller)) {
                Some(caller) => _ = found.by_caller.insert(Arc::clone(caller), *sum),
                None => found.without_caller.calls += sum.calls,
            }
        }
        Some(found)
    }
}
