//! Calls that the hook of a caller finder counts, by caller, and the time that they take.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering as Memory};

use control::{Caller, WithoutMethod};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::attribution::{Attributed, BEGINS, CUT_OFF, CalledMethod, TASK_BEGINS};
use super::counted_method::{CountedMethod, CountedMethods};
use super::hand_overs::{HandOvers, Way};
use super::margin::{QUANTILE, margin, margin_of_sums};
use super::meter::{Meter, Reading};
use crate::caller_hooks::CallObserver;
use crate::jvm::{OwnStack, StackedCall};

/// Frames that are read: the method and its caller; more where something is between the two, or to know whether the method calls itself.
const FRAMES: [usize; 3] = [2, 16, MOST_FRAMES];
const MOST_FRAMES: usize = 1024;
/// The whole stacks of the first calls are read, and of each of so many later ones. If one shows that the method calls itself by way of others, all are.
const FIRST_WHOLE: u64 = 64;
const EACH_WHOLE: u64 = 16;
/// Methods of which the names are kept, and callers that are distinguished.
const MOST_ROWS: usize = 1 << 14;
/// Calls whose usage is less than this many times that of the hook cannot be distinguished from it.
const OF_OWN_PRICE: f64 = 10.0;
const GONE: &str = "class unloaded";
const TOO_MANY: &str = "too many callers";

/// What a hook counts.
#[derive(Debug)]
pub(crate) struct CountedCalls {
    called: CalledMethod,
    /// Who has handed tasks over, if that is who calls what begins in a task.
    hand_overs: Option<Arc<HandOvers>>,
    meter: Meter,
    methods: CountedMethods,
    rows: Mutex<Rows>,
    /// Calls that have met the hook.
    met: AtomicU64,
    /// Calls that are not looked at before the next one that is.
    passed_over: AtomicU64,
    nested: AtomicU64,
    /// Calls that have ended and were not measured.
    unmeasured: AtomicU64,
    /// Whether the method calls itself by way of others.
    is_recursive: AtomicBool,
    /// Threads with a call that is counted and has not ended, and what they had used when it began. What these call needs no look at the stack, which would be a part of the time
    /// of that call.
    open: Mutex<FxHashMap<u64, Option<Reading>>>,
}

/// By which ways a caller calls, with the number of calls.
type Ways = Vec<(u64, Option<Arc<str>>)>;
/// A caller, or why there is none, and what is between.
type Key = (Result<Arc<CountedMethod>, &'static str>, Option<Arc<str>>);

#[derive(Debug, Default)]
struct Rows {
    /// Calls that may still be counted: of a window that has been closed, some come late.
    left: u64,
    /// Row 1 is the first one.
    rows: Vec<(Key, Sums)>,
    by_key: FxHashMap<Key, u32>,
    windows: Windows,
}

/// How the calls of callers were spread over the windows in which the hook was on.
#[derive(Debug, Default)]
struct Windows {
    /// Calls of each row up to the end of the last window.
    before: Vec<u64>,
    /// The squares of all calls of a window; of a caller the same, and its calls times all calls.
    squares: f64,
    by_caller: FxHashMap<Arc<str>, (f64, f64)>,
}

/// The calls of a row. Their time is by the clock of probes, or what they have used in its place.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    calls: u64,
    ended: u64,
    time: f64,
    squares: f64,
}

/// What has been counted.
#[derive(Debug, Default)]
pub(crate) struct FoundCallers {
    /// The largest part of the time first.
    pub(crate) callers: Vec<Caller>,
    pub(crate) without_caller: Vec<WithoutMethod>,
    pub(crate) calls: u64,
    pub(crate) unended: u64,
    /// Calls that have ended, but were not measured.
    pub(crate) unmeasured: u64,
    pub(crate) nested: u64,
    /// Whether calls use so little that shares of that are mostly those of the hook.
    pub(crate) too_little: bool,
}

/// What a stack says about the call that begins.
#[derive(Debug, PartialEq, Eq)]
enum Begun {
    Key(Key),
    /// It is within another call of the method.
    Nested,
    /// The caller is not among these frames.
    FurtherOut,
}

impl CountedCalls {
    /// Calls of this method, this number at most: none yet.
    pub(crate) fn new(called: CalledMethod, most: u64) -> CountedCalls {
        CountedCalls {
            called,
            hand_overs: None,
            meter: Meter::Wall,
            methods: CountedMethods::default(),
            rows: Mutex::new(Rows { left: most, ..Rows::default() }),
            met: AtomicU64::new(0),
            passed_over: AtomicU64::new(0),
            nested: AtomicU64::new(0),
            unmeasured: AtomicU64::new(0),
            is_recursive: AtomicBool::new(false),
            open: Mutex::default(),
        }
    }

