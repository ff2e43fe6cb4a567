//! Hooks of caller finders: the bytes off heap that say which are on, whose they are, and what they tell (`java.instr.CallerFinder`).
//!
//! Each hook has one of a few slots, and a number that no hook has had before: a call that ends when its hook is gone is counted as late, and for nobody else.
//! Finders that look across threads also observe the hand-overs of tasks (`java.instr.Handover`).

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::RwLock;

use crate::call_sites::MethodKey;
use crate::jvm::{OwnStack, StackedCall};

/// Hooks at a time.
const SLOTS: usize = 64;
/// The bytes: those of the slots, and from [`WARM_UP`] on those by which Java code goes both ways once.
const BYTES: usize = 128;
const WARM_UP: usize = 64;

/// In the place of a number: the JDK itself has handed the task over.
pub(crate) const BY_ITSELF: i32 = -1;

static ON: [AtomicU8; BYTES] = [const { AtomicU8::new(0) }; BYTES];

/// What gets the calls of a hook.
pub(crate) trait CallObserver: Debug + Send + Sync {
    /// A call begins; returns its row, from 1, or `None` if it is not counted.
    fn begins(&self, call: StackedCall, stack: OwnStack<'_>) -> Option<u32>;

    /// A call of this row has ended, and took so long by the clock of probes; and what its thread has allocated in its life.
    fn ended(&self, thread: u64, row: u32, time_and_allocated: (u64, Option<u64>));
}

/// Observes the hand-overs of tasks.
pub(crate) trait HandOverObserver: Debug + Send + Sync {
    /// A task is handed over; returns the number of who does that, 0 if it is not known, [`BY_ITSELF`] if the JDK itself does it.
    fn hands_over(&self, stack: OwnStack<'_>) -> i32;
}

static HAND_OVERS: RwLock<Option<Weak<dyn HandOverObserver>>> = RwLock::new(None);

/// The methods of a claim on a hook, and its number.
#[derive(Debug, Clone)]
pub(crate) struct CallerHook {
    pub(crate) number: u32,
    pub(crate) methods: Arc<[MethodKey]>,
}

#[derive(Debug)]
struct Hook {
    number: u32,
    calls: Arc<dyn CallObserver>,
    /// Calls that are still counted in this window.
    left: AtomicI64,
    /// Whether some class has it.
    is_inserted: AtomicBool,
}

/// All hooks of this process.
#[derive(Debug)]
pub(crate) struct CallerHooks {
    hooks: RwLock<[Option<Arc<Hook>>; SLOTS]>,
    /// Hooks up to now.
    given: AtomicU64,
    late: AtomicU64,
}

/// The hooks of this process.
pub(crate) fn of_process() -> &'static CallerHooks {
    static HOOKS: OnceLock<CallerHooks> = OnceLock::new();
    HOOKS.get_or_init(CallerHooks::new)
}

/// Returns the address of the bytes, for the native method of `java.instr.CallerFinder`.
pub(crate) fn address() -> i64 {
    if let Some(byte) = ON.get(WARM_UP) {
        byte.store(1, Ordering::Release);
    }
    ON.as_ptr() as i64
}

/// A call begins whose hook is on; returns its row, 0 if it is not counted.
pub(crate) fn entered(number: u32, call: StackedCall, stack: OwnStack<'_>) -> u32 {
    // For the warm-up, the way of calls that are counted.
    if number as usize == WARM_UP {
        return 1;
    }
    of_process().begun(number).and_then(|calls| calls.begins(call, stack)).unwrap_or(0)
}

/// Reports hand-overs of tasks to this observer from now on, as long as it exists.
pub(crate) fn report_hand_overs(observer: Weak<dyn HandOverObserver>) {
    *HAND_OVERS.write() = Some(observer);
}

/// A task is handed over; returns the number of who does that, 0 if nobody wants to know.
pub(crate) fn hands_over(stack: OwnStack<'_>) -> i32 {
    let observer = HAND_OVERS.read().as_ref().and_then(Weak::upgrade);
    observer.map_or(0, |observer| observer.hands_over(stack))
}

/// A call has ended that was counted in this row.
pub(crate) fn ended(number: u32, thread: u64, row: u32, time_and_allocated: (u64, Option<u64>)) {
    if number as usize != WARM_UP {
        of_process().end_call(number, (thread, row), time_and_allocated);
    }
}

impl CallerHooks {
    fn new() -> CallerHooks {
        CallerHooks { hooks: RwLock::new([const { None }; SLOTS]), given: AtomicU64::new(0), late: AtomicU64::new(0) }
    }

    /// Takes a hook, which is off; returns its number.
    pub(crate) fn take(&self, calls: Arc<dyn CallObserver>) -> Result<u32, String> {
        let mut hooks = self.hooks.write();
        let free = hooks.iter_mut().enumerate().find(|(_, hook)| hook.is_none());
        let (slot, place) =
            free.ok_or_else(|| format!("{SLOTS} caller finders are at work: ask again when one has ended"))?;
        let given = self.given.fetch_add(1, Ordering::Relaxed) + 1;
        // Java code has it as an int.
        let number = i32::try_from(given as usize * BYTES + slot).ok().and_then(|number| u32::try_from(number).ok());
        let number = number.ok_or("there have been too many caller finders since the JVM started")?;
        let (left, is_inserted) = (AtomicI64::new(0), AtomicBool::new(false));
        *place = Some(Arc::new(Hook { number, calls, left, is_inserted }));
        Ok(number)
    }

