//! What `instr hot` and `instr callers` ask for: the detector that is wanted is started, watched for a while, and ended.

mod caller_finder;

pub(super) use caller_finder::too_many_copies;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use control::{
    Callers, CallersRequest, CallersSource, ErrorCode, HOT_PERCENT, HOT_TOP, HotBy, HotRequest, HotSpot, HotSpots,
    LONGEST_HOT_SECONDS, Refusal, USUAL_HOT_SECONDS,
};
use instrument_core::rules::patterns::NameGlob;
use performance_data::PerformanceData;
use settings::{AllocationConfig, SamplerConfig};

use super::Session;
use super::callees::MeantMethod;
use super::claims::check_for_tasks;
use crate::contexts;
use crate::hot_spots::{
    Attribution, CalledMethod, Detector, JvmThreadTimes, Listed, ProcessorSamples, QueuedSamples, RecordedCalls,
    States, TASK_BEGINS, Tally, ThreadSamples, watch,
};
use crate::jvm::{Jni, VmStructs, perf_memory};
use crate::sampler::{AllocationSampler, SampleQueue, Sampler, Surroundings};

/// Fewer samples say little: a share of a half may be off by more than ten points.
const FEW_SAMPLES: u64 = 100;
const BIASED: &str = "the samples are biased, so shares have no margins";
/// Frames of a stack, where only the method that executes is counted ...
const INNERMOST: u32 = 1;
/// ... and where callers are.
const WITH_CALLERS: u32 = 256;
/// Callers in an answer, unless the request states another number.
const MOST_CALLERS: usize = 20;
/// Samples are enough if no caller with this part of the time ...
const LARGE: f64 = 0.05;
/// ... has a wider margin.
const ENOUGH: f64 = 0.02;

/// What was seen.
pub(super) struct Watched {
    pub(super) tally: Tally,
    took: Duration,
    pub(super) source: &'static str,
    pub(super) bias: Option<&'static str>,
    pub(super) is_biased: bool,
    /// The milliseconds that a weight of 1 represents.
    millis: f64,
    pub(super) notes: Vec<String>,
}

/// What is done when the time is over.
enum Started {
    Sampler(Sampler),
    Allocations,
    Nothing,
}

impl Session {
    /// Looks for hot methods, for as long as the request says.
    pub(super) fn hot_spots_of(&self, request: &HotRequest, goes_on: &dyn Fn() -> bool) -> Result<HotSpots, Refusal> {
        let by = request.by.unwrap_or(HotBy::Cpu);
        self.end_background_walk();
        let begin = (by == HotBy::Cpu).then(JvmThreadTimes::read);
        let watched = self.watch(by, (request.seconds, goes_on), Tally::default())?;
        let jvm_threads = begin.map(|begin| begin.used_until(&JvmThreadTimes::read())).unwrap_or_default();
        Ok(HotSpots { jvm_threads, ..hot_spots(by, request, &watched) })
    }