    /// The same; calls are measured by this.
    pub(crate) fn measured_by(self, meter: Meter) -> CountedCalls {
        CountedCalls { meter, ..self }
    }

    /// The same; the caller of what begins in a task is who has handed it over.
    pub(crate) fn across_threads(self, hand_overs: Arc<HandOvers>) -> CountedCalls {
        CountedCalls { hand_overs: Some(hand_overs), ..self }
    }

    /// Returns how many calls have been counted, and how many of these have ended.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let rows = self.rows.lock();
        let unmeasured = self.unmeasured.load(Memory::Relaxed);
        rows.rows.iter().fold((0, unmeasured), |(calls, ended), (_, sums)| (calls + sums.calls, ended + sums.ended))
    }

    /// Returns how many calls were looked at: those that are counted, and those within them.
    pub(crate) fn looked_at(&self) -> u64 {
        self.counts().0 + self.nested.load(Memory::Relaxed)
    }

    /// Does not look at so many calls from now on.
    pub(crate) fn pass_over(&self, calls: u64) {
        self.passed_over.store(calls, Memory::Relaxed);
    }

    /// Returns what the calls that have ended have used together.
    pub(crate) fn used(&self) -> f64 {
        self.rows.lock().rows.iter().map(|(_, sums)| sums.time).sum()
    }

    /// The hook has been on, and is off again.
    pub(crate) fn window_ends(&self) {
        self.rows.lock().window_ends();
    }

    fn begun(&self, stack: &[Arc<CountedMethod>], is_whole: bool) -> Begun {
        // A bridge has the same text as the method to which it forwards, if only the type of the result differs.
        let is_called =
            |method: &Arc<CountedMethod>| self.called.texts.contains(&*method.text) && !method.is_go_between;
        // The first one is the method itself.
        if stack.iter().skip(1).any(is_called) {
            return Begun::Nested;
        }
        let stack: Vec<&CountedMethod> = stack.iter().map(|method| &**method).collect();
        Begun::Key(match self.called.caller(&stack, !is_whole) {
            Attributed::Method(caller, via) => (Ok(Arc::new(caller.clone())), via.map(|via| Arc::clone(&via.text))),
            Attributed::Reason(CUT_OFF) if stack.len() < MOST_FRAMES => return Begun::FurtherOut,
            Attributed::Reason(reason) => (Err(reason), None),
            Attributed::Elsewhere | Attributed::NoFrame => (Err(GONE), None),
        })
    }

    /// The same of a call that was found to begin in a task or thread: its caller is who has handed that over, as far as it is known.
    fn handed_over(&self, begun: Begun, number: u32) -> Begun {
        let begins_there = matches!(&begun, Begun::Key((Err(BEGINS | TASK_BEGINS), _)));
        let hand_overs = self.hand_overs.as_ref().filter(|_| begins_there);
        match hand_overs.and_then(|all| all.way(number)) {
            Some(way) => Begun::Key(self.caller_of(&way)),
            None => begun,
        }
    }

    fn caller_of(&self, way: &Way) -> Key {
        let above: Vec<&CountedMethod> = way.above.iter().map(|method| &**method).collect();
        match self.called.caller_above(None, &above, !way.is_whole) {
            Attributed::Method(caller, _) => (Ok(Arc::new(caller.clone())), Some(Arc::clone(&way.via))),
            Attributed::Reason(reason) => (Err(reason), None),
            Attributed::Elsewhere | Attributed::NoFrame => (Err(GONE), None),
        }
    }

    /// Counts a call that begins; returns its row.
    fn count(&self, begun: Begun) -> Option<u32> {
        let key = match begun {
            Begun::Key(key) => key,
            Begun::FurtherOut => (Err(CUT_OFF), None),
            Begun::Nested => {
                self.is_recursive.store(true, Memory::Relaxed);
                self.nested.fetch_add(1, Memory::Relaxed);
                return None;
            }
        };
        self.rows.lock().count(key)
    }

    /// Returns what has been counted up to now, with so many callers at most.
    pub(crate) fn found(&self, most: usize) -> FoundCallers {
        let rows = self.rows.lock();
        let (mut by_caller, mut by_reason): (FxHashMap<_, (Sums, Ways)>, FxHashMap<&str, Sums>) = Default::default();
        let mut all = Sums::default();
        for ((caller, via), sums) in &rows.rows {
            all.add(sums);
            match caller {
                Ok(caller) => {
                    let (of_caller, ways) = by_caller.entry(&caller.text).or_default();
                    of_caller.add(sums);
                    ways.push((sums.calls, via.clone()));
                }
                Err(reason) => by_reason.entry(reason).or_default().add(sums),
            }
        }
        let share = |sums: &Sums| if all.time > 0.0 { sums.time / all.time } else { 0.0 };
        let caller = |(text, (sums, ways)): (&Arc<str>, (Sums, Ways))| {
            let calls_share = sums.calls as f64 / all.calls.max(1) as f64;
            let via = ways.into_iter().max_by_key(|(calls, _)| *calls).and_then(|(_, via)| via);
            let of_sums = ((sums.time, sums.squares), (all.time, all.squares));
            // Calls of a window are alike where a program does one thing after the other.
            let alone = margin(calls_share, all.calls as f64);
            let alike = rows.windows.margin(text, calls_share, all.calls).max(alone);
            Caller {
                method: text.to_string(),
                via: via.map(|via| via.to_string()),
                calls: Some(sums.calls),
                calls_share: Some(calls_share),
                calls_margin: Some(alike),
                time_ms: self.meter.millis(sums.time).unwrap_or(0.0),
                amount: self.meter.amount(sums.time),
                time_share: share(&sums),
                margin: (all.time > 0.0 && sums.ended > 0).then(|| margin_of_sums(of_sums) * alike / alone),
            }
        };
        let mut callers: Vec<Caller> = by_caller.into_iter().map(caller).collect();
        callers.sort_by(|of, than| {
            descending((of.time_share, of.calls), (than.time_share, than.calls))
                .then_with(|| of.method.cmp(&than.method))
        });
        callers.truncate(most);
        let reason = |(reason, sums): (&str, Sums)| WithoutMethod {
            reason: reason.to_owned(),
            share: share(&sums),
            calls_share: Some(sums.calls as f64 / all.calls.max(1) as f64),
        };
        let mut without_caller: Vec<WithoutMethod> = by_reason.into_iter().map(reason).collect();
        without_caller.sort_by(|of, than| than.share.total_cmp(&of.share).then_with(|| of.reason.cmp(&than.reason)));
        let unmeasured = self.unmeasured.load(Memory::Relaxed);
        let (calls, unended) = (all.calls, all.calls.saturating_sub(all.ended + unmeasured));
        let too_little = all.ended > 0 && all.time / (all.ended as f64) < self.meter.own_price() * OF_OWN_PRICE;
        let nested = self.nested.load(Memory::Relaxed);
        FoundCallers { callers, without_caller, calls, unended, unmeasured, nested, too_little }
    }
}

