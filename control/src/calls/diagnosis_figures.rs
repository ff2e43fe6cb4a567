//! The agent's answer as reports show diagnoses: those of a running JVM and those in a recording look alike.

use super::diagnosis::{Diagnosis, DiagnosisBranch, DiagnosisCost, DiagnosisNode, DiagnosisSentence};

impl From<&Diagnosis> for trace::Diagnosis {
    fn from(answer: &Diagnosis) -> trace::Diagnosis {
        let evidence = answer.evidence.iter().map(|evidence| format!("begun by the monitor: {evidence}"));
        trace::Diagnosis {
            claim: u64::from(answer.claim),
            method: answer.method.clone(),
            context: answer.context.clone(),
            condition: answer.condition.clone(),
            state: answer.state.name().to_owned(),
            reason: answer.reason.clone(),
            slower_than_nanos: answer.slower_than_ms.and_then(nanos),
            learnt: answer.learnt,
            calls: answer.calls,
            slow: answer.slow,
            explained: answer.explained,
            sentence: answer.sentence.clone(),
            parts: answer.parts.as_ref().map(sentence),
            nodes: answer.nodes.iter().map(node).collect(),
            cost: cost(&answer.cost),
            notices: evidence.chain(answer.notices.iter().cloned()).collect(),
            ended_after_nanos: None,
            slow_calls: Vec::new(),
            recorded_slow_calls: 0,
        }
    }
}

fn sentence(of: &DiagnosisSentence) -> trace::DiagnosisSentence {
    let branch = |of: &DiagnosisBranch| trace::DiagnosisBranch { node: of.node, share: of.share, way: of.way.clone() };
    trace::DiagnosisSentence {
        subject: of.subject.clone(),
        calls: of.calls,
        branches: of.branches.iter().map(branch).collect(),
    }
}

impl From<trace::DiagnosisSentence> for DiagnosisSentence {
    fn from(of: trace::DiagnosisSentence) -> DiagnosisSentence {
        let branch = |of: trace::DiagnosisBranch| DiagnosisBranch { node: of.node, share: of.share, way: of.way };
        let branches = of.branches.into_iter().map(branch).collect();
        DiagnosisSentence { subject: of.subject, calls: of.calls, branches }
    }
}

fn node(node: &DiagnosisNode) -> trace::DiagnosisNode {
    trace::DiagnosisNode {
        parent: node.parent,
        jvm: None,
        level: node.level,
        method: node.method.clone(),
        kind: node.kind.name().to_owned(),
        calls: node.calls,
        slow_calls: node.slow_calls,
        total_nanos: node.total_ms.and_then(nanos),
        slow_nanos: node.slow_ms.and_then(nanos),
        share: node.share,
        per_call: node.per_call,
        running: node.running,
        waiting: node.waiting,
        followed: node.followed,
        reason: node.reason.clone(),
        lines: node.lines.clone(),
        via: node.via.clone(),
    }
}

fn cost(cost: &DiagnosisCost) -> trace::DiagnosisCost {
    trace::DiagnosisCost {
        classes: cost.classes,
        retransforms: cost.retransforms,
        longest_stop_nanos: nanos(cost.longest_stop_ms).unwrap_or(0),
        cpu_nanos: nanos(cost.cpu_ms).unwrap_or(0),
    }
}

pub(super) fn nanos(millis: f64) -> Option<u64> {
    (millis.is_finite() && millis >= 0.0).then(|| (millis * 1e6).round() as u64)
}
