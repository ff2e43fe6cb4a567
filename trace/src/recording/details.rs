//! Calls with details, and events about the recording itself.

mod diagnoses;
mod walks;

use super::live_state::{Pause, StateChange};
use super::payload::{cut_text, push_pooled_text, push_text};
use super::{Claim, Recording, RecordingStatistics};
use crate::schema::id;
use crate::{PAUSED, TaskStep, varint};

/// Longer texts are cut.
const LONGEST_TEXT: usize = 32 << 10;

/// A request that was answered.
#[derive(Debug, Clone, Copy, Default)]
pub struct HttpRequest<'a> {
    /// GET, POST, ...
    pub http_method: &'a str,
    /// Path of the URL.
    pub path: &'a str,
    /// The pattern by which the framework knows the path, `/members/{id}`; empty if it knows none.
    pub route: &'a str,
    /// Status of the answer.
    pub status: u32,
}

impl Recording {
    /// Records a call that executes a statement of a database: the call itself and an `instr.Statement`.
    pub fn statement(&mut self, probe: u32, start_nanos: u64, duration_nanos: u64, statement: &str) {
        self.detailed_call(id::STATEMENT, probe, (start_nanos, duration_nanos), |recording, payload| {
            recording.push_text_of_pool(payload, statement);
        });
    }

    /// Records a call that handles an HTTP request: the call itself and an `instr.HttpRequest`.
    pub fn http_request(&mut self, probe: u32, start_nanos: u64, duration_nanos: u64, request: &HttpRequest<'_>) {
        self.detailed_call(id::HTTP_REQUEST, probe, (start_nanos, duration_nanos), |recording, payload| {
            recording.push_text_of_pool(payload, request.http_method);
            recording.push_text_of_pool(payload, request.path);
            recording.push_text_of_pool(payload, request.route);
            varint::push(payload, u64::from(request.status));
        });
    }

    /// Records a call that moves bytes over a socket: the call itself and an `instr.SocketTransfer`.
    pub fn socket_transfer(&mut self, probe: u32, start_nanos: u64, duration_nanos: u64, peer: &str, bytes: u64) {
        self.detailed_call(id::SOCKET_TRANSFER, probe, (start_nanos, duration_nanos), |recording, payload| {
            recording.push_text_of_pool(payload, peer);
            varint::push(payload, bytes);
        });
    }

    /// Records a call with values (`orderId=42, name="Jo"`): the call itself and an `instr.CallArguments`.
    pub fn call_with_arguments(&mut self, probe: u32, start_nanos: u64, duration_nanos: u64, arguments: &str) {
        // Values are ever new ones: they stand in the event, not among the constants.
        self.detailed_call(id::CALL_ARGUMENTS, probe, (start_nanos, duration_nanos), |_, payload| {
            push_text(payload, cut_text(arguments, LONGEST_TEXT));
        });
    }

    /// Records the values of a call that has been recorded before, with the same times.
    pub fn arguments_of_call(&mut self, probe: u32, start_nanos: u64, duration_nanos: u64, arguments: &str) {
        self.make_room();
        self.details_of_call(id::CALL_ARGUMENTS, probe, (start_nanos, duration_nanos), |_, payload| {
            push_text(payload, cut_text(arguments, LONGEST_TEXT));
        });
    }

    fn detailed_call(
        &mut self,
        type_id: u32,
        probe: u32,
        (start_nanos, duration_nanos): (u64, u64),
        details: impl FnOnce(&mut Recording, &mut Vec<u8>),
    ) {
        // Room is made before any constant is used: those of a chunk that was written meanwhile would be missing.
        self.make_room();
        self.call_the_long_way(probe, start_nanos, duration_nanos);
        self.details_of_call(type_id, probe, (start_nanos, duration_nanos), details);
    }

    fn details_of_call(
        &mut self,
        type_id: u32,
        probe: u32,
        (start_nanos, duration_nanos): (u64, u64),
        details: impl FnOnce(&mut Recording, &mut Vec<u8>),
    ) {
        let (start, duration) = self.ticks(start_nanos, duration_nanos);
        self.event(type_id, start, |recording, payload| {
            varint::push(payload, duration);
            recording.push_current_thread(payload);
            let method = recording.probes.use_method(probe, &mut recording.constants);
            varint::push(payload, u64::from(method));
            payload.push(u8::from(recording.probes.is_exact(probe)));
            details(recording, payload);
        });
    }

    pub(super) fn push_text_of_pool(&mut self, payload: &mut Vec<u8>, text: &str) {
        if text.is_empty() {
            push_text(payload, text);
        } else {
            let key = self.constants.use_text(cut_text(text, LONGEST_TEXT));
            push_pooled_text(payload, key);
        }
    }

    pub(super) fn push_current_thread(&mut self, payload: &mut Vec<u8>) {
        let key = self.threads.use_current(self.constants.chunk());
        payload.extend(key.bytes.to_le_bytes().iter().take(key.length));
    }

    /// Says that `count` records of the current thread were lost before they reached the recording.
    pub fn lost(&mut self, at_nanos: u64, count: u64) {
        self.statistics.lost += count;
        self.event_now(id::LOSS, at_nanos, |recording, payload| {
            recording.push_current_thread(payload);
            varint::push(payload, count);
        });
    }