fn descending(of: (f64, Option<u64>), than: (f64, Option<u64>)) -> Ordering {
    than.0.total_cmp(&of.0).then(than.1.cmp(&of.1))
}

impl CallObserver for CountedCalls {
    fn begins(&self, call: StackedCall, stack: OwnStack<'_>) -> Option<u32> {
        let StackedCall { thread, handed_over_by, allocated } = call;
        // A thread that is being attached has none.
        if thread == 0 {
            return None;
        }
        if self.open.lock().contains_key(&thread) {
            return self.count(Begun::Nested);
        }
        if self.passed_over.fetch_update(Memory::Relaxed, Memory::Relaxed, |left| left.checked_sub(1)).is_ok() {
            return None;
        }
        let met = self.met.fetch_add(1, Memory::Relaxed);
        let is_recursive = self.is_recursive.load(Memory::Relaxed);
        let from =
            if is_recursive || met < FIRST_WHOLE || met.is_multiple_of(EACH_WHOLE) { FRAMES.len() - 1 } else { 0 };
        let mut begun = Begun::FurtherOut;
        for most in FRAMES.iter().skip(from) {
            let methods = stack.methods(*most);
            let is_whole = methods.len() < *most;
            let Some(named) =
                methods.into_iter().map(|method| self.methods.of(method, stack)).collect::<Option<Vec<_>>>()
            else {
                begun = Begun::Key((Err(GONE), None));
                break;
            };
            begun = self.begun(&named, is_whole);
            if begun != Begun::FurtherOut {
                break;
            }
        }
        let row = self.count(self.handed_over(begun, handed_over_by))?;
        // Last: looking at the stack is no part of it.
        let reading = self.meter.read(allocated);
        self.open.lock().insert(thread, reading);
        Some(row)
    }

