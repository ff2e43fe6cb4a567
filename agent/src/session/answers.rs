//! What a session answers to clients of the control socket.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use control::{
    Analysis, BaggageAllowed, CallTree, Callees, CalleesRequest, Callers, CallersRequest, Changed, ClaimList,
    DiagnoseRequest, Diagnosis, Dumped, ErrorCode, Explained, HotRequest, HotSpots, InventoryClass, InventoryDone,
    InventoryRequest, MethodRow, MethodsDone, ProbeRequest, Probed, Refusal, Reloaded, Removed, Status, Stopped,
    SuspectList, Switched, Walk, WalkRequest, WantedLevel,
};
use instrument_core::rules::patterns::NameGlob;
use instrument_core::selection::Figures;
use settings::{ConditionsConfig, TraceMode};

use super::Session;
use super::loaded_inventory::Listed;
use crate::config::setup::Setup;
use crate::contexts;
use crate::control::Controlled;
use crate::desired::generation::Generation;
use crate::desired::live_selection::LiveSelection;
use crate::desired::withdrawn_probes::WithdrawnProbes;
use crate::probes::hottest::{self, HotSources};
use crate::probes::probe_switch::PausedBy;
use crate::recorder::FileTrouble;
use crate::recorder::call_tree;
use crate::transform::instrumentation::Instrumentation;

/// A dump that takes longer to write is announced, not waited for: the client has less patience than that.
const DUMP_PATIENCE: Duration = Duration::from_secs(4);

const FILE_GONE: &str = "was deleted or renamed: under this name there is no recording";

/// What was found in classes.
fn analysis(instrumentation: &Instrumentation, generation: &Generation) -> Analysis {
    let (delegates, delegates_dropped) = generation.delegates.counts();
    Analysis { hierarchies: generation.types.walks(), delegates, delegates_dropped, ..instrumentation.facts.counts() }
}

impl Controlled for Session {
    fn status(&self, methods: usize, durations: bool) -> Status {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let records = *self.records.lock();
        let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        let (trace_file, ended) = (self.trace_file(), self.status_ended());
        let is_gone = trace_file.as_ref().is_some_and(|path| matches!(path.try_exists(), Ok(false)));
        let trouble = if is_gone {
            Some(FILE_GONE.to_owned())
        } else {
            records.trouble.map(FileTrouble::text).or_else(|| self.no_trace_file())
        };
        // After the end probes do nothing, whatever level they had.
        let goes_on = ended.is_none();
        let removed = self.instrumentation.withdrawn.as_ref().map(WithdrawnProbes::numbers).unwrap_or_default();
        let generation = self.instrumentation.generation();
        let sources = HotSources {
            probes: self.instrumentation.probes,
            rates: self.rates.as_deref(),
            lengths: &self.lengths,
            live: &self.instrumentation.live,
            templates: generation.templates(),
            removed: &removed,
        };
        Status {
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            trace_file_bytes: trace_file.as_ref().map_or(0, size),
            trace_file,
            trace_file_trouble: trouble,
            ring: self.instrumentation.config.trace.mode == TraceMode::Ring,
            ended,
            dumps: self.dumps.dumped(),
            classes_rewritten: count(&self.instrumentation.statistics.classes_rewritten),
            methods_instrumented: count(&self.instrumentation.statistics.methods_instrumented),
            classes_instrumented_ahead: count(&self.instrumentation.statistics.classes_ahead),
            probes_instrumented_ahead: count(&self.instrumentation.statistics.probes_ahead),
            records: records.records,
            lost: records.lost,
            live: if goes_on { self.instrumentation.live.count(generation.templates(), &removed) } else { Vec::new() },
            bursts: self.instrumentation.live.bursts(&self.instrumentation.config.control).filter(|_| goes_on),
            governor: self
                .instrumentation
                .live
                .governed(self.instrumentation.withdrawn.as_ref().and_then(WithdrawnProbes::percent))
                .filter(|_| goes_on),
            paused: paused(self),
            breaker: self.health.lock().open_because.clone(),
            otlp: self.sending(),
            warnings: [
                generation.doubts.lines(generation.rules().rules()),
                generation.reach.lines(generation.rules(), Figures::Omitted, &|_| None),
                self.instrumentation.live.warnings(),
            ]
            .concat(),
            generation: generation.number,
            analysis: analysis(&self.instrumentation, &generation),
            retransforms: self.reconciler.counts(),
            contexts: contexts::of_process().figures(),
            baggage: Some(baggage_allowed(&self.instrumentation.config.conditions)),
            walks: self.walk_totals(),
            decisions: self.instrumentation.live.decisions(),
            hottest: hottest::methods(&sources, methods, durations, goes_on),
        }
    }

