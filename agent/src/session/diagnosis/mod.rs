//! Diagnoses by request: which branch makes slow calls of a method slow. A diagnosis is a claim, and a thread that looks at what was measured.
//!
//! `run` is the thread; `short_calls` leaves out what measuring would distort; `slow_calls` takes stacks of calls that are slow right now; `measuring` has methods measured, and finds out what a call may run;
//! `statements` has statements of databases tell their texts; `without_limit` decides whether all calls count; `slow_records` records slow calls one by one.

mod measuring;
mod run;
mod short_calls;
mod slow_calls;
mod slow_records;
mod statements;
mod without_limit;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use control::{
    ClaimLimits, DiagnoseRequest, Diagnosis, DiagnosisCost, DiagnosisState, ErrorCode, LONGEST_DIAGNOSIS, Refusal,
};
use instrument_core::level::Level;
use parking_lot::Mutex;

use super::callees::{MeantMethod, first_names};
use super::claims::{check_for_tasks, open_context};
use super::{Kinds, Session};
use crate::call_sites;
use crate::contexts::{self, LooksAtTasks};
use crate::desired::{Claim, Expiry, RequestedProbes};
use crate::jvm::block_signals;
use run::{Options, Run};

/// A diagnosis as clients see it.
type Shared = Arc<Mutex<Diagnosis>>;

/// The diagnoses of a session, those that have ended too.
#[derive(Debug, Default)]
pub(super) struct Diagnoses(Mutex<VecDeque<Shared>>);

/// A diagnosis that says something about a method.
#[derive(Debug)]
pub(super) struct About {
    pub(super) claim: u32,
    /// The method that is diagnosed.
    pub(super) method: String,
    pub(super) sentence: Option<String>,
    pub(super) is_under_way: bool,
}

/// Most diagnoses that are kept; those that ended first are forgotten first.
const MOST_KEPT: usize = 32;
/// Levels below the method, unless the request states another number.
const DEPTH: usize = 40;

impl Diagnoses {
    fn add(&self, diagnosis: Shared) {
        let mut all = self.0.lock();
        all.push_back(diagnosis);
        while all.len() > MOST_KEPT {
            let ended = all.iter().position(|of| of.lock().state.is_final()).unwrap_or(0);
            all.remove(ended);
        }
    }

    /// Notes why the claim of a diagnosis ends.
    pub(super) fn note_end(&self, claim: u32, reason: &str) {
        if let Some(found) = self.get(claim) {
            found.lock().reason = Some(reason.to_owned());
        }
    }

    fn why_ended(&self, claim: u32) -> Option<String> {
        self.get(claim)?.lock().reason.clone()
    }

    /// Notes why the monitor has begun a diagnosis.
    pub(super) fn note_evidence(&self, claim: u32, evidence: &str) {
        if let Some(found) = self.get(claim) {
            found.lock().evidence = Some(evidence.to_owned());
        }
    }

    /// Returns the latest diagnosis of a method inside this context, or that has followed slow calls through it.
    pub(super) fn about(&self, method: &str, context: Option<&str>) -> Option<About> {
        let all = self.0.lock();
        all.iter().rev().find_map(|shared| {
            let diagnosis = shared.lock();
            let is_plain = diagnosis.context.as_deref() == context && diagnosis.condition.is_none();
            let is_of_it = diagnosis.method == method && is_plain;
            let passes = || {
                // Not the method itself, of which other calls may have been diagnosed.
                let mut followed = diagnosis.nodes.iter().skip(1).filter(|node| node.followed);
                followed.any(|node| node.method == method || node.via.iter().any(|passed| passed == method))
            };
            let Diagnosis { claim, method, sentence, state, .. } = &*diagnosis;
            let (claim, method, sentence, is_under_way) = (*claim, method.clone(), sentence.clone(), !state.is_final());
            (is_of_it || passes()).then_some(About { claim, method, sentence, is_under_way })
        })
    }

    fn get(&self, claim: u32) -> Option<Shared> {
        self.0.lock().iter().find(|of| of.lock().claim == claim).cloned()
    }
}

impl Session {
    /// Returns the present state of a diagnosis.
    pub(super) fn diagnosis_of(&self, claim: u32) -> Result<Diagnosis, Refusal> {
        let found = self.diagnoses.get(claim).map(|of| of.lock().clone());
        found.ok_or_else(|| {
            let what = if self.instrumentation.claim_ids.was_given(claim) {
                format!("claim {claim} was no diagnosis, or one before the last {MOST_KEPT}, whose results are kept")
            } else {
                format!("there is no diagnosis with the number {claim}, and there was none since the agent was attached")
            };
            Refusal::new(ErrorCode::UnknownName, what).help(
                "`instr claims` lists those that are under way; the results of those that have ended are in the recording: `instr report FILE`",
            )
        })
    }

