//! The thread that advances `java.instr.Watch.tick` and the tick of live probes, and opens the windows of level burst. It exists
//! only while some probe is at level watch, or live.
//!
//! If somebody wants to know how often methods are called, some ticks count calls (`watched_calls.rs`).
//!
//! Ticks are made at random intervals between half a tick and a whole one. Regular ticks would see a program that does something each
//! millisecond always at the same point of it. Three quarters to a whole is not enough: a tick often wakes up others, too (Linux lets
//! timers that are nearly due go off with one that is), and what they then do is at the same distance after ticks for many of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use records::probe_registry;

use super::burst_windows::{BurstWindows, Step};
use super::late_ticks::LateTicks;
use super::tick_pace::{Spent, TickPace};
use super::watched_calls::WatchedCalls;
use crate::jvm::{
    JavaVm, NanoClock, StaticDoubleField, block_signals, process_cpu_time, run_at_once, thread_cpu_time,
    wake_up_in_time,
};
use crate::live_levels::{self, LiveLevels};
use crate::recorder::jvm_events::jvm_event_queue::{JvmEvent, JvmEventQueue};

/// A ticker with shorter pauses takes too much time to have priority over all others.
const SHORTEST_TO_COME_FIRST: Duration = Duration::from_micros(500);

/// How the thread of a ticker runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TickSettings {
    /// Longest time between two ticks; `None`: as often as is cheap.
    pub(crate) longest: Option<Duration>,
    /// Whether the thread may ask for real-time priority.
    pub(crate) real_time: bool,
}

/// A running ticker.
#[derive(Debug)]
pub(crate) struct Ticker {
    thread: JoinHandle<TickIntervals>,
    stop: Arc<AtomicBool>,
}

/// What ticks besides the Java field.
#[derive(Debug)]
pub(crate) struct LiveTicks {
    levels: &'static LiveLevels,
    windows: BurstWindows,
    /// Where windows that are over are reported; nowhere before there is a recording.
    events: Option<Arc<JvmEventQueue>>,
    /// Calls at level watch count themselves.
    is_counting: bool,
}

/// How long it really was from tick to tick, over all ticks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TickIntervals {
    count: u64,
    sum: f64,
    squares: f64,
    /// The longest ones, the longest first.
    longest: Vec<f64>,
    /// Processor time of the thread that ticks.
    used: Duration,
}

impl TickIntervals {
    /// How many of the longest are reported one by one: estimates may be far off because of a single one.
    const LONGEST: usize = 64;

    fn add(&mut self, nanos: i64) {
        let nanos = nanos.max(0) as f64;
        self.count += 1;
        self.sum += nanos;
        self.squares += nanos * nanos;
        self.add_longest(nanos);
    }

    /// Adds the intervals of another ticker, which ticked at other times.
    pub(crate) fn merge(&mut self, other: &TickIntervals) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.used += other.used;
        other.longest.iter().for_each(|nanos| self.add_longest(*nanos));
    }

    fn add_longest(&mut self, nanos: f64) {
        let shorter = self.longest.partition_point(|longer| *longer >= nanos);
        if shorter < TickIntervals::LONGEST {
            self.longest.truncate(TickIntervals::LONGEST - 1);
            self.longest.insert(shorter, nanos);
        }
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Mean in nanoseconds; `None` before the second tick.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Processor time that a tick takes, in nanoseconds: so long it holds up whom it interrupts.
    pub(crate) fn cost(&self) -> Option<f64> {
        (self.count > 0).then(|| self.used.as_nanos() as f64 / self.count as f64)
    }

    /// The longest ones in nanoseconds, the longest first.
    pub(crate) fn longest(&self) -> &[f64] {
        &self.longest
    }

    /// Root of the mean square in nanoseconds: what one tick adds to the standard error of an estimate.
    pub(crate) fn root_mean_square(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt())
    }
}