    /// Looks who calls a method, for as long as the request says.
    pub(super) fn callers_of(&self, request: &CallersRequest, goes_on: &dyn Fn() -> bool) -> Result<Callers, Refusal> {
        let by = request.by.unwrap_or(HotBy::Cpu);
        let by_hook = request.source == Some(CallersSource::Finder) || request.across_threads;
        if !by_hook && !matches!(by, HotBy::Cpu | HotBy::Wall) {
            return Err(Refusal::from("samples find callers by `cpu` or by `wall`".to_owned())
                .help("a hook (`--source finder`) also measures by `allocated`, `cycles` and `instructions`"));
        }
        let meant = self.meant_methods(&request.method, request.loader.as_deref())?;
        check_for_tasks(request.across_threads)?;
        self.end_background_walk();
        let usual = if request.across_threads { CallersSource::Finder } else { CallersSource::Samples };
        match request.source.unwrap_or(usual) {
            CallersSource::Samples if request.across_threads => {
                Err(Refusal::from("no sample says who has handed a task over".to_owned())
                    .help("leave `--source` out, or `--across-threads`"))
            }
            CallersSource::Auto if request.across_threads => Ok(Callers {
                why: Some("no sample says who has handed a task over".to_owned()),
                ..self.find_callers(request, &meant, goes_on)?
            }),
            CallersSource::Samples => Ok(self.sampled_callers(request, by, &meant, goes_on)?.0),
            CallersSource::Finder => self.find_callers(request, &meant, goes_on),
            CallersSource::Auto => {
                let seconds = request.seconds.unwrap_or(USUAL_HOT_SECONDS);
                if seconds > LONGEST_HOT_SECONDS / 2 {
                    let most = LONGEST_HOT_SECONDS / 2;
                    return Err(Refusal::from(format!(
                        "{seconds} s: up to {most} s are possible, as `auto` may look twice"
                    )));
                }
                let (mut sampled, is_biased) = self.sampled_callers(request, by, &meant, goes_on)?;
                let Some(why) = why_not_by_samples(&sampled, is_biased) else {
                    sampled.why = Some("the samples are unbiased, and enough for margins of 2 points".to_owned());
                    return Ok(sampled);
                };
                if !goes_on() {
                    return Ok(sampled);
                }
                match self.find_callers(request, &meant, goes_on) {
                    Ok(found) if found.hook.as_ref().is_some_and(|hook| hook.calls > 0) => Ok(Callers {
                        why: Some(why),
                        sampler: sampled.sampler,
                        samples: sampled.samples,
                        share: sampled.share,
                        ..found
                    }),
                    Ok(_) => {
                        sampled.why = Some(format!("{why}; but no call began while a hook was in the method"));
                        Ok(sampled)
                    }
                    Err(refusal) => {
                        sampled.why = Some(format!("{why}; but there can be no hook"));
                        sampled.notices.push(refusal.to_string());
                        Ok(sampled)
                    }
                }
            }
        }
    }