    /// Nobody looks at the hook any more; its slot may be another's.
    pub(crate) fn give_back(&self, number: u32) {
        let mut hooks = self.hooks.write();
        if let Some(place) = hooks.get_mut(number as usize % BYTES)
            && place.take_if(|hook| hook.number == number).is_some()
        {
            set(number, false);
        }
    }

    /// Switches a hook on for so many calls at most.
    pub(crate) fn open(&self, number: u32, calls: u64) {
        if let Some(hook) = self.hook(number) {
            hook.left.store(i64::try_from(calls).unwrap_or(i64::MAX), Ordering::Release);
            set(number, true);
        }
    }

    /// Switches a hook off.
    pub(crate) fn close(&self, number: u32) {
        if self.hook(number).is_some() {
            set(number, false);
        }
    }

    /// Whether a hook is on: it switches itself off after its calls.
    #[cfg(test)]
    fn is_open(&self, number: u32) -> bool {
        self.hook(number).is_some()
            && ON.get(number as usize % BYTES).is_some_and(|byte| byte.load(Ordering::Acquire) != 0)
    }

    /// A class gets the hook.
    pub(crate) fn note_inserted(&self, number: u32) {
        if let Some(hook) = self.hook(number) {
            hook.is_inserted.store(true, Ordering::Release);
        }
    }

    /// Whether some class has the hook.
    pub(crate) fn is_inserted(&self, number: u32) -> bool {
        self.hook(number).is_some_and(|hook| hook.is_inserted.load(Ordering::Acquire))
    }

    /// How many calls have ended after their hooks.
    pub(crate) fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    fn hook(&self, number: u32) -> Option<Arc<Hook>> {
        let hooks = self.hooks.read();
        hooks.get(number as usize % BYTES)?.clone().filter(|hook| hook.number == number)
    }

    fn begun(&self, number: u32) -> Option<Arc<dyn CallObserver>> {
        let hook = self.hook(number)?;
        let left = hook.left.fetch_sub(1, Ordering::AcqRel);
        if left <= 1 {
            set(number, false);
        }
        (left > 0).then(|| Arc::clone(&hook.calls))
    }

    fn end_call(&self, number: u32, (thread, row): (u64, u32), time_and_allocated: (u64, Option<u64>)) {
        match self.hook(number) {
            Some(hook) => hook.calls.ended(thread, row, time_and_allocated),
            None => _ = self.late.fetch_add(1, Ordering::Relaxed),
        }
    }
}

fn set(number: u32, on: bool) {
    if let Some(byte) = ON.get(number as usize % BYTES) {
        byte.store(on.into(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::java_constants;

    #[derive(Debug, Default)]
    struct Ends(AtomicU64);

    impl CallObserver for Ends {
        fn begins(&self, _: StackedCall, _: OwnStack<'_>) -> Option<u32> {
            Some(1)
        }

        fn ended(&self, _: u64, _: u32, (time, _): (u64, Option<u64>)) {
            self.0.fetch_add(time, Ordering::Relaxed);
        }
    }

    #[test]
    fn java_code_has_the_same_bytes() {
        let java = include_str!("../../java-runtime/src/main/java/java/instr/CallerFinder.java");
        for (name, value) in [("BYTES", BYTES as i64), ("WARM_UP", WARM_UP as i64), ("BY_ITSELF", BY_ITSELF.into())] {
            assert_eq!(java_constants::constant(java, name), value, "{name}");
        }
    }

    /// One test, as the bytes are those of the process.
    #[test]
    fn a_hook_that_is_gone_counts_nothing_for_the_next_one_in_its_slot() {
        let hooks = CallerHooks::new();
        let (first, second) = (Arc::new(Ends::default()), Arc::new(Ends::default()));
        let gone = hooks.take(Arc::clone(&first) as _).unwrap();
        hooks.open(gone, 2);
        assert!(hooks.is_open(gone) && hooks.begun(gone).is_some() && hooks.is_open(gone));
        assert!(hooks.begun(gone).is_some() && !hooks.is_open(gone), "off after the last call of the window");
        assert!(hooks.begun(gone).is_none(), "a thread that has read the byte before");
        hooks.end_call(gone, (1, 1), (5, None));
        hooks.open(gone, 2);
        hooks.give_back(gone);
        let next = hooks.take(Arc::clone(&second) as _).unwrap();
        assert_eq!((gone as usize % BYTES, next == gone), (next as usize % BYTES, false));
        assert!(!hooks.is_open(next), "it was off before");
        hooks.end_call(gone, (1, 1), (7, None));
        hooks.give_back(gone);
        hooks.end_call(next, (1, 1), (9, None));
        let times = (first.0.load(Ordering::Relaxed), second.0.load(Ordering::Relaxed), hooks.late());
        assert_eq!(times, (5, 9, 1));
        let all: Vec<_> = (1..SLOTS).map(|_| hooks.take(Arc::clone(&second) as _).unwrap()).collect();
        assert!(hooks.take(Arc::clone(&second) as _).unwrap_err().contains("64 caller finders"));
        hooks.note_inserted(all[3]);
        assert!(hooks.is_inserted(all[3]) && !hooks.is_inserted(all[4]));
    }
}