    fn ended(&self, thread: u64, row: u32, (time, allocated): (u64, Option<u64>)) {
        let now = self.meter.read(allocated);
        let since = self.open.lock().remove(&thread).flatten();
        let Some(used) = self.meter.used(since, now, time) else {
            self.unmeasured.fetch_add(1, Memory::Relaxed);
            return;
        };
        let rows = &mut *self.rows.lock();
        let place = (row as usize).checked_sub(1).and_then(|at| rows.rows.get_mut(at));
        if let Some((_, sums)) = place {
            let used = used as f64;
            sums.add(&Sums { calls: 0, ended: 1, time: used, squares: used * used });
        }
    }
}

impl Rows {
    fn count(&mut self, key: Key) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let is_new = !self.by_key.contains_key(&key);
        let key = if is_new && self.rows.len() >= MOST_ROWS { (Err(TOO_MANY), None) } else { key };
        let row = match self.by_key.get(&key) {
            Some(row) => *row,
            None => {
                self.rows.push((key.clone(), Sums::default()));
                let row = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
                self.by_key.insert(key, row);
                row
            }
        };
        if let Some((_, sums)) = self.rows.get_mut(row as usize - 1) {
            sums.calls += 1;
        }
        Some(row)
    }

    fn window_ends(&mut self) {
        let Rows { rows, windows, .. } = self;
        windows.before.resize(rows.len(), 0);
        let (mut all, mut by_caller): (f64, FxHashMap<&Arc<str>, f64>) = (0.0, FxHashMap::default());
        for (((caller, _), sums), before) in rows.iter().zip(&mut windows.before) {
            let calls = (sums.calls - std::mem::replace(before, sums.calls)) as f64;
            all += calls;
            if let (Ok(caller), true) = (caller, calls > 0.0) {
                *by_caller.entry(&caller.text).or_default() += calls;
            }
        }
        windows.squares += all * all;
        for (caller, calls) in by_caller {
            let (squares, products) = windows.by_caller.entry(Arc::clone(caller)).or_default();
            *squares += calls * calls;
            *products += calls * all;
        }
    }
}

impl Windows {
    /// By how much a share of calls is off in one of twenty cases if each window counts as one look.
    fn margin(&self, caller: &str, share: f64, calls: u64) -> f64 {
        let (squares, products) = self.by_caller.get(caller).copied().unwrap_or_default();
        let variance = squares - 2.0 * share * products + share * share * self.squares;
        QUANTILE * variance.max(0.0).sqrt() / calls.max(1) as f64
    }
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        self.calls += other.calls;
        self.ended += other.ended;
        self.time += other.time;
        self.squares += other.squares;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOT: &str = "a.B.hot";

    fn counted() -> CountedCalls {
        CountedCalls::new(
            CalledMethod { texts: std::iter::once(HOT.to_owned()).collect(), through: Vec::new() },
            100_000,
        )
    }

    fn stack(methods: &str) -> Vec<Arc<CountedMethod>> {
        methods.split(' ').map(|text| Arc::new(CountedMethod::of_text(text))).collect()
    }

    fn call(calls: &CountedCalls, methods: &str, time: u64) {
        if let Some(row) = calls.count(calls.begun(&stack(methods), true)) {
            calls.open.lock().insert(1, calls.meter.read(None));
            calls.ended(1, row, (time, None));
        }
    }

    #[test]
    fn calls_and_time_are_shared_out_each_for_itself() {
        let calls = counted();
        (0..7).for_each(|_| call(&calls, "a.B.hot b.X.x c.Y.y", 10));
        (0..2).for_each(|_| call(&calls, "a.B.hot java.reflect.invoke b.Z.z", 100));
        call(&calls, HOT, 30);
        let found = calls.found(20);
        let of: Vec<_> = found.callers.iter().map(|of| (&*of.method, of.calls.unwrap(), of.via.as_deref())).collect();
        assert_eq!(of, [("b.Z.z", 2, Some("java.reflect.invoke")), ("b.X.x", 7, None)], "by time");
        assert!((found.callers[0].time_share - 200.0 / 300.0).abs() < 1e-9 && found.callers[0].margin > Some(0.1));
        assert!(
            (found.callers[1].calls_share.unwrap() - 0.7).abs() < 1e-9 && found.callers[1].calls_margin > Some(0.2)
        );
        let none = WithoutMethod { reason: super::super::BEGINS.to_owned(), share: 0.1, calls_share: Some(0.1) };
        assert_eq!(found.without_caller, [none]);
        assert_eq!((found.calls, found.unended, found.nested, calls.found(1).callers.len()), (10, 0, 0, 1));
    }