    /// Returns callers by samples, and whether these are biased.
    fn sampled_callers(
        &self,
        request: &CallersRequest,
        by: HotBy,
        meant: &[MeantMethod],
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(Callers, bool), Refusal> {
        let called = Attribution::CallerOf(Arc::new(called(request, meant)?));
        let watched = self.watch(by, (request.seconds, goes_on), Tally::new(called))?;
        Ok((callers(by, request, &watched), watched.is_biased))
    }

    /// Looks for a while; what is seen is added to the tally.
    pub(super) fn watch(
        &self,
        by: HotBy,
        (seconds, goes_on): (Option<u64>, &dyn Fn() -> bool),
        mut tally: Tally,
    ) -> Result<Watched, Refusal> {
        let seconds = seconds.unwrap_or(USUAL_HOT_SECONDS);
        if !(1..=LONGEST_HOT_SECONDS).contains(&seconds) {
            return Err(Refusal::from(format!("{seconds} s: from 1 to {LONGEST_HOT_SECONDS} s are possible")));
        }
        let Some(_one_at_a_time) = self.looking_for_hot_spots.try_lock() else {
            return Err(Refusal::new(ErrorCode::Busy, "somebody else is looking for hot spots")
                .help("ask again when that is over"));
        };
        if self.instrumentation.is_leaving() {
            return Err(Refusal::new(ErrorCode::Ended, "the recording has ended"));
        }
        if !self.has_started.load(Ordering::Acquire) {
            return Err(Refusal::new(ErrorCode::Busy, "the agent is still starting").help("ask again in a moment"));
        }
        let depth = if tally.needs_stacks() { WITH_CALLERS } else { INNERMOST };
        let found = self.vm.with_attached_daemon(c"instr-hot", |jni| {
            let (mut detector, started) = self.start_detector(by, depth, jni)?;
            let goes_on = || goes_on() && !self.instrumentation.is_leaving();
            let took = watch(&mut *detector, jni, &mut tally, (Duration::from_secs(seconds), &goes_on));
            let doubt = match &started {
                Started::Sampler(sampler) => sampler.doubt().map(str::to_owned),
                Started::Allocations | Started::Nothing => None,
            };
            self.end_detector(started);
            let notes = doubt.into_iter().chain(detector.notes().iter().cloned()).collect();
            let ((source, bias), is_biased, millis) = (detector.source(), detector.is_biased(), detector.millis(took));
            Ok(Watched { tally, took, source, bias, is_biased, millis, notes })
        });
        found.unwrap_or_else(|| Err("the JVM takes no more threads".to_owned())).map_err(Refusal::from)
    }

    fn start_detector(&self, by: HotBy, depth: u32, jni: &Jni<'_>) -> Result<(Box<dyn Detector>, Started), String> {
        let threads = |states| Box::new(ThreadSamples::new(self.jvmti, states, depth as usize));
        Ok(match by {
            HotBy::Cpu => self.processor_samples(depth, jni)?,
            HotBy::Allocated => self.allocation_samples(depth)?,
            HotBy::Wall => (threads(States::All), Started::Nothing),
            HotBy::Locks => (threads(States::Blocked), Started::Nothing),
            HotBy::Cycles | HotBy::Instructions => {
                return Err(format!(
                    "no sample counts {}: `instr callers --source finder` and `instr walk --metric` do",
                    by.name()
                ));
            }
            HotBy::Calls => {
                let rates = self.rates.clone().ok_or("calls are not counted: `[control]` has `socket = false`")?;
                (Box::new(RecordedCalls::new(self.instrumentation.probes, rates)), Started::Nothing)
            }
        })
    }

    /// Those of the recording if it has samples; others otherwise.
    fn processor_samples(&self, depth: u32, jni: &Jni<'_>) -> Result<(Box<dyn Detector>, Started), String> {
        if let Some(sampler) = self.running.lock().sampler.as_ref().filter(|sampler| sampler.is_at_work()) {
            let interval =
                self.instrumentation.config.sampler.as_ref().map_or(Duration::ZERO, |config| config.interval);
            let knows_inlined = self.sampled_from_the_start.load(Ordering::Acquire) || notes_inlined();
            let of = ProcessorSamples { engine: sampler.engine(), knows_inlined, interval };
            let samples = QueuedSamples::of_shared(Arc::clone(&self.samples), Some(of));
            return Ok((Box::new(samples), Started::Nothing));
        }
        let clock = self.running.lock().clock.ok_or("the agent has not started yet")?;
        let (vm, jvmti, java_version) = (self.vm, self.jvmti, self.instrumentation.java_version);
        let surroundings = Surroundings { vm, jvmti, clock, java_version };
        let queue: Arc<SampleQueue> = Arc::default();
        let config = SamplerConfig { depth, ..SamplerConfig::default() };
        let listen = || {
            self.instrumentation.late.keep_listening(jvmti);
            self.instrumentation.events.listen_to_threads(jvmti, true);
        };
        let sampler = Sampler::start(surroundings, jni, &config, Arc::clone(&queue), listen)?;
        let (engine, interval) = (sampler.engine(), config.interval);
        let of = ProcessorSamples { engine, knows_inlined: notes_inlined(), interval };
        let samples = QueuedSamples::of_own(queue, Some(of));
        Ok((Box::new(samples), Started::Sampler(sampler)))
    }

    fn allocation_samples(&self, depth: u32) -> Result<(Box<dyn Detector>, Started), String> {
        if self.allocations.read().is_some() {
            let samples = QueuedSamples::of_shared(Arc::clone(&self.allocated), None);
            return Ok((Box::new(samples), Started::Nothing));
        }
        let clock = self.running.lock().clock.ok_or("the agent has not started yet")?;
        let queue: Arc<SampleQueue> = Arc::default();
        let config = AllocationConfig { depth, ..AllocationConfig::default() };
        let listen = |sampler| *self.allocations.write() = Some(sampler);
        if let Err(problem) = AllocationSampler::start(self.jvmti, clock, &config, Arc::clone(&queue), listen) {
            *self.allocations.write() = None;
            return Err(problem);
        }
        Ok((Box::new(QueuedSamples::of_own(queue, None)), Started::Allocations))
    }

    fn end_detector(&self, started: Started) {
        match started {
            Started::Sampler(sampler) => {
                sampler.stop();
                // The sampler has switched events off that others may want.
                let for_others = contexts::of_process().reach_across_threads();
                self.instrumentation.events.listen_to_threads(self.jvmti, for_others);
                if !self.instrumentation.is_leaving() {
                    self.instrumentation.events.listen(self.jvmti, true);
                }
            }
            Started::Allocations => {
                AllocationSampler::stop(self.jvmti);
                *self.allocations.write() = None;
            }
            Started::Nothing => {}
        }
    }
}

fn hot_spots(by: HotBy, request: &HotRequest, watched: &Watched) -> HotSpots {
    let tally = &watched.tally;
    let listed = Listed {
        share: f64::from(request.share_percent.unwrap_or(HOT_PERCENT)) / 100.0,
        top: request.top.unwrap_or(HOT_TOP),
        margins: by != HotBy::Calls && !watched.is_biased,
        waiting: by == HotBy::Wall,
    };
    let hot = tally.hot(listed);
    HotSpots {
        by,
        seconds: watched.took.as_secs_f64(),
        samples: tally.samples(),
        source: watched.source.to_owned(),
        bias: watched.bias.map(str::to_owned),
        packages: tally.packages(),
        without_method: tally.without_method(),
        jvm_threads: Vec::new(),
        notices: [below(&hot, listed.share).into_iter().collect(), notices(by, watched)].concat(),
        hot,
    }
}

/// Whether the JVM was started so that all compiled code says where inlined methods are.
fn notes_inlined() -> bool {
    let memory = VmStructs::find().and_then(perf_memory);
    let data = memory.as_deref().and_then(PerformanceData::parse);
    let is_set = |data: &PerformanceData| {
        let places = ["java.rt.vmArgs", "java.rt.vmFlags"].map(|name| data.text(name));
        places.into_iter().flatten().any(|words| words.contains("+DebugNonSafepoints"))
    };
    data.as_ref().is_some_and(is_set)
}

/// Says so if the listed methods have not the share that was asked for.
fn below(hot: &[HotSpot], share: f64) -> Option<String> {
    let first = hot.first().filter(|first| first.share < share)?;
    Some(format!(
        "no method has {:.0} %: those with the largest shares are listed, from {:.1} %",
        share * 100.0,
        first.share * 100.0
    ))
}

/// Returns the method whose callers are looked for.
fn called(request: &CallersRequest, meant: &[MeantMethod]) -> Result<CalledMethod, Refusal> {
    let through: Result<Vec<NameGlob>, _> = request.through.iter().map(|class| NameGlob::class(class)).collect();
    let through = through.map_err(|error| error.message)?;
    Ok(CalledMethod { texts: meant.iter().map(|method| method.text.clone()).collect(), through })
}

/// Why samples do not say enough about callers, if they do not.
fn why_not_by_samples(sampled: &Callers, is_biased: bool) -> Option<String> {
    let callers = sampled.callers.iter().map(|of| (of.time_share, of.margin));
    why_not_enough(sampled.samples, callers, is_biased)
}

/// The same by the number of samples, and the shares and margins of callers.
fn why_not_enough(samples: u64, callers: impl Iterator<Item = (f64, Option<f64>)>, is_biased: bool) -> Option<String> {
    if samples == 0 {
        return Some("no sample has met the method".to_owned());
    }
    if is_biased {
        return Some("the samples are biased".to_owned());
    }
    let large = callers.filter(|(share, _)| *share >= LARGE);
    match large.filter_map(|(_, margin)| margin).max_by(f64::total_cmp) {
        None => Some(format!("no caller has {:.0} % of the samples", LARGE * 100.0)),
        Some(widest) if widest > ENOUGH => Some(format!(
            "{} samples leave a margin of {:.1} points, more than {:.0}",
            samples,
            widest * 100.0,
            ENOUGH * 100.0
        )),
        Some(_) => None,
    }
}

fn callers(by: HotBy, request: &CallersRequest, watched: &Watched) -> Callers {
    let tally = &watched.tally;
    let (samples, all) = (tally.samples(), tally.all_samples());
    let mut notices = watched.notes.clone();
    match samples {
        0 => notices.push(format!(
            "none of {all} samples was taken while it was executing: it is not called, takes too little time, or the JIT has inlined it; `--source finder` sees each call"
        )),
        1..FEW_SAMPLES => notices.push(few(samples)),
        _ => {}
    }
    notices.extend(watched.is_biased.then(|| BIASED.to_owned()));
    let in_tasks = tally.without_method().into_iter().find(|of| of.reason == TASK_BEGINS);
    if in_tasks.is_some_and(|of| of.share >= LARGE) {
        notices.push("`--across-threads` looks for who hands the tasks over".to_owned());
    }
    Callers {
        method: request.method.clone(),
        by,
        seconds: watched.took.as_secs_f64(),
        source: CallersSource::Samples.name().to_owned(),
        why: None,
        hook: None,
        sampler: watched.source.to_owned(),
        bias: watched.bias.map(str::to_owned),
        samples,
        share: samples as f64 / all.max(1) as f64,
        callers: tally.callers(request.most.unwrap_or(MOST_CALLERS), !watched.is_biased, watched.millis),
        without_caller: tally.without_method(),
        notices,
    }
}

fn few(samples: u64) -> String {
    format!("{samples} samples say little: look for longer (`--seconds`)")
}

fn notices(by: HotBy, watched: &Watched) -> Vec<String> {
    let mut notices = watched.notes.clone();
    match (by, watched.tally.samples()) {
        (HotBy::Cpu, 0) => notices.push("no thread has used processor time".to_owned()),
        (HotBy::Wall, 0) => notices.push("no thread of Java was seen".to_owned()),
        (HotBy::Allocated, 0) => notices.push("too little was allocated for a sample".to_owned()),
        (HotBy::Locks, 0) => notices.push("no thread was seen waiting to enter a monitor".to_owned()),
        (HotBy::Calls, 0) => {
            notices
                .push("no method has recorded a call: a rule or `instr probe` makes methods record theirs".to_owned());
        }
        (HotBy::Calls | HotBy::Cycles | HotBy::Instructions, _) => {}
        (_, samples) if samples < FEW_SAMPLES => notices.push(few(samples)),
        _ => {}
    }
    notices.extend(watched.is_biased.then(|| BIASED.to_owned()));
    notices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_enough_if_they_are_unbiased_and_the_margins_of_large_callers_are_small() {
        let why = |callers: &[(f64, Option<f64>)], is_biased| {
            why_not_enough(900, callers.iter().copied(), is_biased).unwrap_or_default()
        };
        let (large, small) = ((0.9, Some(0.019)), (0.03, Some(0.04)));
        assert_eq!(why(&[large, small], false), "", "small callers may have wide margins");
        assert!(why(&[(0.9, Some(0.021))], false).contains("a margin of 2.1 points"));
        assert_eq!(why(&[large], true), "the samples are biased");
        assert_eq!(why(&[small], true), "the samples are biased");
        assert_eq!(why(&[small], false), "no caller has 5 % of the samples");
        assert_eq!(why_not_enough(0, [].into_iter(), false).as_deref(), Some("no sample has met the method"));
    }
}