    fn set_level(&self, methods: &str, level: WantedLevel) -> Result<Changed, Refusal> {
        self.check_that_probes_record()?;
        let selection = LiveSelection::parse(methods)?;
        match selection.unknown(self.instrumentation.generation().templates()) {
            Some(unknown) => Err(Refusal::new(ErrorCode::UnknownName, unknown)),
            None => {
                let before = self.overruled_claims();
                let changed = self.set_levels(&selection, level);
                let mut overruled = self.overruled_claims();
                overruled.retain(|line| !before.contains(line));
                Ok(Changed { overruled, ..changed })
            }
        }
    }

    fn switch(&self, on: bool) -> Result<Switched, Refusal> {
        self.check_that_probes_record()?;
        let changed = self.switch_probes(PausedBy::Request, on);
        if changed {
            let line = if on { "all probes resumed by request" } else { "all probes paused by request" };
            self.instrumentation.live.note(line);
            self.instrumentation.events.note("switch", line);
        }
        Ok(Switched { changed, paused: paused(self) })
    }

    fn call_tree(&self) -> Result<CallTree, Refusal> {
        let tree = self.tree.as_ref().ok_or_else(|| {
            Refusal::new(ErrorCode::NotConfigured, "no call tree is kept")
                .help("write `call-tree = true` into [control]")
        })?;
        Ok(call_tree::of(tree.lock().snapshot(), self.instrumentation.probes))
    }

    fn dump_trace(&self) -> Result<Dumped, Refusal> {
        let nothing = |reason: &str| {
            Err(Refusal::new(ErrorCode::NotConfigured, format!("there is nothing to dump: {reason}"))
                .help("`mode = \"ring\"` in [trace] keeps the newest part of a recording in memory"))
        };
        if self.instrumentation.config.trace.mode == TraceMode::Stream {
            return nothing("the recording is written as it goes (mode = \"stream\" in [trace])");
        }
        if !self.instrumentation.config.trace.write {
            return nothing("no recording is written (`write = false` in [trace])");
        }
        if let Some(reason) = self.status_ended() {
            return Err(Refusal::new(ErrorCode::Ended, format!("the recording has ended: {reason}")));
        }
        let pending = |_| {
            let refusal = Refusal::new(ErrorCode::Pending, "the dump is not written yet");
            Err(refusal.help("`instr status` shows its name when it is"))
        };
        self.dumps.ask().recv_timeout(DUMP_PATIENCE).map_or_else(pending, |written| written.map_err(Refusal::from))
    }

    fn probe(&self, request: &ProbeRequest) -> Result<Probed, Refusal> {
        self.check_that_probes_record()?;
        if request.pin && self.instrumentation.config.claims.file.is_none() {
            let refusal = Refusal::new(ErrorCode::NotConfigured, "there is no file for pinned claims");
            return Err(refusal.help("write `file = \"claims.toml\"` into [claims] of the configuration"));
        }
        Ok(self.make_claim(request)?)
    }

    fn methods(&self, methods: Option<&str>, most: Option<usize>) -> Result<(Vec<MethodRow>, MethodsDone), Refusal> {
        let selection = methods.map(LiveSelection::parse).transpose()?;
        let unknown = selection.as_ref().and_then(|meant| meant.unknown(self.instrumentation.generation().templates()));
        match unknown {
            Some(unknown) => Err(Refusal::new(ErrorCode::UnknownName, unknown)),
            None => Ok(self.method_rows(selection.as_ref(), most)),
        }
    }

