//! Diagnoses that have ended: `instr.Diagnosis`, and `instr.DiagnosisNode` for each node of the tree; before that `instr.SlowCall` for each slow call.

use super::{LONGEST_TEXT, Recording};
use crate::recording::payload::{cut_text, push_cut_text, push_flag, push_fraction, push_number, push_text};
use crate::schema::id;
use crate::varint;
use crate::{Diagnosis, DiagnosisNode, SlowCall, SlowCallStep};

/// Nodes of a tree that are recorded, at most.
const MOST_NODES: usize = 4_096;
/// Bytes of a text of a node.
const LONGEST_OF_NODE: usize = 2_000;
/// Lines of the source that a node names.
const MOST_LINES: usize = 32;

impl Recording {
    /// Records a slow call of a method that is diagnosed.
    pub fn slow_call(&mut self, start_nanos: u64, call: &SlowCall) {
        self.make_room();
        let (start, duration) = self.ticks(start_nanos, call.duration_nanos);
        self.event(id::SLOW_CALL, start, |recording, payload| {
            let thread = recording.threads.use_thread(call.thread_id, recording.constants.chunk());
            for number in [duration, thread, call.claim] {
                varint::push(payload, number);
            }
            let [context, condition] = [&call.context, &call.condition].map(|text| text.as_deref().unwrap_or_default());
            for text in [call.method.as_str(), context, condition, &call.thread] {
                recording.push_text_of_pool(payload, text);
            }
            push_text(payload, cut_text(&SlowCallStep::text_of(&call.path), LONGEST_TEXT));
        });
    }

    /// Records a diagnosis that has ended, with its tree.
    pub fn diagnosis(&mut self, at_nanos: u64, diagnosis: &Diagnosis) {
        self.event_now(id::DIAGNOSIS, at_nanos, |_, payload| push_diagnosis(payload, diagnosis));
        for (number, node) in diagnosis.nodes.iter().take(MOST_NODES).enumerate() {
            self.event_now(id::DIAGNOSIS_NODE, at_nanos, |_, payload| {
                varint::push(payload, diagnosis.claim);
                varint::push(payload, number as u64);
                push_node(payload, node);
            });
        }
    }
}

fn push_diagnosis(payload: &mut Vec<u8>, diagnosis: &Diagnosis) {
    let Diagnosis { claim, method, context, condition, state, reason, slower_than_nanos, learnt, .. } = diagnosis;
    let Diagnosis { calls, slow, explained, sentence, nodes, cost, notices, .. } = diagnosis;
    varint::push(payload, *claim);
    let [context, condition, reason, sentence] = [context, condition, reason, sentence].map(Option::as_deref);
    for text in [Some(method.as_str()), context, condition, Some(state), reason, sentence] {
        push_cut_text(payload, text, LONGEST_TEXT);
    }
    push_fraction(payload, *explained);
    push_number(payload, *slower_than_nanos);
    push_flag(payload, *learnt);
    for number in [*calls, *slow, cost.classes, cost.retransforms, cost.longest_stop_nanos, cost.cpu_nanos] {
        push_number(payload, Some(number));
    }
    let notices = notices.join("\n");
    push_cut_text(payload, Some(notices.as_str()).filter(|notices| !notices.is_empty()), LONGEST_TEXT);
    varint::push(payload, nodes.len() as u64);
}

fn push_node(payload: &mut Vec<u8>, node: &DiagnosisNode) {
    let DiagnosisNode { parent, level, method, kind, calls, slow_calls, total_nanos, slow_nanos, .. } = node;
    let DiagnosisNode { share, running, waiting, followed, reason, lines, via, .. } = node;
    push_number(payload, parent.map(|parent| parent as u64));
    varint::push(payload, *level as u64);
    push_cut_text(payload, Some(method), LONGEST_OF_NODE);
    push_cut_text(payload, Some(kind), LONGEST_OF_NODE);
    for number in [calls, slow_calls, total_nanos, slow_nanos] {
        push_number(payload, *number);
    }
    for fraction in [share, running, waiting] {
        push_fraction(payload, *fraction);
    }
    push_flag(payload, *followed);
    push_cut_text(payload, reason.as_deref(), LONGEST_OF_NODE);
    let lines = lines.iter().take(MOST_LINES).map(u32::to_string).collect::<Vec<_>>().join(", ");
    push_cut_text(payload, Some(lines.as_str()).filter(|lines| !lines.is_empty()), LONGEST_OF_NODE);
    let via = via.join("\n");
    push_cut_text(payload, Some(via.as_str()).filter(|via| !via.is_empty()), LONGEST_TEXT);
}
