//! One switch for all probes of a session, those with fixed levels too, and the tick that those at level watch read.
//!
//! It is a field that every probe looks at before it records (`java.instr.Timer.on`), so it acts at once and touches no class.
//! Probes at level time go on reading the clock; `docs/governor.md` has what is left of their cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use records::SharedLengths;
use settings::WatchConfig;
use trace::TICK_LIMIT;

use crate::jvm::{JavaVm, Jni, NanoClock};
use crate::probes::runtime_classes::RuntimeClasses;
use crate::recorder::jvm_event_recording::JvmEventRecording;
use crate::recorder::{
    BurstWindows, JvmEventQueue, LateTicks, LiveTicks, TickIntervals, TickSettings, Ticker, WatchedCalls,
};

/// Who wants the probes to be off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PausedBy {
    /// A person.
    Request,
    /// The JVM is short of heap.
    Breaker,
}

/// The switch of one session.
#[derive(Debug)]
pub(crate) struct ProbeSwitch {
    vm: JavaVm,
    /// The longest time between two ticks and the priority of the ticking thread.
    ticks: TickSettings,
    /// Who wants to know how often methods are called that are watched.
    counted: Option<Arc<WatchedCalls>>,
    /// When windows of level burst open.
    windows: BurstWindows,
    /// What is known about the ticks.
    lengths: SharedLengths,
    /// Some probe reads the tick. Beside the state, because every class that is loaded asks, even one that is loaded by Java code
    /// that runs while the state is locked.
    needs_ticks: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The runtime's classes and Java's clock while the session records; none before and after.
    recording: Option<(RuntimeClasses, NanoClock)>,
    ticker: Option<Ticker>,
    /// The intervals of tickers that ended with a pause.
    ticked: TickIntervals,
    /// Where windows are told.
    events: Option<Arc<JvmEventQueue>>,
    /// Some probe is at level full and its figures are wanted.
    counts_full: bool,
    paused_by: Vec<PausedBy>,
}

impl ProbeSwitch {
    /// A switch for probes that are off.
    pub(crate) fn new(
        vm: JavaVm,
        config: WatchConfig,
        counted: Option<Arc<WatchedCalls>>,
        windows: BurstWindows,
        lengths: SharedLengths,
    ) -> ProbeSwitch {
        let longest = config.tick_us.map(|tick| Duration::from_micros(u64::from(tick)));
        let ticks = TickSettings { longest, real_time: config.real_time };
        let needs_ticks = AtomicBool::new(false);
        ProbeSwitch { vm, ticks, counted, windows, lengths, needs_ticks, state: Mutex::new(State::default()) }
    }

    /// Switches all probes on: the session begins.
    pub(crate) fn begin(
        &self,
        jni: &Jni<'_>,
        runtime: RuntimeClasses,
        clock: NanoClock,
        counts_full: bool,
    ) -> Result<(), String> {
        let mut state = self.state.lock();
        runtime.start(jni)?;
        state.recording = Some((runtime, clock));
        state.counts_full = counts_full;
        Ok(())
    }

    /// From now on there may be probes at level full whose figures are wanted.
    pub(crate) fn count_full(&self, jni: &Jni<'_>) -> Result<(), String> {
        let mut state = self.state.lock();
        let Some((runtime, _)) = state.recording.filter(|_| !state.counts_full) else { return Ok(()) };
        state.counts_full = true;
        if state.paused_by.is_empty() { runtime.switch(jni, true, true) } else { Ok(()) }
    }

    /// Some class got a probe that reads the tick.
    pub(crate) fn need_ticks(&self, events: &JvmEventRecording) {
        if self.needs_ticks.load(Ordering::Acquire) {
            return;
        }
        let mut state = self.state.lock();
        if !self.needs_ticks.load(Ordering::Acquire) {
            if let Some(tick) = self.ticks.longest {
                events.setting("watch.tick-ns", tick.as_nanos().to_string());
            }
            state.events = state.recording.map(|(_, clock)| events.queue(clock));
            state.start_ticker(self);
            // Last: a thread that finds it set does not wait for the first tick.
            self.needs_ticks.store(true, Ordering::Release);
        }
    }

