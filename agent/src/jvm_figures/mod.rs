//! Metrics that only this process knows: its heap, threads and memory, and the calls of level full.

mod environment;
pub(crate) mod exceptions;
mod full_calls;

use std::sync::Arc;
use std::time::Duration;

use metrics::{Collect, Host};
use parking_lot::Mutex;
use records::ProbeRegistry;

use crate::files::file_names;
use crate::health::Health;
use crate::jvm::{JavaVm, NanoClock, block_signals};
use crate::log::message;
use environment::Environment;
pub(crate) use full_calls::FullCalls;

/// The JVM, as the metrics see it.
#[derive(Debug)]
pub(crate) struct JvmFigures {
    pub(crate) vm: JavaVm,
    /// The clock of the probes.
    pub(crate) clock: NanoClock,
    pub(crate) probes: &'static ProbeRegistry,
    pub(crate) health: Arc<Mutex<Health>>,
    /// Calls that run longer are stalled.
    pub(crate) stalled_after: Duration,
}

impl Host for JvmFigures {
    fn probes(&self) -> &'static ProbeRegistry {
        self.probes
    }

    fn now(&self) -> u64 {
        self.clock.now() as u64
    }

    fn host_name(&self) -> Option<String> {
        file_names::host_name()
    }

    fn say(&self, text: &str) {
        message::say(text);
    }

    fn thread_started(&self) -> fn() {
        block_signals
    }

    /// As a daemon, because the size of the heap is asked by JNI.
    fn attached(&self, work: &mut dyn FnMut(&mut Collect<'_>)) -> bool {
        let environment = Environment::find();
        let ran = self.vm.with_attached_daemon(c"instr-metrics", |jni| {
            work(&mut |names| {
                let mut families = Vec::new();
                if let Some(calls) = FullCalls::known() {
                    families.extend(calls.families(names, self.clock.now(), self.stalled_after));
                    families.push(exceptions::family());
                }
                families.extend(environment.families(jni));
                families.extend(self.health.lock().families());
                families
            });
        });
        ran.is_some()
    }
}
