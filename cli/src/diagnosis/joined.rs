//! Diagnoses of several JVMs as one: the trees of those that answer requests are below the call that waits for the answer.

use trace::report::class_and_method;
use trace::{Diagnosis, DiagnosisCost, DiagnosisNode};

/// What was found in a JVM that answers requests.
pub(super) struct Answering {
    pub(super) pid: u32,
    pub(super) found: Diagnosis,
}

/// What the sentence of a diagnosis has after its subject.
const SUBJECT_END: &str = " is ";
/// A JVM is named in the sentence if it explains so much of the call.
const LEAST_NAMED: f64 = 0.1;

/// Returns the first diagnosis with what was found below its call that waits for answers.
pub(super) fn joined(first: &Diagnosis, call: usize, answering: &[Answering]) -> Diagnosis {
    let mut all = first.clone();
    let Some(of_call) = first.nodes.get(call) else { return all };
    let shares = shares(of_call, answering);
    for (of, share) in answering.iter().zip(&shares) {
        let offset = all.nodes.len();
        let below = of.found.nodes.iter().map(|node| DiagnosisNode {
            parent: Some(node.parent.map_or(call, |parent| parent + offset)),
            level: node.level + of_call.level + 1,
            share: node.share.map(|of_jvm| of_jvm * share),
            jvm: Some(of.pid),
            ..node.clone()
        });
        all.nodes.extend(below);
        all.cost = sum(all.cost, of.found.cost);
    }
    if answering.iter().any(|of| of.found.sentence.is_some()) {
        let within = |(of, share): (&Answering, &f64)| of.found.explained.map_or(0.0, |explained| explained * share);
        let explained = answering.iter().zip(&shares).map(within).sum::<f64>();
        let beside = |explained: f64| (explained - of_call.share.unwrap_or(0.0)).max(0.0);
        all.explained = first.explained.map(|before| beside(before) + explained);
        all.sentence = first.sentence.as_deref().map(|sentence| with_ways(sentence, of_call, answering, &shares));
    }
    all
}

/// What each JVM explains of the slow calls of the first method: as much of the call's share as its requests make of the time by which the call takes longer.
/// Figures of different JVMs are of different calls, so means are compared.
fn shares(call: &DiagnosisNode, answering: &[Answering]) -> Vec<f64> {
    let additional = |of: &Answering| of.found.nodes.first().and_then(additional_nanos).unwrap_or(0.0);
    let times: Vec<f64> = answering.iter().map(|of| additional(of) * of.found.slow as f64).collect();
    let (time, requests) = (times.iter().sum::<f64>(), answering.iter().map(|of| of.found.slow).sum::<u64>());
    let Some(of_call) = additional_nanos(call).filter(|nanos| *nanos > 0.0) else { return vec![0.0; times.len()] };
    let part = if requests > 0 { (time / requests as f64 / of_call).min(1.0) } else { 0.0 };
    let share = call.share.unwrap_or(0.0) * part;
    times.iter().map(|of| if time > 0.0 { share * of / time } else { 0.0 }).collect()
}

/// By how much a call takes longer on average if it is within slow calls; the whole time if there are no others.
fn additional_nanos(node: &DiagnosisNode) -> Option<f64> {
    let (calls, slow_calls, total, slow) = (node.calls?, node.slow_calls?, node.total_nanos?, node.slow_nanos?);
    let mean = |nanos: u64, calls: u64| if calls > 0 { nanos as f64 / calls as f64 } else { 0.0 };
    Some(mean(slow, slow_calls) - mean(total.saturating_sub(slow), calls.saturating_sub(slow_calls)))
}

/// Returns the sentence with the ways within the other JVMs in place of what the call waits for.
fn with_ways(sentence: &str, call: &DiagnosisNode, answering: &[Answering], shares: &[f64]) -> String {
    let named = class_and_method(&call.method);
    let (before, rest) = match sentence.split_once(&format!("{named} -> ")) {
        Some((before, rest)) => (format!("{before}{named}"), rest),
        None => return sentence.to_owned(),
    };
    let least = call.share.unwrap_or(0.0) * LEAST_NAMED;
    let ways: Vec<String> =
        answering.iter().zip(shares).filter(|(_, share)| **share >= least).filter_map(|(of, _)| way(of)).collect();
    if ways.is_empty() {
        return sentence.to_owned();
    }
    // What follows what the call waits for: other branches, or that there were no fast calls.
    let others = ["; ", " (there were no"].iter().filter_map(|begin| rest.find(begin)).min();
    let others = others.and_then(|at| rest.get(at..)).unwrap_or_default();
    let whole = format!("{before} -> {}{others}", ways.join(" and "));
    // The first percentage is that of the branch named first: what its end explains.
    let is_first = !before.contains("; ");
    let explained = answering.iter().zip(shares).map(|(of, share)| share * most_explained(&of.found)).sum::<f64>();
    match whole.split_once(" % ").filter(|_| is_first) {
        Some((_, rest)) => format!("{:.0} % {rest}", explained * 100.0),
        None => whole,
    }
}