    /// Switches all probes off at once; calls that run end without a record. Whether that is a change.
    pub(crate) fn pause(&self, by: PausedBy) -> bool {
        self.change(|paused_by| {
            let is_new = !paused_by.contains(&by);
            paused_by.extend(is_new.then_some(by));
        })
    }

    /// Switches all probes on again, unless somebody else wants them off. Whether that is a change.
    pub(crate) fn resume(&self, by: PausedBy) -> bool {
        self.change(|paused_by| paused_by.retain(|other| *other != by))
    }

    /// Who wants the probes to be off.
    pub(crate) fn paused_by(&self) -> Vec<PausedBy> {
        self.state.lock().paused_by.clone()
    }

    /// Nothing can be switched any more: the session is about to end.
    pub(crate) fn close(&self) {
        self.state.lock().recording = None;
    }

    /// Ends the ticks, and tells in `events` how regular they were.
    pub(crate) fn end(&self, events: &JvmEventRecording) {
        self.close();
        let (ticker, mut intervals) = {
            let mut state = self.state.lock();
            (state.ticker.take(), std::mem::take(&mut state.ticked))
        };
        if let Some(ticker) = ticker {
            intervals.merge(&ticker.stop());
        }
        if let (Some(mean), Some(root_mean_square)) = (intervals.mean(), intervals.root_mean_square()) {
            events.setting("watch.ticks", intervals.count().to_string());
            events.setting("watch.tick-mean-ns", format!("{mean:.0}"));
            events.setting("watch.tick-rms-ns", format!("{root_mean_square:.0}"));
            events.setting("watch.tick-cost-ns", format!("{:.0}", intervals.cost().unwrap_or_default()));
            let longest: Vec<String> = intervals.longest().iter().map(|nanos| format!("{nanos:.0}")).collect();
            events.setting("watch.tick-max-ns", longest.first().cloned().unwrap_or_default());
            events.setting("watch.ticks-longest-ns", longest.join(" "));
            // Recordings are analysed from the end: known there, it says more about each call.
            if let Some(limit) = self.lengths.lock().limit() {
                events.setting(TICK_LIMIT, limit.to_string());
            }
        }
    }

    fn change(&self, edit: impl FnOnce(&mut Vec<PausedBy>)) -> bool {
        let mut state = self.state.lock();
        let state = &mut *state;
        let Some((runtime, _)) = state.recording else { return false };
        let was_on = state.paused_by.is_empty();
        let before = state.paused_by.len();
        edit(&mut state.paused_by);
        let is_on = state.paused_by.is_empty();
        if is_on != was_on {
            let counts_full = state.counts_full;
            let switched = self.vm.with_attached_daemon(c"instr-switch", |jni| runtime.switch(jni, is_on, counts_full));
            if let Some(Err(error)) = switched {
                tracing::error!(%error, is_on, "the probes cannot be switched");
            }
            if is_on && self.needs_ticks.load(Ordering::Acquire) {
                state.start_ticker(self);
            } else if let Some(ticker) = state.ticker.take() {
                state.ticked.merge(&ticker.stop());
            }
        }
        before != state.paused_by.len()
    }
}

impl State {
    fn start_ticker(&mut self, switch: &ProbeSwitch) {
        let Some((runtime, clock)) = self.recording.filter(|_| self.ticker.is_none() && self.paused_by.is_empty())
        else {
            return;
        };
        let live = LiveTicks::new(switch.windows.clone(), self.events.clone());
        let late = LateTicks::new(Arc::clone(&switch.lengths), self.events.clone());
        match Ticker::start(switch.vm, clock, runtime.tick, switch.ticks, live, switch.counted.clone(), late) {
            Ok(ticker) => self.ticker = Some(ticker),
            Err(error) => tracing::error!(%error, "no thread for the ticker; level watch records nothing"),
        }
    }
}