    /// Records a step of a task between threads, by the current thread. `task` is its identity hash, or the id of the thread
    /// that starts.
    pub fn task(&mut self, step: TaskStep, task: u32, at_nanos: u64) {
        self.event_now(id::TASK, at_nanos, |recording, payload| {
            recording.push_current_thread(payload);
            recording.push_text_of_pool(payload, step.name());
            varint::push(payload, u64::from(task));
        });
    }

    /// Marks the moment at which the application has started up.
    pub fn start_up_done(&mut self, at_nanos: u64) {
        let at = self.moment(at_nanos);
        self.start_up_done_at(at);
        self.change(StateChange::Complete);
    }

    pub(super) fn start_up_done_at(&mut self, at: u64) {
        self.event(id::START_UP_DONE, at, |_, _| {});
    }

    /// Says that a phase begins: `initialisation`, `profiling` or `end`, and why.
    pub fn phase(&mut self, at_nanos: u64, phase: &str, reason: &str) {
        let at = self.moment(at_nanos);
        self.phase_at(at, phase, reason);
    }

    pub(super) fn phase_at(&mut self, at: u64, phase: &str, reason: &str) {
        self.event(id::PHASE, at, |_, payload| {
            push_text(payload, cut_text(phase, LONGEST_TEXT));
            push_text(payload, cut_text(reason, LONGEST_TEXT));
        });
    }

    /// Notes a setting.
    pub fn configuration(&mut self, at_nanos: u64, key: &str, value: &str) {
        let at = self.moment(at_nanos);
        self.configuration_at(at, key, value);
        self.change(StateChange::Setting { key: key.into(), value: value.into() });
    }

    pub(super) fn configuration_at(&mut self, at: u64, key: &str, value: &str) {
        self.event(id::CONFIGURATION, at, |_, payload| {
            push_text(payload, cut_text(key, LONGEST_TEXT));
            push_text(payload, cut_text(value, LONGEST_TEXT));
        });
    }

    /// Notes something that users should know: a method that was demoted, a class that was refused. `kind` is a short
    /// word to sort by.
    pub fn note(&mut self, at_nanos: u64, kind: &str, message: &str) {
        self.event_now(id::NOTE, at_nanos, |_, payload| {
            push_text(payload, cut_text(kind, LONGEST_TEXT));
            push_text(payload, cut_text(message, LONGEST_TEXT));
        });
    }

    /// Notes that the level of a probe changes, or of all if there is no probe (`instr.Claim`).
    pub fn claim(&mut self, at_nanos: u64, probe: Option<u32>, claim: &Claim<'_>) {
        self.make_room();
        let (at, _) = self.ticks(at_nanos, 0);
        self.claim_at(at, probe, claim);
        if probe.is_none() {
            let pause = || Pause { owner: claim.owner.into(), reason: claim.reason.into() };
            self.change(StateChange::Paused((claim.to == PAUSED).then(pause)));
        }
    }

    pub(super) fn claim_at(&mut self, at: u64, probe: Option<u32>, claim: &Claim<'_>) {
        let Claim { owner, reason, from, to } = *claim;
        self.event(id::CLAIM, at, |recording, payload| {
            let names = probe.map(|probe| recording.probes.use_names(probe, &mut recording.constants));
            let (method, template) = names.unwrap_or_default();
            varint::push(payload, u64::from(method));
            varint::push(payload, u64::from(template));
            for text in [owner, reason, from, to] {
                push_text(payload, cut_text(text, LONGEST_TEXT));
            }
        });
    }

    pub(super) fn event_now(&mut self, type_id: u32, at_nanos: u64, fields: impl FnOnce(&mut Recording, &mut Vec<u8>)) {
        self.make_room();
        let (at, _) = self.ticks(at_nanos, 0);
        self.event(type_id, at, fields);
    }

    /// Reports in the next chunk what could not be written before: a note of it, and its calls as lost.
    pub(super) fn report_drops(&mut self) {
        let (events, calls) = self.reported_drops;
        let RecordingStatistics { dropped_events, dropped_calls, .. } = self.statistics;
        let (events, calls) = (dropped_events - events, dropped_calls - calls);
        let lost = std::mem::take(&mut self.unreported_lost);
        if events == 0 {
            return;
        }
        self.reported_drops = (dropped_events, dropped_calls);
        let others = events.saturating_sub(calls);
        let message =
            format!("{calls} calls and {others} other events were dropped because the file could not be written");
        let at = self.chunk.last_tick();
        self.event(id::NOTE, at, |_, payload| {
            push_text(payload, "dropped");
            push_text(payload, &message);
        });
        if lost > 0 {
            self.statistics.lost += lost;
            let thread = self.threads.current();
            self.threads.set_current(0);
            self.event(id::LOSS, at, |recording, payload| {
                recording.push_current_thread(payload);
                varint::push(payload, lost);
            });
            self.threads.set_current(thread);
        }
    }

    /// The last event: the figures of what is in the file.
    pub(super) fn write_end(&mut self, figures: RecordingStatistics) {
        let at = self.chunk.last_tick();
        self.event(id::RECORDING_END, at, |_, payload| {
            for figure in [figures.calls, figures.lost, figures.unknown_probes, figures.dropped_events] {
                varint::push(payload, figure);
            }
        });
    }
}
