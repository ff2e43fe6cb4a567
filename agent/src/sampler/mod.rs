//! Samples of running threads: what each executes whenever it has used so much processor time.
//!
//! ```text
//! async:  timer of a thread --SIGPROF--> handler, AsyncGetCallTrace --> SampleBuffer \
//! jvmti:  processor times, GetThreadListStackTraces ----------------------------------> this thread: names, lines
//!                                                                  --> SampleQueue --> drainer --> trace file
//! ```
//! Decision 012 says which engine is sound where.

mod allocations;
pub(crate) mod code_map;
mod collector;
mod cpu_shares;
mod innermost_place;
mod method_names;
mod sample_queue;
mod thread_timers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use settings::{SamplerConfig, SamplerEngine};

pub(crate) use allocations::AllocationSampler;
pub(crate) use collector::SampleCounts;
pub(crate) use innermost_place::InnermostPlace;
pub(crate) use sample_queue::{QueuedFrame, QueuedItem, QueuedStack, SampleQueue};
pub(crate) use thread_timers::{class_prepared, thread_ended, thread_started, wants_threads};

use crate::jvm::{JavaVm, Jni, Jvmti, NanoClock, ask_for_sampling, block_signals, signal, threads_have_ids};
use collector::Collector;

/// With which the names of the agent's own threads begin.
pub(crate) const OWN_THREADS: &str = "instr-";
/// The last release of the JDK on which AsyncGetCallTrace was tested.
const LAST_TESTED: u32 = 25;

/// What takes the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Signals and AsyncGetCallTrace.
    Async,
    /// A thread and JVMTI's stacks.
    Jvmti,
}

impl Engine {
    /// Its name in configuration and recordings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Async => "async",
            Engine::Jvmti => "jvmti",
        }
    }

    /// In which respect its samples are not what one might think, for people.
    pub(crate) fn bias(self) -> &'static str {
        match self {
            Engine::Async => {
                "each thread by its own processor time, at any instruction; a method that C2 has inlined, above all a loop, may \
                 count for its caller, or the other way round, with margins and lines that do not say so; threads of the JVM itself (compiler, collector) are left out, virtual threads count for their carriers"
            }
            Engine::Jvmti => {
                "as many as processor time was used, but stacks are seen only at safepoints: hot loops and small methods \
                 count for their neighbours, threads that end within an interval are missed"
            }
        }
    }
}

/// Where a sampler lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings {
    pub(crate) vm: JavaVm,
    pub(crate) jvmti: Jvmti,
    pub(crate) clock: NanoClock,
    /// Feature release of the JDK.
    pub(crate) java_version: u32,
}

/// A running sampler.
#[derive(Debug)]
pub(crate) struct Sampler {
    thread: JoinHandle<SampleCounts>,
    stop: Arc<AtomicBool>,
    jvmti: Jvmti,
    engine: Engine,
    doubt: Option<String>,
}

impl Sampler {
    /// Begins to take samples; an error says why that cannot be done, and the application is not affected. The class events must be on if the engine is
    /// [`Engine::Async`], which is why `listen` is called before. Only one sampler can be at work.
    pub(crate) fn start(
        surroundings: Surroundings,
        jni: &Jni<'_>,
        config: &SamplerConfig,
        queue: Arc<SampleQueue>,
        listen: impl FnOnce(),
    ) -> Result<Sampler, String> {
        let jvmti = surroundings.jvmti;
        if let Err(error) = ask_for_sampling(jvmti) {
            tracing::warn!(%error, "samples have no lines");
        }
        if !threads_have_ids(jni) {
            return Err("this JVM's threads cannot be told apart".to_owned());
        }
        let interval = config.interval;
        let depth = config.depth as usize;
        let (engine, doubt) = choose(config.engine, surroundings)?;
        queue.engine(surroundings.clock.now() as u64, engine, interval);
        if engine == Engine::Async {
            listen();
            thread_timers::start(jvmti, jni, interval, depth).map_err(|error| error.to_string())?;
        }
        tracing::info!(engine = engine.name(), ?interval, depth, "samples are taken");
        let stop = Arc::new(AtomicBool::new(false));
        let collector = Collector::new(surroundings, engine, interval, depth, queue);
        match spawn(collector, surroundings.vm, Arc::clone(&stop)) {
            Ok(thread) => Ok(Sampler { thread, stop, jvmti, engine, doubt }),
            Err(error) => {
                thread_timers::stop(jvmti);
                Err(format!("no thread for the sampler: {error}"))
            }
        }
    }

    /// What takes the samples.
    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    /// Why it is not the engine that one would like best.
    pub(crate) fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// Whether it still takes samples: another profiler may have taken the signal away.
    pub(crate) fn is_at_work(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Ends sampling; what was taken is in the queue afterwards.
    pub(crate) fn stop(self) -> SampleCounts {
        thread_timers::stop(self.jvmti);
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        self.thread.join().unwrap_or_default()
    }
}

fn spawn(collector: Collector, vm: JavaVm, stop: Arc<AtomicBool>) -> std::io::Result<JoinHandle<SampleCounts>> {
    std::thread::Builder::new().name("instr-sampler".to_owned()).spawn(move || {
        block_signals();
        vm.with_attached_daemon(c"instr-sampler", |jni| collector.run(jni, &stop)).unwrap_or_else(|| {
            tracing::error!("the sampler cannot attach to the JVM; there are no samples");
            SampleCounts::default()
        })
    })
}

/// The engine to use, and why it is not the one that one would like best; an error if the one that was asked for cannot be had.
fn choose(wanted: SamplerEngine, surroundings: Surroundings) -> Result<(Engine, Option<String>), String> {
    if wanted == SamplerEngine::Jvmti {
        return Ok((Engine::Jvmti, None));
    }
    let is_tested = surroundings.java_version <= LAST_TESTED || wanted == SamplerEngine::Async;
    let problem = if is_tested {
        signal::prepare(surroundings.vm).err().map(|error| error.to_string())
    } else {
        Some(format!("AsyncGetCallTrace is not tested on this JDK (newer than {LAST_TESTED})"))
    };
    match problem {
        None => Ok((Engine::Async, None)),
        Some(problem) if wanted == SamplerEngine::Auto => {
            Ok((Engine::Jvmti, Some(format!("{problem}: samples are taken with JVMTI, at safepoints only"))))
        }
        Some(problem) => Err(format!("{problem}; engine = \"jvmti\" in [sampler] does without")),
    }
}
