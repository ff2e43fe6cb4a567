//! Who hands tasks over to other threads, as long as caller finders look across threads: the method that is called for it, and the methods above.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;

use super::counted_method::{CountedMethod, CountedMethods};
use crate::caller_hooks::{self, BY_ITSELF, HandOverObserver};
use crate::contexts;
use crate::jvm::{MethodId, OwnStack};

/// Frames that are read, and more where too few of these are of the program.
const FEW_FRAMES: usize = 16;
const MOST_FRAMES: usize = 96;
/// Methods of the program that are kept above the one that was called, with those of the JDK between them: the caller is among them, unless more of them are passed
/// through.
const ABOVE: usize = 8;
/// So many are enough not to read more frames.
const ENOUGH: usize = 3;
/// Ways that are distinguished; what is handed over in others is of unknown origin.
const MOST_WAYS: usize = 1 << 12;
/// The classes of the agent.
const OWN: &[u8] = b"java/instr/";
/// ... and of the JDK.
const JDK: [&[u8]; 3] = [b"java/", b"jdk/", b"sun/"];
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
    methods: CountedMethods,
    ways: RwLock<Ways>,
}

#[derive(Debug, Default)]
struct Ways {
    /// By the frames as they were read.
    by_frames: FxHashMap<Box<[MethodId]>, i32>,
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
            contexts::know_hand_overs_from(GIVEN.load(Ordering::Relaxed) + 1);
            *present = Arc::downgrade(&begun);
            let observer: Arc<dyn HandOverObserver> = Arc::clone(&begun) as _;
            caller_hooks::report_hand_overs(Arc::downgrade(&observer));
            begun
        })
    }

    /// Returns the way of this number; `None` for one that was given when others asked.
    pub(super) fn way(&self, number: u32) -> Option<Arc<Way>> {
        self.ways.read().by_number.get(&number).cloned()
    }

    /// Returns the number of the way of this stack, of which outer frames may be missing.
    fn number(&self, methods: &[MethodId], named: &[Arc<CountedMethod>], is_whole: bool) -> Option<u32> {
        let called = first_above(named)?;
        let end = end_of(named, called);
        let key = methods.get(..end)?;
        let known = |ways: &Ways| ways.by_stack.get(key).copied();
        {
            let ways = self.ways.read();
            if known(&ways).is_some() || ways.by_number.len() >= MOST_WAYS {
                return known(&ways);
            }
        }
        let ways = &mut *self.ways.write();
        // Another thread may have been first.
        if let Some(known) = known(ways) {
            return Some(known);
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

    /// The same of a stack of this many frames at most, as Java code has it; `None`: more of them are needed.
    fn answer(&self, stack: OwnStack<'_>, most: usize) -> Option<i32> {
        let methods = stack.methods(most);
        if let Some(known) = self.ways.read().by_frames.get(&*methods) {
            return Some(*known);
        }
        let is_whole = methods.len() < most;
        let named = methods.iter().map(|method| self.methods.of(*method, stack)).collect::<Option<Vec<_>>>();
        let Some(named) = named else { return Some(0) };
        if !is_whole && most < MOST_FRAMES && named.iter().filter(|method| is_of_program(method)).count() < ENOUGH {
            return None;
        }
        let answer = match first_above(&named) {
            None if is_whole => BY_ITSELF,
            _ => self.number(&methods, &named, is_whole).and_then(|number| i32::try_from(number).ok()).unwrap_or(0),
        };
        if self.ways.read().by_frames.len() < MOST_WAYS {
            self.ways.write().by_frames.insert(methods.into(), answer);
        }
        Some(answer)
    }
}

impl HandOverObserver for HandOvers {
    fn hands_over(&self, stack: OwnStack<'_>) -> i32 {
        self.answer(stack, FEW_FRAMES).or_else(|| self.answer(stack, MOST_FRAMES)).unwrap_or(0)
    }
}

/// Returns where a way ends: after some methods of the program.
fn end_of(named: &[Arc<CountedMethod>], called: usize) -> usize {
    let of_program = named.iter().enumerate().skip(called + 1).filter(|(_, method)| is_of_program(method));
    of_program.map(|(at, _)| at + 1).nth(ABOVE - 1).unwrap_or(named.len())
}

fn is_of_program(method: &CountedMethod) -> bool {
    !JDK.iter().any(|prefix| method.class.starts_with(prefix))
}

/// Returns the place of the method that was called for the hand-over: the outermost one of those of the JDK at the beginning. `None`: there is none above.
fn first_above(stack: &[Arc<CountedMethod>]) -> Option<usize> {
    let is_between = |method: &Arc<CountedMethod>| method.is_of_threads || method.class.starts_with(OWN);
    stack.iter().position(|method| !is_between(method))?.checked_sub(1)
}

/// Numbers up to now.
static GIVEN: AtomicU32 = AtomicU32::new(0);

/// A number is never given twice: a task may wait until others ask.
fn next_number() -> Option<u32> {
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
        let deep =
            |outermost: &str| format!("{SUBMIT} {} {outermost}", ["java.util.List.forEach a.A.a"; ABOVE].join(" "));
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