    #[test]
    fn a_call_within_a_call_is_a_part_of_it() {
        let calls = counted();
        call(&calls, "a.B.hot b.X.x", 50);
        call(&calls, "a.B.hot a.B.hot b.X.x", 40);
        call(&calls, "a.B.hot b.W.w a.B.hot b.X.x", 30);
        let found = calls.found(20);
        assert_eq!((found.callers.len(), found.calls, found.nested), (1, 1, 2));
        assert!(calls.is_recursive.load(Memory::Relaxed), "from now on whole stacks are looked at");
    }

    #[test]
    fn a_program_that_does_one_thing_after_the_other_has_wider_margins() {
        let margin_of = |windows: &[[u64; 2]]| {
            let calls = counted();
            for [first, second] in windows {
                (0..*first).for_each(|_| call(&calls, "a.B.hot b.X.x", 10));
                (0..*second).for_each(|_| call(&calls, "a.B.hot b.Y.y", 10));
                calls.window_ends();
            }
            let caller = calls.found(9).callers.remove(0);
            (caller.calls_margin.unwrap(), caller.margin.unwrap())
        };
        let (mixed, phases) = (margin_of(&[[5, 5]; 40]), margin_of(&[[[10, 0], [0, 10]]; 20].concat()));
        assert!((mixed.0 - margin(0.5, 400.0)).abs() < 1e-9, "{mixed:?}");
        // Forty looks, of which each sees one of the two.
        assert!((phases.0 - 1.96 * 0.5 / 40_f64.sqrt()).abs() < 1e-9 && phases.1 > 3.0 * mixed.1, "{phases:?}");
    }

    #[test]
    fn a_call_by_way_of_a_bridge_is_one_of_the_caller_beyond() {
        let calls = counted();
        let mut methods = stack("a.B.hot a.B.hot b.X.x");
        methods[1] = Arc::new(CountedMethod { is_go_between: true, ..(*methods[1]).clone() });
        assert_eq!(calls.begun(&methods, false), Begun::Key((Ok(Arc::clone(&methods[2])), None)));
    }

    #[test]
    fn more_frames_are_needed_where_something_is_between() {
        let calls = counted();
        assert_eq!(calls.begun(&stack("a.B.hot java.reflect.invoke"), false), Begun::FurtherOut);
        assert!(matches!(calls.begun(&stack("a.B.hot b.X.x"), false), Begun::Key((Ok(_), None))));
        let calls_before = calls.counts();
        assert_eq!((calls_before, calls.count(Begun::FurtherOut)), ((0, 0), Some(1)));
        assert_eq!((calls.counts(), calls.found(9).unended), ((1, 0), 1), "it has not ended");
    }

    #[test]
    fn who_hands_a_task_over_calls_what_begins_in_it() {
        let calls = counted();
        let way = |above: &str| Way { via: "hand-over: x.Pool.execute".into(), above: stack(above), is_whole: false };
        let named = |way: &Way| match calls.caller_of(way) {
            (Ok(caller), via) => format!("{} via {}", caller.text, via.unwrap()),
            (Err(reason), _) => reason.to_owned(),
        };
        assert_eq!(named(&way("b.X$$Lambda.run b.X.x c.Y.y")), "b.X.x via hand-over: x.Pool.execute");
        assert_eq!(named(&way("b.X$$Lambda.run java.util.concurrent.FutureTask.run")), CUT_OFF);
        let in_task = calls.begun(&stack("a.B.hot java.util.concurrent.FutureTask.run java.lang.Thread.run"), true);
        assert_eq!(in_task, Begun::Key((Err(TASK_BEGINS), None)));
        assert_eq!(calls.handed_over(in_task, 7), Begun::Key((Err(TASK_BEGINS), None)), "nobody looks across threads");
    }

    #[test]
    fn callers_beyond_the_last_row_share_one() {
        let mut rows = Rows { left: MOST_ROWS as u64 + 5, ..Rows::default() };
        let key = |at: usize| (Ok(Arc::clone(&stack(&format!("b.X{at}.x"))[0])), None);
        (0..=MOST_ROWS).for_each(|at| _ = rows.count(key(at)));
        assert_eq!(rows.count(key(MOST_ROWS + 7)), rows.count((Err(TOO_MANY), None)));
        assert_eq!(
            (rows.count(key(3)), rows.count(key(3)), rows.count(key(3))),
            (Some(4), Some(4), None),
            "no more than are wanted"
        );
    }
}