impl Ticker {
    /// Starts to write `field` and the words of live probes, with the longest time of `settings` between two ticks unless the machine is
    /// too busy for that.
    pub(crate) fn start(
        vm: JavaVm,
        clock: NanoClock,
        field: StaticDoubleField,
        settings: TickSettings,
        mut live: LiveTicks,
        counted: Option<Arc<WatchedCalls>>,
        late: LateTicks,
    ) -> std::io::Result<Ticker> {
        // Before the thread is there: a call that begins before the first tick is never recorded, however long it lasts. Fixed probes have a
        // tick from `Recorder.start`, but it may be old, and a call that began with it would seem to be as long. A thread that the JVM
        // does not know starts the ticker for live probes, or right after `Recorder.start`.
        let first = clock.now();
        live.levels.tick(clock.as_probes_read(first));
        vm.with_current_thread(|jni| field.set(jni, tick_word(TickKind::Ordinary, clock.as_probes_read(first))));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new().name("instr-ticker".to_owned()).spawn(move || {
            block_signals();
            wake_up_in_time();
            // A ticker that has to wait for a processor gets one when some thread begins to wait: ticks would then meet waiting
            // threads too often, and what runs between two waits too seldom.
            let TickSettings { longest, real_time } = settings;
            let is_rare = longest.is_none_or(|longest| longest >= SHORTEST_TO_COME_FIRST);
            let has_real_time_priority = real_time && is_rare && run_at_once();
            tracing::debug!(has_real_time_priority, "the ticker begins");
            let ran = vm.with_attached_daemon(c"instr-ticker", |jni| {
                let pace = (TickPace::new(longest), late);
                let intervals = tick((clock, first), pace, counted.map(Counting::new), &stopped, |kind, now| {
                    field.set(jni, tick_word(kind, clock.as_probes_read(now)));
                    live.tick(clock, now);
                    live.count_calls(kind == TickKind::Counting);
                });
                // Probes that began before must not record the silence that follows.
                field.set(jni, 0.0);
                live.end(clock);
                intervals
            });
            if ran.is_none() {
                tracing::error!("the ticker cannot attach to the JVM; probes at level watch record nothing");
            }
            ran.unwrap_or_default()
        })?;
        Ok(Ticker { thread, stop })
    }

    /// Stops ticking and waits for the end of the thread, which must not touch the JVM when that shuts down.
    pub(crate) fn stop(self) -> TickIntervals {
        self.stop.store(true, Ordering::Release);
        let ended = self.thread.join();
        if ended.is_err() {
            tracing::error!("the ticker failed");
        }
        ended.unwrap_or_default()
    }
}

impl LiveTicks {
    /// Ticks for the live probes of this process.
    pub(crate) fn new(windows: BurstWindows, events: Option<Arc<JvmEventQueue>>) -> LiveTicks {
        LiveTicks { levels: live_levels::of_process(), windows, events, is_counting: false }
    }

    fn count_calls(&mut self, on: bool) {
        if std::mem::replace(&mut self.is_counting, on) != on {
            self.levels.count_calls(on, probe_registry::of_process().highest());
        }
    }

    fn tick(&mut self, clock: NanoClock, now: i64) {
        self.levels.tick(clock.as_probes_read(now));
        let step = self.windows.step(now, self.levels.is_bursting());
        self.carry_out(clock, step);
    }

    fn end(&mut self, clock: NanoClock) {
        self.count_calls(false);
        let step = self.windows.finish(clock.now());
        self.carry_out(clock, step);
        self.levels.stand_still();
    }

    fn carry_out(&self, clock: NanoClock, step: Option<Step>) {
        match step {
            Some(Step::Open(end)) => self.levels.open_window(clock.as_probes_read(end)),
            Some(Step::Over(start, end)) => {
                self.levels.close_window();
                let nanos = end.saturating_sub(start).unsigned_abs();
                self.levels.count_window(nanos);
                if let Some(events) = &self.events {
                    events.add(JvmEvent::BurstWindow { start: start.unsigned_abs(), nanos });
                }
            }
            None => {}
        }
    }
}