    /// Begins a diagnosis.
    pub(super) fn begin_diagnosis(self: &Arc<Self>, request: &DiagnoseRequest) -> Result<Diagnosis, Refusal> {
        let root = self.method_to_diagnose(request)?;
        let probes = self.with_condition(requested(&root, request)?, request.when.as_deref())?;
        check_for_tasks(request.across_threads)?;
        let probes = if request.across_threads { probes.with_handover()? } else { probes };
        let _one_at_a_time = self.reloading.lock();
        if self.instrumentation.is_leaving() {
            return Err(Refusal::new(ErrorCode::Ended, "the recording has ended: nothing would be measured"));
        }
        if let Some(reason) = self.why_paused() {
            return Err(Refusal::new(ErrorCode::Refused, reason));
        }
        let before = self.instrumentation.generation();
        for method in probes.asked_patterns() {
            method.rules(before.templates(), &before.setup.config.exclude)?;
            self.check_number_of_methods(method, super::claims::MOST_METHODS)?;
        }
        self.get_ready(Kinds::of(&before.setup).with_claims(&before.setup).and_contexts(probes.context().is_some()))?;
        let context = open_context(&probes, &self.instrumentation.config.conditions)?;
        let number = call_sites::of_process().begin().inspect_err(|_| {
            context.iter().for_each(|context| contexts::of_process().give_up(context));
        })?;
        let id = self.instrumentation.claim_ids.next();
        let claim =
            Claim { context: context.clone(), diagnosis: Some(number), ..Claim::new(id, probes, expiry_of(request)) };
        self.instrumentation.claims.add(claim.clone());
        // Asked after it was added: a stop that did not find it there had not begun before.
        if self.instrumentation.is_leaving() {
            self.give_up(&claim)?;
            return Err(Refusal::new(ErrorCode::Ended, "the recording has ended: nothing would be measured"));
        }
        let configured = request.slower_than_us.is_none().then(|| self.configured_limit(&root.text)).flatten();
        let stated = request.slower_than_us.map(Duration::from_micros);
        let slower_than = stated.or(configured.as_ref().map(|(limit, _)| *limit));
        let shared: Shared = Arc::new(Mutex::new(at_the_beginning(id, &root, &claim, slower_than)));
        let options = Options {
            depth: if request.report_only { 0 } else { request.depth.unwrap_or(DEPTH) },
            slower_than,
            across_threads: request.across_threads,
        };
        if request.across_threads {
            call_sites::of_process().want_tasks(number);
            contexts::of_process().look_at_tasks(LooksAtTasks::Diagnosis, true);
        }
        let for_clients = (Arc::clone(&shared), under(request));
        let mut run = Run::new(Arc::clone(self), (id, number), for_clients, options, (root.key, root.text));
        run.notices.extend(configured.map(|(_, notice)| notice));
        let inserted = run.insert_root(&claim);
        if let Err(reason) = inserted {
            self.take_back(&claim);
            return Err(Refusal::from(reason));
        }
        if let Some(context) = &context {
            contexts::of_process().arm(context);
        }
        self.diagnoses.add(Arc::clone(&shared));
        let method = shared.lock().method.clone();
        self.note_claim(id, &format!("diagnosis of {method}"));
        let (session, seen) = (Arc::clone(self), Arc::clone(&shared));
        let work = move || {
            block_signals();
            if catch_unwind(AssertUnwindSafe(|| run.run())).is_err() {
                session.give_up_diagnosis(id, &seen);
            }
        };
        match std::thread::Builder::new().name("instr-diagnose".to_owned()).spawn(work) {
            Ok(thread) => {
                self.running.lock().await_at_the_end(thread);
            }
            Err(error) => {
                self.take_back(&claim);
                return Err(Refusal::from(format!("there is no thread for a diagnosis: {error}")));
            }
        }
        let begun = shared.lock().clone();
        Ok(begun)
    }

    /// A diagnosis has failed by a mistake of the agent. Nothing of it stays.
    fn give_up_diagnosis(&self, claim: u32, shared: &Mutex<Diagnosis>) {
        let reason = "internal error: please report it";
        tracing::error!("diagnosis {claim}: {reason}");
        if let Err(reason) = self.remove_claim(claim, reason) {
            tracing::debug!("{reason}");
        }
        let mut shared = shared.lock();
        (shared.state, shared.reason) = (DiagnosisState::Ended, Some(reason.to_owned()));
    }