    fn inventory(&self, request: &InventoryRequest) -> Result<(Vec<InventoryClass>, InventoryDone), Refusal> {
        let InventoryRequest { classes, methods, jdk, most } = request;
        let classes = classes.as_deref().map(NameGlob::class).transpose().map_err(|error| error.message)?;
        self.loaded_inventory(&Listed { classes, methods: *methods, jdk: *jdk, most: *most })
    }

    fn explain(&self, class: &str) -> Result<Explained, Refusal> {
        self.explain_loaded(class)
    }

    fn callees(&self, request: &CalleesRequest) -> Result<Callees, Refusal> {
        self.callees_of(request)
    }

    fn diagnose(self: Arc<Self>, request: &DiagnoseRequest) -> Result<Diagnosis, Refusal> {
        self.check_that_probes_record()?;
        self.begin_diagnosis(request)
    }

    fn diagnosis(&self, claim: u32) -> Result<Diagnosis, Refusal> {
        self.diagnosis_of(claim)
    }

    fn suspects(&self, methods: Option<&str>, slower_than_us: Option<u64>) -> Result<SuspectList, Refusal> {
        self.check_that_probes_record()?;
        self.suspects_of(methods, slower_than_us)
    }

    fn hot(&self, request: &HotRequest, goes_on: &dyn Fn() -> bool) -> Result<HotSpots, Refusal> {
        self.check_that_probes_record()?;
        self.hot_spots_of(request, goes_on)
    }

    fn callers(&self, request: &CallersRequest, goes_on: &dyn Fn() -> bool) -> Result<Callers, Refusal> {
        self.check_that_probes_record()?;
        self.callers_of(request, goes_on)
    }

    fn claims(&self) -> ClaimList {
        self.claim_list()
    }

    fn walk(&self, request: &WalkRequest, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<Walk, Refusal> {
        self.check_that_probes_record()?;
        self.walk_up(request, goes_on)
    }

    fn walk_progress(&self) -> Result<Walk, Refusal> {
        Session::walk_progress(self)
    }

    fn client_left(&self, claims: &[u32]) {
        self.note_client_left(claims);
    }

    fn remove(&self, claim: u32) -> Result<Removed, Refusal> {
        Ok(self.remove_claim(claim, "asked for by a user")?)
    }

    fn read_configuration(&self) -> Result<Setup, Refusal> {
        self.check_that_probes_record()?;
        Ok(self.read_again()?)
    }

    fn reload(&self, setup: Setup) -> Result<Reloaded, Refusal> {
        self.check_that_probes_record()?;
        Ok(self.replace_rules(setup)?)
    }

    fn stop(&self) -> Result<Stopped, Refusal> {
        self.stop_recording("asked for by a user").map_err(|reason| Refusal::new(ErrorCode::Ended, reason))
    }
}

impl Session {
    fn check_that_probes_record(&self) -> Result<(), Refusal> {
        self.status_ended().map_or(Ok(()), |reason| {
            let text = format!("the recording has ended, no probe records any more: {reason}");
            Err(Refusal::new(ErrorCode::Ended, text))
        })
    }
}

impl Session {
    /// Returns why no probe records at present; `None` if they record.
    pub(super) fn why_paused(&self) -> Option<&'static str> {
        self.instrumentation.switch.paused_by().first().map(|by| match by {
            PausedBy::Request => "all probes are paused: `instr resume` lets them go on",
            PausedBy::Breaker => "all probes are paused, as the JVM is short of heap",
        })
    }
}

fn baggage_allowed(of: &ConditionsConfig) -> BaggageAllowed {
    BaggageAllowed { to: of.baggage_to.clone(), from: of.baggage_from.clone() }
}

fn paused(session: &Session) -> Vec<String> {
    let by = session.instrumentation.switch.paused_by().into_iter();
    by.map(|by| match by {
        PausedBy::Request => "request".to_owned(),
        PausedBy::Breaker => "breaker".to_owned(),
    })
    .collect()
}