/// What a tick is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TickKind {
    Ordinary,
    /// Calls that end before the next tick are counted.
    Counting,
}

/// What probes read at a tick: the time, or something that differs from itself and has the time in its lower bits (`java.instr.Watch`).
fn tick_word(kind: TickKind, read: i64) -> f64 {
    const QUIET_NAN: u64 = 0x7ff8 << 48;
    const TIME_BITS: u64 = (1 << 51) - 1;
    match kind {
        TickKind::Ordinary => read as f64,
        TickKind::Counting => f64::from_bits(QUIET_NAN | read as u64 & TIME_BITS),
    }
}

/// A tick that is later than this was held up by no other program: the process was stopped, or had used up what its container may use.
const STANDSTILL: Duration = Duration::from_millis(20);

/// When calls are counted.
struct Counting {
    counted: Arc<WatchedCalls>,
    /// When calls were counted first.
    since: Option<i64>,
    /// When it began last.
    began: i64,
    is_counting: bool,
    /// From the last one to the next, at random: a program that does something each 20 ms must not be met at the same point each time.
    pause: i64,
    /// Not before that, because of a standstill.
    not_before: i64,
    random: u64,
}

impl Counting {
    /// The shortest and the longest mean time from one to the next, in nanoseconds.
    const EVERY: [i64; 2] = [200_000_000, 1_000_000_000];
    /// The longer the program has run, the more slowly it is expected to change.
    const PART: i64 = 100;
    /// Much longer than the ticker needs to wake up, 40 us on a virtual machine: if it does that on the processor of the thread that it
    /// counts, that thread does not run meanwhile.
    const LENGTH: Duration = Duration::from_millis(1);

    fn new(counted: Arc<WatchedCalls>) -> Counting {
        Counting {
            counted,
            since: None,
            began: 0,
            is_counting: false,
            pause: 0,
            not_before: 0,
            random: 0x2545_f491_4f6c_dd1d,
        }
    }

    /// Notes that the process did nothing for this time before this moment. What was counted meanwhile would represent a much longer time, and the
    /// first moment afterwards for all others: the threads of the program wake up at the same time.
    fn stood_still(&mut self, now: i64, time: Duration) {
        self.counted.stood_still_for(time);
        if std::mem::take(&mut self.is_counting) {
            self.counted.drop_window(probe_registry::of_process().highest());
        }
        let [shortest, _] = Counting::EVERY;
        self.not_before = now + (next(&mut self.random) % shortest.unsigned_abs()).cast_signed();
    }

    /// What the tick at this moment is for.
    fn kind(&mut self, now: i64) -> TickKind {
        if std::mem::take(&mut self.is_counting) {
            let nanos = now.wrapping_sub(self.began).max(0).unsigned_abs();
            self.counted.counted_for(Duration::from_nanos(nanos));
            return TickKind::Ordinary;
        }
        let since = *self.since.get_or_insert(now);
        let is_due = now.wrapping_sub(self.began) >= self.pause;
        self.is_counting = is_due && now.wrapping_sub(self.not_before) >= 0;
        if self.is_counting {
            self.began = now;
            let [shortest, longest] = Counting::EVERY;
            let mean = (now.wrapping_sub(since) / Counting::PART).clamp(shortest, longest);
            self.pause = mean / 2 + (next(&mut self.random) % mean.unsigned_abs()).cast_signed();
            return TickKind::Counting;
        }
        TickKind::Ordinary
    }
}