    /// Takes a claim back that cannot be served.
    fn take_back(&self, claim: &Claim) {
        self.instrumentation.claims.remove(claim.id);
        self.put_claims_in_force();
        self.take_away_of(claim);
        self.close_gate();
    }

    /// Records what was found, and notes it for those who look at the claims.
    fn record_diagnosis(&self, diagnosis: &Diagnosis) {
        self.instrumentation.events.diagnosis(diagnosis.into());
        let ended = diagnosis.reason.as_deref().unwrap_or("it ended");
        let found = diagnosis.sentence.as_deref().unwrap_or(ended);
        self.note_claim(diagnosis.claim, &format!("diagnosis of {}: {found}", diagnosis.method));
    }

    /// Returns the one method that a request means.
    fn method_to_diagnose(&self, request: &DiagnoseRequest) -> Result<MeantMethod, Refusal> {
        let mut meant = self.meant_methods(&request.method, request.loader.as_deref())?;
        if let [_, _, ..] = meant.as_slice() {
            return Err(several(&request.method, &meant));
        }
        meant.pop().ok_or_else(|| Refusal::from(format!("{} means no method", request.method)))
    }
}

fn several(asked: &str, meant: &[MeantMethod]) -> Refusal {
    let mut loaders: Vec<&str> = meant.iter().map(|of| of.loader_name.as_str()).collect();
    loaders.dedup();
    let with_loader = |of: &MeantMethod| match loaders.as_slice() {
        [_] => of.text.clone(),
        _ => format!("{} [{}]", of.text, of.loader_name),
    };
    let names: Vec<String> = meant.iter().map(with_loader).collect();
    Refusal::new(ErrorCode::Malformed, format!("{asked} means several methods: {}", first_names(&names)))
        .help("name one of them with its types, in quotes: 'package.Class.method(int, String)'; `--loader` chooses a class loader")
}

fn requested(root: &MeantMethod, request: &DiagnoseRequest) -> Result<RequestedProbes, Refusal> {
    if let Some(obstacle) = &root.obstacle {
        return Err(Refusal::from(format!("{} cannot be diagnosed: {obstacle}", root.text)).help(root.help.clone()));
    }
    // A constructor that fails in `super()` has no end.
    if *root.key.name == *b"<init>" {
        return Err(Refusal::from(format!("{} cannot be diagnosed: it is a constructor", root.text))
            .help("diagnose the method that calls it: what a constructor calls is followed from there"));
    }
    let name = request.method.split('(').next().unwrap_or(&request.method);
    let probes = RequestedProbes::parse(name, "timed", Level::Time)?;
    let probes = match &request.within {
        Some(context) => probes.within(context)?,
        None => probes,
    };
    Ok(probes)
}

fn expiry_of(request: &DiagnoseRequest) -> Expiry {
    let limits = ClaimLimits {
        seconds: Some(request.seconds.unwrap_or(LONGEST_DIAGNOSIS)),
        while_connected: request.while_connected,
        ..ClaimLimits::default()
    };
    Expiry::exactly(limits, Instant::now(), None)
}

/// Returns which calls are meant: the context and the condition as they were asked for, not where they are evaluated.
fn under(request: &DiagnoseRequest) -> Option<String> {
    match (&request.within, &request.when) {
        (Some(within), Some(when)) => Some(format!("{within} when {when}")),
        (within, when) => within.clone().or_else(|| when.clone()),
    }
}

fn at_the_beginning(claim: u32, root: &MeantMethod, of: &Claim, slower_than: Option<Duration>) -> Diagnosis {
    Diagnosis {
        claim,
        method: root.text.clone(),
        context: of.probes.asked_within(),
        condition: of.probes.asked_condition().map(str::to_owned),
        state: DiagnosisState::Inserting,
        reason: None,
        evidence: None,
        slower_than_ms: slower_than.map(|limit| limit.as_secs_f64() * 1e3),
        learnt: slower_than.is_none(),
        calls: 0,
        slow: 0,
        explained: None,
        sentence: None,
        parts: None,
        nodes: Vec::new(),
        cost: DiagnosisCost { classes: 0, retransforms: 0, longest_stop_ms: 0.0, cpu_ms: 0.0 },
        stacks: 0,
        notices: Vec::new(),
    }
}
