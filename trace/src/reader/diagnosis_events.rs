//! The events of a diagnosis: they have more fields than all others.

use std::borrow::Cow;

use super::Event;
use super::plan::Wanted;
use crate::{Diagnosis, DiagnosisCost, DiagnosisNode, SlowCall, SlowCallStep};

pub(super) type Numbers = [u64; 15];
pub(super) type Texts<'t> = [Cow<'t, str>; 7];

pub(super) const DIAGNOSIS: Wanted = Wanted {
    numbers: &[
        "startTime",
        "claim",
        "explained",
        "slowerThan",
        "learnt",
        "calls",
        "slow",
        "classes",
        "retransforms",
        "longestStop",
        "cpuTime",
        "nodes",
    ],
    texts: &["method", "context", "condition", "state", "reason", "sentence", "notices"],
};

pub(super) const NODE: Wanted = Wanted {
    numbers: &[
        "startTime",
        "claim",
        "number",
        "parent",
        "level",
        "calls",
        "slowCalls",
        "totalTime",
        "slowTime",
        "share",
        "running",
        "waiting",
        "followed",
    ],
    texts: &["method", "kind", "reason", "lines", "via"],
};

pub(super) const SLOW_CALL: Wanted = Wanted {
    numbers: &["startTime", "duration", "claim"],
    texts: &["method", "context", "condition", "threadName", "path"],
};

/// Larger fractions are damage.
const LARGEST_FRACTION: f64 = 1_000.0;

/// Returns `instr.Diagnosis` from its fields in the order of [`DIAGNOSIS`].
pub(super) fn diagnosis<'c>(at: u64, numbers: &Numbers, texts: &Texts<'_>) -> Event<'c> {
    let [_, claim, explained, slower_than, learnt, calls, slow, classes, retransforms, stop, cpu, nodes, ..] = *numbers;
    let [method, context, condition, state, reason, sentence, notices] = texts;
    let cost = DiagnosisCost {
        classes: counted(classes),
        retransforms: counted(retransforms),
        longest_stop_nanos: counted(stop),
        cpu_nanos: counted(cpu),
    };
    let diagnosis = Diagnosis {
        claim,
        method: method.to_string(),
        context: text(context),
        condition: text(condition),
        state: state.to_string(),
        reason: text(reason),
        slower_than_nanos: number(slower_than),
        learnt: learnt != 0,
        calls: counted(calls),
        slow: counted(slow),
        explained: fraction(explained),
        sentence: text(sentence),
        cost,
        notices: notices.lines().map(str::to_owned).collect(),
        ..Diagnosis::default()
    };
    Event::Diagnosis { at, diagnosis: Box::new(diagnosis), nodes }
}

/// Returns `instr.DiagnosisNode` from its fields in the order of [`NODE`].
pub(super) fn node<'c>(at: u64, numbers: &Numbers, texts: &Texts<'_>) -> Event<'c> {
    let [_, claim, own, parent, level, calls, slow_calls, total, slow, share, running, waiting, followed, ..] =
        *numbers;
    let [method, kind, reason, lines, via, ..] = texts;
    let place = |number: u64| usize::try_from(number).ok();
    let node = DiagnosisNode {
        parent: number(parent).and_then(place),
        jvm: None,
        level: number(level).and_then(place).unwrap_or(0),
        method: method.to_string(),
        kind: kind.to_string(),
        calls: number(calls),
        slow_calls: number(slow_calls),
        total_nanos: number(total),
        slow_nanos: number(slow),
        share: fraction(share),
        per_call: None,
        running: fraction(running),
        waiting: fraction(waiting),
        followed: followed != 0,
        reason: text(reason),
        lines: lines.split(", ").filter_map(|line| line.parse().ok()).collect(),
        via: via.lines().map(str::to_owned).collect(),
    };
    Event::DiagnosisNode { at, claim, number: own, node: Box::new(node) }
}

/// Returns `instr.SlowCall` from its fields in the order of [`SLOW_CALL`]; its duration is in nanoseconds.
pub(super) fn slow_call<'c>(at: u64, duration_nanos: u64, numbers: &Numbers, texts: &Texts<'_>) -> Event<'c> {
    let [_, _, claim, ..] = *numbers;
    let [method, context, condition, thread, path, ..] = texts;
    let call = SlowCall {
        claim,
        method: method.to_string(),
        context: text(context),
        condition: text(condition),
        thread_id: 0,
        thread: thread.to_string(),
        duration_nanos,
        began_after_nanos: 0,
        path: SlowCallStep::path_of(path),
    };
    Event::SlowCall { at, call: Box::new(call) }
}

/// A number that was measured: JFR marks others with the smallest `long`.
pub(super) fn number(number: u64) -> Option<u64> {
    i64::try_from(number).ok()?.try_into().ok()
}

pub(super) fn counted(count: u64) -> u64 {
    number(count).unwrap_or(0)
}

pub(super) fn fraction(bits: u64) -> Option<f64> {
    // Also false of what is no number.
    Some(f64::from_bits(bits)).filter(|fraction| fraction.abs() <= LARGEST_FRACTION)
}

pub(super) fn text(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}
