//! The methods of the JDK that hand tasks over and run them, as long as contexts reach across threads, and those that send requests, as long as contexts reach across
//! hosts: changed with the first such claim, restored after the last one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use super::Session;
use crate::contexts;
use crate::desired::{Claim, RequestedProbes};
use crate::jvm::block_signals;
use crate::reconcile::Change;

/// For so long a claim that ends waits for tasks that run; if they run for longer, the methods are restored later.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(2);

impl Session {
    /// Whether a claim wants tasks to take contexts along.
    fn wants_handover(&self) -> bool {
        self.instrumentation.claims.all().iter().any(|claim| claim.probes.reaches_across_threads())
    }

    /// Has the JVM report threads that begin, if they may take a context along.
    pub(super) fn listen_to_threads(&self) {
        self.instrumentation.events.listen_to_threads(self.jvmti, self.wants_handover());
    }

    /// A claim has ended, whose context is closed. What it was the last one to need is restored.
    pub(super) fn end_handover(&self, ended: &Claim) {
        self.end_sending(ended);
        self.end_tasks(ended);
    }

    fn end_sending(&self, ended: &Claim) {
        let reaches_hosts = |claim: &Claim| claim.probes.name_for_hosts().is_some();
        if reaches_hosts(ended) && !self.instrumentation.claims.all().iter().any(reaches_hosts) {
            self.restore(RequestedProbes::sender_classes().collect(), "send requests");
        }
    }

    /// If it was the last claim that reached across threads, the methods that hand tasks over are restored, but not
    /// while they run tasks: at the end of these a thread gets its own words back.
    fn end_tasks(&self, ended: &Claim) {
        if !ended.probes.reaches_across_threads() || self.wants_handover() {
            return;
        }
        self.await_carried_tasks();
        if contexts::of_process().are_carried() {
            self.running.lock().restores_handover = true;
        } else {
            self.restore_handover();
        }
    }

    /// Waits a moment for the end of tasks that run with what they have taken along.
    pub(super) fn await_carried_tasks(&self) {
        let began = Instant::now();
        while contexts::of_process().are_carried() && began.elapsed() < PATIENCE {
            std::thread::sleep(LOOK);
        }
    }

    /// Restores the methods that hand tasks over once the tasks have ended that were running when nobody wanted that any more. Called by the drainer, which must not
    /// wait for it.
    pub(super) fn restore_handover_later(self: &Arc<Self>) {
        let mut running = self.running.lock();
        if !running.restores_handover || contexts::of_process().are_carried() {
            return;
        }
        if running.claims.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        running.restores_handover = false;
        let session = Arc::clone(self);
        let restore = move || {
            block_signals();
            let _one_at_a_time = session.reloading.lock();
            if !session.wants_handover() && !session.instrumentation.is_leaving() {
                session.restore_handover();
            }
        };
        match std::thread::Builder::new().name("instr-claims".to_owned()).spawn(restore) {
            Ok(thread) => running.claims = Some(thread),
            Err(error) => {
                tracing::error!(%error, "methods that hand tasks over stay changed: there is no thread for restoring them")
            }
        }
    }

    fn restore_handover(&self) {
        self.restore(RequestedProbes::handover_classes().collect(), "hand tasks over");
    }

    fn restore(&self, classes: FxHashSet<Arc<[u8]>>, what_they_do: &str) {
        if self.reconciler.carry_out(&self.instrumentation, Change::Remove(classes)).is_none() {
            tracing::error!("methods that {what_they_do} stay changed: the JVM attaches no more threads");
        }
    }
}
