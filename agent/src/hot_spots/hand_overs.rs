//! Who hands tasks over to other threads, as long as caller finders look across threads: the method that is called for it, and the methods above.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use super::counted_method::CountedMethod;
use crate::caller_hooks::{self, HandOverObserver};
use crate::jvm::{MethodId, OwnStack};

/// Frames that are read; more where the first ones are all of the JDK.
const FRAMES: [usize; 2] = [16, 64];
/// Methods that are kept above the one that was called: the caller is among them, unless more of them are passed through.
const ABOVE: usize = 8;
/// Ways that are distinguished; what is handed over in others is of unknown origin.
const MOST_WAYS: usize = 1 << 12;
const MOST_NAMES: usize = 1 << 14;
/// The classes of the agent.
const OWN: &[u8] = b"java/instr/";
/// Between a task and who has handed it over, before the method that was called for it.
const HANDED_OVER: &str = "hand-over: ";

/// A way by which tasks are handed over.
#[derive(Debug)]
pub(super) struct Way {
    /// What is between the two.
    pub(super) via: Arc<str>,
    /// The methods above, the innermost first.
    pub(super) above: Vec<Arc<CountedMethod>>,
    /// Whether there are no others.
    pub(super) is_whole: bool,
}

/// All ways that were seen as long as somebody asks for them.
#[derive(Debug, Default)]
pub(crate) struct HandOvers {
    names: RwLock<FxHashMap<MethodId, Arc<CountedMethod>>>,
    ways: RwLock<Ways>,
}

#[derive(Debug, Default)]
struct Ways {
    by_stack: FxHashMap<Box<[MethodId]>, u32>,
    by_number: FxHashMap<u32, Arc<Way>>,
}

impl HandOvers {
    /// Those of this process: the same for all who ask at the same time.
    pub(crate) fn of_process() -> Arc<HandOvers> {
        static PRESENT: Mutex<Weak<HandOvers>> = Mutex::new(Weak::new());
        let present = &mut *PRESENT.lock();
        present.upgrade().unwrap_or_else(|| {
            let begun: Arc<HandOvers> = Arc::default();
            *present = Arc::downgrade(&begun);
            let observer: Arc<dyn HandOverObserver> = Arc::clone(&begun) as _;
            caller_hooks::tell_who_hands_over(Arc::downgrade(&observer));
            begun
        })
    }

    /// Returns the way of this number; `None` for one that was given when others asked.
    pub(super) fn way(&self, number: u32) -> Option<Arc<Way>> {
        self.ways.read().by_number.get(&number).cloned()
    }

    fn name(&self, method: MethodId, stack: OwnStack<'_>) -> Option<Arc<CountedMethod>> {
        if let Some(known) = self.names.read().get(&method) {
            return Some(Arc::clone(known));
        }
        let name = Arc::new(CountedMethod::of(&stack.facts(method)?));
        let names = &mut *self.names.write();
        if names.len() >= MOST_NAMES {
            names.clear();
        }
        names.insert(method, Arc::clone(&name));
        Some(name)
    }

    /// Returns the number of the way of this stack, of which outer frames may be missing.
    fn number(&self, methods: &[MethodId], named: &[Arc<CountedMethod>], is_whole: bool) -> Option<u32> {
        let called = first_above(named)?;
        let end = methods.len().min(called + 1 + ABOVE);
        let key = methods.get(..end)?;
        if let Some(known) = self.ways.read().by_stack.get(key) {
            return Some(*known);
        }
        let ways = &mut *self.ways.write();
        if ways.by_number.len() >= MOST_WAYS {
            return None;
        }
        let number = next_number()?;
        let way = Way {
            via: format!("{HANDED_OVER}{}", named.get(called)?.text).into(),
            above: named.get(called + 1..end)?.to_vec(),
            is_whole: is_whole && end == methods.len(),
        };
        ways.by_stack.insert(key.into(), number);
        ways.by_number.insert(number, Arc::new(way));
        Some(number)
    }
}

impl HandOverObserver for HandOvers {
    fn hands_over(&self, stack: OwnStack<'_>) -> u32 {
        for most in FRAMES {
            let methods = stack.methods(most);
            let is_whole = methods.len() < most;
            let named = methods.iter().map(|method| self.name(*method, stack)).collect::<Option<Vec<_>>>();
            let Some(named) = named else { return 0 };
            if is_whole || first_above(&named).is_some_and(|called| called + ABOVE < methods.len()) {
                return self.number(&methods, &named, is_whole).unwrap_or(0);
            }
            if most == FRAMES[FRAMES.len() - 1] {
                return self.number(&methods, &named, false).unwrap_or(0);
            }
        }
        0
    }
}

/// Returns the place of the method that was called for the hand-over: the outermost one of those of the JDK at the beginning. `None`: there is none above.
fn first_above(stack: &[Arc<CountedMethod>]) -> Option<usize> {
    let is_between = |method: &Arc<CountedMethod>| method.is_of_threads || method.class.starts_with(OWN);
    stack.iter().position(|method| !is_between(method))?.checked_sub(1)
}

/// A number is never given twice: a task may wait until others ask.
fn next_number() -> Option<u32> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    // Java code has it as an int.
    let more = |given: u32| Some(given + 1).filter(|next| i32::try_from(*next).is_ok());
    GIVEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|given| given + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(methods: &str) -> (Vec<MethodId>, Vec<Arc<CountedMethod>>) {
        let method = |text: &str| Arc::new(CountedMethod::of_text(text));
        let named: Vec<_> = methods.split(' ').map(method).collect();
        let id = |method: &Arc<CountedMethod>| MethodId::of_number(method.text.bytes().map(usize::from).sum());
        (named.iter().map(id).collect(), named)
    }

    fn number(of: &HandOvers, methods: &str) -> Option<u32> {
        let (ids, named) = stack(methods);
        of.number(&ids, &named, true)
    }

    const SUBMIT: &str = "java.instr.Handover.handOver java.util.concurrent.ThreadPoolExecutor.execute java.util.concurrent.AbstractExecutorService.submit";

    #[test]
    fn a_way_has_the_method_that_was_called_and_those_above() {
        let of = HandOvers::default();
        let number = number(&of, &format!("{SUBMIT} a.A.a b.B.b")).unwrap();
        let way = of.way(number).unwrap();
        assert_eq!(&*way.via, "hand-over: java.util.concurrent.AbstractExecutorService.submit");
        let above: Vec<&str> = way.above.iter().map(|method| &*method.text).collect();
        assert_eq!((above, way.is_whole), (vec!["a.A.a", "b.B.b"], true));
        assert!(of.way(number + 1).is_none());
    }

    #[test]
    fn the_same_way_has_the_same_number_as_far_as_it_is_kept() {
        let of = HandOvers::default();
        let deep = |outermost: &str| format!("{SUBMIT} {} {outermost}", ["a.A.a"; ABOVE].join(" "));
        let first = number(&of, &deep("b.B.b")).unwrap();
        assert_eq!(number(&of, &deep("c.C.c")), Some(first));
        assert!(!of.way(first).unwrap().is_whole);
        assert_ne!(number(&of, &format!("{SUBMIT} c.C.c")), Some(first));
    }

    #[test]
    fn what_a_pool_hands_over_by_itself_has_no_way() {
        assert_eq!(number(&HandOvers::default(), &format!("{SUBMIT} java.lang.Thread.run")), None);
    }
}