/// `JVM 4711: Stock.find -> sleep`.
fn way(of: &Answering) -> Option<String> {
    let (_, way) = of.found.sentence.as_deref()?.split_once(SUBJECT_END)?;
    let way = way.split(" (there were no").next().and_then(|way| way.split("; ").next()).unwrap_or(way);
    Some(format!("JVM {}: {way}", of.pid))
}

/// The part that the end explains which explains most.
fn most_explained(found: &Diagnosis) -> f64 {
    let is_end = |(at, node): &(usize, &DiagnosisNode)| {
        node.followed && !found.nodes.iter().any(|below| below.parent == Some(*at) && below.followed)
    };
    let shares = found.nodes.iter().enumerate().filter(is_end).filter_map(|(_, node)| node.share);
    shares.fold(0.0, f64::max)
}

fn sum(one: DiagnosisCost, other: DiagnosisCost) -> DiagnosisCost {
    DiagnosisCost {
        classes: one.classes + other.classes,
        retransforms: one.retransforms + other.retransforms,
        longest_stop_nanos: one.longest_stop_nanos.max(other.longest_stop_nanos),
        cpu_nanos: one.cpu_nanos + other.cpu_nanos,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten slow calls and twenty fast ones, of so many milliseconds each.
    fn node(parent: Option<usize>, method: &str, slow: u64, fast: u64, share: f64) -> DiagnosisNode {
        DiagnosisNode {
            parent,
            method: method.to_owned(),
            calls: Some(30),
            slow_calls: Some(10),
            total_nanos: Some((10 * slow + 20 * fast) * 1_000_000),
            slow_nanos: Some(10 * slow * 1_000_000),
            share: Some(share),
            followed: true,
            ..DiagnosisNode::default()
        }
    }

    fn first() -> Diagnosis {
        let nodes = vec![
            node(None, "a.A.a()", 50, 5, 1.0),
            node(Some(0), "a.B.b()", 46, 4, 0.93),
            node(Some(1), "java.net.HttpURLConnection.getResponseCode()", 42, 2, 0.9),
        ];
        let sentence = "90 % of the slow calls of A.a is B.b -> HttpURLConnection.getResponseCode -> socket read; 10 % is X.x -> sleep";
        Diagnosis { slow: 10, nodes, explained: Some(1.0), sentence: Some(sentence.to_owned()), ..Diagnosis::default() }
    }

    fn answering(pid: u32, slow: u64) -> Answering {
        let nodes = vec![
            node(None, "jakarta.servlet.http.HttpServlet.service(..)", 38, 2, 1.0),
            DiagnosisNode { level: 1, ..node(Some(0), "s.Stock.find()", 37, 1, 0.95) },
        ];
        let sentence = "95 % of the slow calls of HttpServlet.service under baggage.instr = 'd1' is Stock.find -> sleep; 5 % is x (there were no fast calls to compare with)";
        let (sentence, explained) = (Some(sentence.to_owned()), Some(0.95));
        Answering { pid, found: Diagnosis { slow, nodes, explained, sentence, ..Diagnosis::default() } }
    }

    #[test]
    fn the_other_tree_is_below_the_call_with_shares_of_the_first_root() {
        let all = joined(&first(), 2, &[answering(7, 10)]);
        let of: Vec<_> = all.nodes.iter().skip(3).map(|node| (node.parent, node.level, node.jvm)).collect();
        assert_eq!(of, [(Some(2), 1, Some(7)), (Some(3), 2, Some(7))]);
        // 36 of the 40 ms by which the call takes longer.
        let shares: Vec<f64> = all.nodes.iter().skip(3).filter_map(|node| node.share).collect();
        assert!((shares[0] - 0.81).abs() < 1e-9 && (shares[1] - 0.81 * 0.95).abs() < 1e-9, "{shares:?}");
        assert!((all.explained.unwrap() - (0.1 + 0.81 * 0.95)).abs() < 1e-9);
        assert_eq!(
            all.sentence.unwrap(),
            "77 % of the slow calls of A.a is B.b -> HttpURLConnection.getResponseCode -> JVM 7: Stock.find -> sleep; 10 % is X.x -> sleep"
        );
    }

    #[test]
    fn several_jvms_divide_what_the_call_explains() {
        let all = joined(&first(), 2, &[answering(7, 30), answering(8, 10)]);
        let roots: Vec<f64> =
            all.nodes.iter().filter(|node| node.parent == Some(2)).filter_map(|node| node.share).collect();
        assert!((roots[0] - 0.81 * 0.75).abs() < 1e-9 && (roots[1] - 0.81 * 0.25).abs() < 1e-9, "{roots:?}");
        let sentence = all.sentence.unwrap();
        assert!(sentence.contains("JVM 7: Stock.find -> sleep and JVM 8: Stock.find -> sleep; 10 %"), "{sentence}");
    }

    #[test]
    fn without_a_result_the_first_answer_stays() {
        let nothing = Answering { pid: 7, found: Diagnosis::default() };
        let all = joined(&first(), 2, &[nothing]);
        assert_eq!((all.sentence, all.explained), (first().sentence, Some(1.0)));
    }
}