/// Ticks until it is `stopped`; the `first` tick was before.
fn tick(
    (clock, first): (NanoClock, i64),
    (mut pace, mut late): (TickPace, LateTicks),
    mut counting: Option<Counting>,
    stopped: &AtomicBool,
    mut set: impl FnMut(TickKind, i64),
) -> TickIntervals {
    let (mut intervals, mut random) = (TickIntervals::default(), 0x9e37_79b9_7f4a_7c15);
    let (began, mut last, mut longest) = (Instant::now(), None, Duration::ZERO);
    while !stopped.load(Ordering::Acquire) {
        late.pace(pace.longest());
        let now = clock.now();
        if let (Some(last), Some(counting)) = (last, &mut counting) {
            let late_by = late_by(now, last, longest);
            if late_by > STANDSTILL {
                counting.stood_still(now, late_by);
            }
        }
        let kind = counting.as_mut().map_or(TickKind::Ordinary, |counting| counting.kind(now));
        // On a busy machine this thread may begin late: that is an interval like any other.
        let before = last.unwrap_or(first);
        intervals.add(now.wrapping_sub(before));
        // Known before a call that ends at this tick can be recorded.
        late.ticked(before, now);
        set(kind, now);
        last = Some(now);
        if pace.ticked(began.elapsed()) {
            pace.review(Spent { elapsed: began.elapsed(), ticker: thread_cpu_time(), process: process_cpu_time() });
        }
        longest = if kind == TickKind::Counting { Counting::LENGTH } else { pace.longest() };
        // A garbage collection holds the writing up: what was in progress meanwhile must see that much time.
        if clock.now().wrapping_sub(now) < i64::try_from(longest.as_nanos()).unwrap_or(i64::MAX) {
            std::thread::sleep(pause(longest, &mut random));
        }
    }
    intervals.used = thread_cpu_time();
    intervals
}

/// How much more than `longest` has passed since the last tick.
fn late_by(now: i64, last: i64, longest: Duration) -> Duration {
    Duration::from_nanos(now.wrapping_sub(last).max(0).unsigned_abs()).saturating_sub(longest)
}

/// A random time between half of `longest` and that, less what waking up takes.
fn pause(longest: Duration, random: &mut u64) -> Duration {
    const WAKING_UP: Duration = Duration::from_micros(20);
    let half = u64::try_from(longest.as_nanos() / 2).unwrap_or(0);
    (longest - Duration::from_nanos(next(random) % half.max(1))).saturating_sub(WAKING_UP)
}

