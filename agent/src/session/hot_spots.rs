//! What `instr hot` asks for: the detector that is wanted is started, watched for a while, and ended.

use std::sync::Arc;
use std::time::Duration;

use control::{
    ErrorCode, HOT_PERCENT, HOT_TOP, HotBy, HotRequest, HotSpots, LONGEST_HOT_SECONDS, Refusal, USUAL_HOT_SECONDS,
};
use settings::{AllocationConfig, SamplerConfig};

use super::Session;
use crate::hot_spots::{Detector, Listed, QueuedSamples, RecordedCalls, States, Tally, ThreadSamples, watch};
use crate::jvm::Jni;
use crate::sampler::{AllocationSampler, Engine, SampleQueue, Sampler, Surroundings};

/// Fewer samples say little: a share of a half may be off by more than ten points.
const FEW_SAMPLES: u64 = 100;
/// Only the method that executes is counted.
const DEPTH: u32 = 1;

/// What is done when the time is over.
enum Started {
    Sampler(Sampler),
    Allocations,
    Nothing,
}

impl Session {
    /// Looks for hot methods, for as long as the request says.
    pub(super) fn hot_spots_of(&self, request: &HotRequest) -> Result<HotSpots, Refusal> {
        let seconds = request.seconds.unwrap_or(USUAL_HOT_SECONDS);
        if !(1..=LONGEST_HOT_SECONDS).contains(&seconds) {
            return Err(Refusal::from(format!("{seconds} s: from 1 to {LONGEST_HOT_SECONDS} s are possible")));
        }
        let Some(_one_at_a_time) = self.looking_for_hot_spots.try_lock() else {
            return Err(Refusal::new(ErrorCode::Busy, "somebody else is looking for hot spots")
                .help("ask again when that is over"));
        };
        let by = request.by.unwrap_or(HotBy::Cpu);
        let found = self.vm.with_attached_daemon(c"instr-hot", |jni| {
            let (mut detector, started) = self.start_detector(by, jni)?;
            let mut tally = Tally::default();
            let goes_on = || !self.instrumentation.is_leaving();
            let took = watch(&mut *detector, jni, &mut tally, (Duration::from_secs(seconds), &goes_on));
            self.end_detector(started);
            Ok(hot_spots(by, request, &*detector, &tally, took))
        });
        found.unwrap_or_else(|| Err("the JVM takes no more threads".to_owned())).map_err(Refusal::from)
    }

    fn start_detector(&self, by: HotBy, jni: &Jni<'_>) -> Result<(Box<dyn Detector>, Started), String> {
        Ok(match by {
            HotBy::Cpu => self.processor_samples(jni)?,
            HotBy::Allocated => self.allocation_samples()?,
            HotBy::Wall => (Box::new(ThreadSamples::new(self.jvmti, States::All)), Started::Nothing),
            HotBy::Locks => (Box::new(ThreadSamples::new(self.jvmti, States::Blocked)), Started::Nothing),
            HotBy::Calls => {
                let rates = self.rates.clone().ok_or("calls are not counted: `[control]` has `socket = false`")?;
                (Box::new(RecordedCalls::new(self.instrumentation.probes, rates)), Started::Nothing)
            }
        })
    }

    /// Those of the recording if it has samples; others otherwise.
    fn processor_samples(&self, jni: &Jni<'_>) -> Result<(Box<dyn Detector>, Started), String> {
        if let Some(sampler) = &self.running.lock().sampler {
            let samples = QueuedSamples::of_shared(Arc::clone(&self.samples), Some(sampler.engine()));
            return Ok((Box::new(samples), Started::Nothing));
        }
        let clock = self.running.lock().clock.ok_or("the agent has not started yet")?;
        let (vm, jvmti, java_version) = (self.vm, self.jvmti, self.instrumentation.java_version);
        let surroundings = Surroundings { vm, jvmti, clock, java_version };
        let queue: Arc<SampleQueue> = Arc::default();
        let config = SamplerConfig { depth: DEPTH, ..SamplerConfig::default() };
        let listen = || self.instrumentation.late.keep_listening(jvmti);
        let sampler = Sampler::start(surroundings, jni, &config, Arc::clone(&queue), listen)?;
        let samples = QueuedSamples::of_own(queue, Some(sampler.engine()));
        Ok((Box::new(samples), Started::Sampler(sampler)))
    }

    fn allocation_samples(&self) -> Result<(Box<dyn Detector>, Started), String> {
        if self.allocations.read().is_some() {
            let samples = QueuedSamples::of_shared(Arc::clone(&self.allocated), None);
            return Ok((Box::new(samples), Started::Nothing));
        }
        let clock = self.running.lock().clock.ok_or("the agent has not started yet")?;
        let queue: Arc<SampleQueue> = Arc::default();
        let config = AllocationConfig { depth: DEPTH, ..AllocationConfig::default() };
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
            }
            Started::Allocations => {
                AllocationSampler::stop(self.jvmti);
                *self.allocations.write() = None;
            }
            Started::Nothing => {}
        }
    }
}

fn hot_spots(by: HotBy, request: &HotRequest, detector: &dyn Detector, tally: &Tally, took: Duration) -> HotSpots {
    let (source, bias) = detector.source();
    let listed = Listed {
        share: f64::from(request.percent.unwrap_or(HOT_PERCENT)) / 100.0,
        top: request.top.unwrap_or(HOT_TOP),
        margins: by != HotBy::Calls && !detector.is_biased(),
        waiting: by == HotBy::Wall,
    };
    HotSpots {
        by,
        seconds: took.as_secs_f64(),
        samples: tally.samples(),
        source: source.to_owned(),
        bias: bias.map(str::to_owned),
        hot: tally.hot(listed),
        packages: tally.packages(),
        without_method: tally.without_method(),
        notices: notices(by, tally, source == Engine::Jvmti.name() && by == HotBy::Cpu),
    }
}

fn notices(by: HotBy, tally: &Tally, is_biased: bool) -> Vec<String> {
    let mut notices = Vec::new();
    match (by, tally.samples()) {
        (HotBy::Cpu, 0) => notices.push("no thread has used processor time".to_owned()),
        (HotBy::Wall, 0) => notices.push("no thread of Java was seen".to_owned()),
        (HotBy::Allocated, 0) => notices.push("too little was allocated for a sample".to_owned()),
        (HotBy::Locks, 0) => notices.push("no thread was seen waiting to enter a monitor".to_owned()),
        (HotBy::Calls, 0) => {
            notices
                .push("no method has recorded a call: a rule or `instr probe` makes methods record theirs".to_owned());
        }
        (HotBy::Calls, _) => {}
        (_, samples) if samples < FEW_SAMPLES => {
            notices.push(format!("{samples} samples say little: look for longer (`--seconds`)"));
        }
        _ => {}
    }
    if is_biased {
        notices.push("the samples are biased, so shares have no margins".to_owned());
    }
    notices
}