/// The next random number: Marsaglia's xorshift.
fn next(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::recorder::Seen;
    use records::SharedLengths;

    #[test]
    fn pauses_lie_between_half_a_tick_and_a_whole_one_and_differ() {
        let (longest, mut random) = (Duration::from_micros(1000), 7);
        let pauses: Vec<Duration> = (0..1000).map(|_| pause(longest, &mut random)).collect();
        let (shortest, longest) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
        assert!((480..490).contains(&shortest.as_micros()) && (970..=980).contains(&longest.as_micros()), "{pauses:?}");
        let mean = pauses.iter().sum::<Duration>() / 1000;
        assert!((720..740).contains(&mean.as_micros()), "{mean:?}");
    }

    #[test]
    fn ticks_that_count_differ_from_themselves_and_have_the_time() {
        let now = 81_234_567_890_123;
        assert_eq!(tick_word(TickKind::Ordinary, now), 81_234_567_890_123.0);
        let counting = tick_word(TickKind::Counting, now);
        assert!(counting.is_nan());
        assert_eq!(counting.to_bits() & ((1 << 51) - 1), now as u64);
    }

    fn counted() -> (Arc<WatchedCalls>, &'static AtomicU64) {
        let counts: &'static [AtomicU64; 1] = Box::leak(Box::default());
        (Arc::new(WatchedCalls::over(counts)), &counts[0])
    }

    fn sample(counted: &WatchedCalls, calls: &AtomicU64) -> Seen {
        calls.store(5, Ordering::Relaxed);
        counted.collect(0);
        counted.take(1).unwrap()
    }

    #[test]
    fn calls_are_counted_from_time_to_time_for_one_tick() {
        let (counted, calls) = counted();
        let mut counting = Counting::new(Arc::clone(&counted));
        let mut begins = |from: i64, to: i64| {
            let times = (from..to).step_by(1_000_000);
            times.filter(|now| counting.kind(*now) == TickKind::Counting).collect::<Vec<_>>()
        };
        let first = begins(200_000_000, 10_200_000_000);
        assert_eq!(first.first(), Some(&200_000_000));
        assert!((40..60).contains(&first.len()), "five times a second: {first:?}");
        let phases = first.iter().map(|now| now / 1_000_000 % 20).collect::<std::collections::BTreeSet<_>>();
        assert!(phases.len() > 10, "what happens each 20 ms is met at different points: {phases:?}");
        let windows = Duration::from_millis(first.len() as u64);
        assert_eq!(sample(&counted, calls).counted, windows, "for a tick each time");
        let later = begins(100_000_000_000, 150_000_000_000);
        assert!((40..60).contains(&later.len()), "once a second: {later:?}");
    }

    #[test]
    fn nothing_is_counted_over_a_standstill_nor_right_after_it() {
        let (counted, calls) = counted();
        let mut counting = Counting::new(Arc::clone(&counted));
        let (ordinary, counts) = (TickKind::Ordinary, TickKind::Counting);
        assert_eq!([200_000_000, 201_000_000, 600_000_000].map(|now| counting.kind(now)), [counts, ordinary, counts]);
        let (resumed, stopped) = (800_000_000, Duration::from_millis(499));
        counting.stood_still(resumed, stopped);
        assert_eq!(counting.kind(resumed), ordinary, "that one does not tell of half a second");
        counted.counted_for(Duration::from_millis(1));
        let seen = sample(&counted, calls);
        assert_eq!((seen.counted, seen.stood_still), (Duration::from_millis(1), stopped));
        let begins = |at: &i64| counting.kind(*at) == counts;
        let first = (resumed..).step_by(1_000_000).find(begins).unwrap() - resumed;
        assert!((1_000_000..=300_000_000).contains(&first), "{first}: at a random moment");
        assert_eq!(late_by(5_000_000, 1_000_000, Duration::from_millis(1)), Duration::from_millis(3));
        assert_eq!(late_by(1_500_000, 1_000_000, Duration::from_millis(1)), Duration::ZERO);
    }

    #[test]
    fn the_time_until_the_thread_begins_to_tick_is_an_interval_too() {
        let (clock, stopped) = (NanoClock::reading(10_000_000_000), AtomicBool::new(false));
        let lengths = SharedLengths::default();
        let pace = (TickPace::new(Some(Duration::from_millis(1))), LateTicks::new(Arc::clone(&lengths), None));
        let intervals =
            tick((clock, 7_000_000_000), pace, None, &stopped, |_, _| stopped.store(true, Ordering::Release));
        assert_eq!(intervals.count(), 1);
        assert!(intervals.longest()[0] >= 3e9, "{intervals:?}");
        assert!(lengths.lock().is_blurred(7_000_000_000, 2_900_000_000));
    }

    #[test]
    fn late_ticks_weigh_more_in_the_root_mean_square() {
        let mut intervals = TickIntervals::default();
        assert_eq!((intervals.mean(), intervals.root_mean_square()), (None, None));
        [1, 1, 1, 5].into_iter().for_each(|nanos| intervals.add(nanos));
        assert_eq!(intervals.mean(), Some(2.0));
        assert_eq!(
            (intervals.root_mean_square(), intervals.longest()),
            (Some(7_f64.sqrt()), &[5.0, 1.0, 1.0, 1.0][..])
        );
        (0..100).for_each(|nanos| intervals.add(nanos));
        assert_eq!((intervals.longest().len(), intervals.longest()[63]), (64, 36.0));
    }

    #[test]
    fn the_intervals_of_several_tickers_are_those_of_one() {
        let intervals = |range: std::ops::Range<i64>| {
            let mut intervals =
                TickIntervals { used: Duration::from_nanos(range.end.unsigned_abs()), ..TickIntervals::default() };
            range.for_each(|nanos| intervals.add(nanos));
            intervals
        };
        let mut merged = TickIntervals::default();
        merged.merge(&intervals(50..120));
        merged.merge(&intervals(0..50));
        assert_eq!(merged, TickIntervals { used: Duration::from_nanos(170), ..intervals(0..120) });
    }
}
