//! Diagnoses of several JVMs as one: the trees of those that answer requests are below the call that waits for the answer.

use trace::report::class_and_method;
use trace::{Diagnosis, DiagnosisBranch, DiagnosisCost, DiagnosisNode, DiagnosisSentence};

/// What was found in a JVM that answers requests.
pub(super) struct Answering {
    pub(super) pid: u32,
    pub(super) found: Diagnosis,
    /// The part of the requests with the context that it answers.
    pub(super) part: f64,
}

/// A JVM is named in the sentence if it explains so much of the call.
const LEAST_NAMED: f64 = 0.1;
/// A notice says that time is spent outside of the JVMs if they explain less of the call.
const NEARLY_ALL: f64 = 0.8;

/// Returns the first diagnosis with what was found below its call that waits for answers.
pub(super) fn joined(first: &Diagnosis, call: usize, answering: &[Answering]) -> Diagnosis {
    let mut all = first.clone();
    let Some(of_call) = first.nodes.get(call) else { return all };
    let shares = shares(first, of_call, answering);
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
        if let Some(parts) = &first.parts {
            let parts = with_ways(parts, (call, of_call.share.unwrap_or(0.0)), answering, &shares);
            (all.sentence, all.parts) = (Some(parts.to_string()), Some(parts));
        }
        all.notices.extend(elsewhere(of_call, shares.iter().sum()));
    }
    all
}

/// What each JVM explains of the slow calls of the first method: as much of the call's share as its additional time makes of that of the call, both per
/// request. Figures of different JVMs are of different calls, so means over all requests are compared: those of slow requests only would take no notice of
/// slow calls whose request was fast there.
fn shares(first: &Diagnosis, call: &DiagnosisNode, answering: &[Answering]) -> Vec<f64> {
    let slow_part = slow_part_of_call(first, call);
    let of_call = Means::of(call).map_or(0.0, |means| means.additional(slow_part.part, means.fast));
    if of_call <= 0.0 {
        return vec![0.0; answering.len()];
    }
    // If no request of fast calls is known, what is explained is the whole time of the call.
    let is_whole = Means::of(call).is_some_and(|means| means.fast.is_none());
    let by_jvm: Vec<f64> = answering.iter().map(|of| additional_per_request(of, slow_part, is_whole)).collect();
    let whole = of_call.max(by_jvm.iter().sum());
    by_jvm.iter().map(|nanos| call.share.unwrap_or(0.0) * nanos / whole).collect()
}

/// How much longer a request takes on average because some are slow in this JVM; requests that others answer count with nothing.
fn additional_per_request(of: &Answering, of_call: SlowPart, is_whole: bool) -> f64 {
    let Some(means) = of.found.nodes.first().and_then(Means::of) else { return 0.0 };
    let own = SlowPart { part: part(of.found.slow, of.found.calls), calls: of.found.calls };
    // The two have counted different calls: one slow call more or less is no difference.
    let slow_part = if own.is_nearly(of_call) { of_call } else { own };
    of.part * means.additional(slow_part.part, means.fast.filter(|_| !is_whole)).max(0.0)
}

/// Which part of so many calls is slow.
#[derive(Debug, Clone, Copy)]
struct SlowPart {
    part: f64,
    calls: u64,
}

impl SlowPart {
    /// Whether they differ by no more than the standard deviation of the difference of two such counts of the same calls.
    fn is_nearly(self, other: SlowPart) -> bool {
        let [one, two] = [self, other].map(|of| of.calls.max(1) as f64);
        let all = (self.part * one + other.part * two) / (one + two);
        let deviation = (all * (1.0 - all) * (1.0 / one + 1.0 / two)).sqrt();
        (self.part - other.part).abs() <= deviation
    }
}

/// The part of the call's requests that are within slow calls of the first method. The whole diagnosis has seen more calls than were measured on all levels,
/// but not all of them with a limit if that was learnt.
fn slow_part_of_call(first: &Diagnosis, call: &DiagnosisNode) -> SlowPart {
    let of_whole = || {
        let root = first.nodes.first().filter(|_| !first.learnt)?;
        let fast = |node: &DiagnosisNode| Some(node.calls?.saturating_sub(node.slow_calls?));
        let in_slow = first.slow as f64 * part(call.slow_calls?, root.slow_calls?);
        let in_fast = first.calls.saturating_sub(first.slow) as f64 * part(fast(call)?, fast(root)?);
        (in_slow > 0.0).then(|| SlowPart { part: in_slow / (in_slow + in_fast), calls: first.calls })
    };
    of_whole().unwrap_or_else(|| {
        let calls = call.calls.unwrap_or(0);
        SlowPart { part: part(call.slow_calls.unwrap_or(0), calls), calls }
    })
}

fn part(some: u64, all: u64) -> f64 {
    if all > 0 { some as f64 / all as f64 } else { 0.0 }
}

/// The mean times of a node's calls within slow calls of the method and within fast ones, in nanoseconds; `None` if there were none.
struct Means {
    slow: f64,
    fast: Option<f64>,
}

impl Means {
    fn of(node: &DiagnosisNode) -> Option<Means> {
        let (calls, slow_calls, total, slow) = (node.calls?, node.slow_calls?, node.total_nanos?, node.slow_nanos?);
        let mean = |nanos: u64, calls: u64| (calls > 0).then(|| nanos as f64 / calls as f64);
        let fast = mean(total.saturating_sub(slow), calls.saturating_sub(slow_calls));
        Some(Means { slow: mean(slow, slow_calls)?, fast })
    }

    /// By how much the mean of all calls is longer than this time; by the whole time if there is none.
    fn additional(&self, slow_part: f64, than: Option<f64>) -> f64 {
        let all = slow_part * self.slow + (1.0 - slow_part) * self.fast.unwrap_or(0.0);
        all - than.unwrap_or(0.0)
    }
}

/// Says that a part of the call's time is not in the other JVMs, which explain this much.
pub(super) fn elsewhere(call: &DiagnosisNode, inside: f64) -> Option<String> {
    let of_call = call.share?;
    let is_much = of_call > 0.0 && inside < of_call * NEARLY_ALL;
    is_much.then(|| {
        format!(
            "a share of {:.0} % is time of {} that no other JVM has explained: the network, a server that `--with` does not name, or waiting there before a servlet gets the request",
            (of_call - inside) * 100.0,
            class_and_method(&call.method)
        )
    })
}

/// Returns the result with the ways within the other JVMs in place of what the call waits for.
fn with_ways(
    first: &DiagnosisSentence,
    (call, of_call): (usize, f64),
    answering: &[Answering],
    shares: &[f64],
) -> DiagnosisSentence {
    let mut all = first.clone();
    let largest = |of: &Answering| of.found.parts.as_ref()?.branches.first().cloned();
    let named = answering.iter().zip(shares).filter(|(_, share)| **share >= of_call * LEAST_NAMED);
    let named: Vec<(u32, f64, DiagnosisBranch)> =
        named.filter_map(|(of, share)| Some((of.pid, *share, largest(of)?))).collect();
    let branch = all.branches.iter_mut().find(|branch| branch.node == call);
    if let Some(branch) = branch.filter(|_| !named.is_empty()) {
        let way = |(pid, _, branch): &(u32, f64, DiagnosisBranch)| format!("JVM {pid}: {}", branch.way.join(" -> "));
        branch.way.pop();
        branch.way.push(named.iter().map(way).collect::<Vec<_>>().join(" and "));
        branch.share = named.iter().map(|(_, share, branch)| share * branch.share).sum();
    }
    all.branches.sort_by(|one, other| other.share.total_cmp(&one.share));
    all
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
    use trace::CountedCalls;

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
        let way = |of: &[&str]| of.iter().map(|step| (*step).to_owned()).collect();
        let call = DiagnosisBranch {
            node: 2,
            share: 0.9,
            way: way(&["B.b", "HttpURLConnection.getResponseCode", "socket read"]),
        };
        let other = DiagnosisBranch { node: 1, share: 0.1, way: way(&["X.x", "sleep"]) };
        let parts = DiagnosisSentence {
            subject: "A.a".to_owned(),
            calls: CountedCalls::SlowAndFast,
            branches: vec![call, other],
        };
        Diagnosis {
            calls: 30,
            slow: 10,
            nodes,
            explained: Some(1.0),
            sentence: Some(parts.to_string()),
            parts: Some(parts),
            ..Diagnosis::default()
        }
    }

    /// A JVM that answers this part of the requests; `slow` of its 30 are slow.
    fn answering(pid: u32, slow: u64, part: f64) -> Answering {
        let nodes = vec![
            node(None, "jakarta.servlet.http.HttpServlet.service(..)", 38, 2, 1.0),
            DiagnosisNode { level: 1, ..node(Some(0), "s.Stock.find()", 37, 1, 0.95) },
        ];
        let way = vec!["Stock.find".to_owned(), "sleep; or not".to_owned()];
        let branches = vec![DiagnosisBranch { node: 1, share: 0.95, way }];
        let parts =
            DiagnosisSentence { subject: "HttpServlet.service".to_owned(), calls: CountedCalls::SlowOnly, branches };
        let (sentence, explained) = (Some(parts.to_string()), Some(0.95));
        let found =
            Diagnosis { calls: 30, slow, nodes, explained, sentence, parts: Some(parts), ..Diagnosis::default() };
        Answering { pid, found, part }
    }

    #[test]
    fn the_other_tree_is_below_the_call_with_shares_of_the_first_root() {
        let all = joined(&first(), 2, &[answering(7, 10, 1.0)]);
        let of: Vec<_> = all.nodes.iter().skip(3).map(|node| (node.parent, node.level, node.jvm)).collect();
        assert_eq!(of, [(Some(2), 1, Some(7)), (Some(3), 2, Some(7))]);
        // 36 of the 40 ms by which the call takes longer.
        let shares: Vec<f64> = all.nodes.iter().skip(3).filter_map(|node| node.share).collect();
        assert!((shares[0] - 0.81).abs() < 1e-9 && (shares[1] - 0.81 * 0.95).abs() < 1e-9, "{shares:?}");
        assert!((all.explained.unwrap() - (0.1 + 0.81 * 0.95)).abs() < 1e-9);
        assert_eq!(
            all.sentence.unwrap(),
            "77 % of the slow calls of A.a is B.b -> HttpURLConnection.getResponseCode -> JVM 7: Stock.find -> sleep; or not; 10 % is X.x -> sleep"
        );
    }

    fn roots(all: &Diagnosis, call: usize) -> Vec<f64> {
        all.nodes.iter().filter(|node| node.parent == Some(call)).filter_map(|node| node.share).collect()
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        let is_near = |(one, other): (&f64, &f64)| (one - other).abs() < 1e-9;
        assert!(found.len() == expected.len() && found.iter().zip(expected).all(is_near), "{found:?}, {expected:?}");
    }

    #[test]
    fn slow_calls_whose_request_is_fast_in_the_other_jvm_are_not_explained_by_it() {
        // In half of the slow calls it is the network.
        let mut first = first();
        first.nodes[2].share = Some(1.0);
        let all = joined(&first, 2, &[answering(7, 5, 1.0)]);
        assert_near(&roots(&all, 2), &[0.45]);
        let notice = "a share of 55 % is time of HttpURLConnection.getResponseCode";
        assert!(all.notices.iter().any(|of| of.starts_with(notice)), "{:?}", all.notices);
        let whole = joined(&first, 2, &[answering(7, 10, 1.0)]);
        assert!(whole.notices.is_empty(), "{:?}", whole.notices);
    }

    #[test]
    fn a_slow_call_more_or_less_is_no_difference() {
        let first = first();
        let share = |slow| roots(&joined(&first, 2, &[answering(7, slow, 1.0)]), 2);
        assert_near(&share(9), &share(10));
        assert_near(&share(12), &share(10));
    }

    #[test]
    fn a_jvm_that_was_not_named_keeps_its_part() {
        // Of ten requests, half go to each. One is slow in one JVM, by 900 ms, and one in the other, by 100 ms.
        let call = DiagnosisNode {
            calls: Some(10),
            slow_calls: Some(2),
            total_nanos: Some(1_020_000_000),
            slow_nanos: Some(1_004_000_000),
            ..node(None, "java.net.HttpURLConnection.getResponseCode()", 0, 0, 1.0)
        };
        let first = Diagnosis { calls: 10, slow: 2, nodes: vec![call], ..Diagnosis::default() };
        let mut named = answering(7, 6, 0.5);
        named.found.nodes[0] = node(None, "jakarta.servlet.http.HttpServlet.service(..)", 101, 1, 1.0);
        assert_near(&roots(&joined(&first, 0, &[named]), 0), &[0.1]);
    }

    #[test]
    fn without_fast_calls_the_whole_time_of_requests_counts() {
        let mut first = first();
        first.nodes.iter_mut().for_each(|node| {
            (node.calls, node.total_nanos) = (node.slow_calls, node.slow_nanos);
        });
        (first.calls, first.nodes[2].slow_nanos) = (10, Some(280_000_000));
        // Of 28 ms, ten of 38 ms and twenty of 2 ms: 14 ms.
        assert_near(&roots(&joined(&first, 2, &[answering(7, 10, 1.0)]), 2), &[0.45]);
    }

    #[test]
    fn the_requests_of_a_call_in_slow_calls_are_those_of_the_whole_diagnosis() {
        let mut first = first();
        (first.calls, first.slow) = (200, 50);
        assert_near(&[slow_part_of_call(&first, &first.nodes[2]).part], &[0.25]);
        first.learnt = true;
        assert_near(&[slow_part_of_call(&first, &first.nodes[2]).part], &[1.0 / 3.0]);
    }

    #[test]
    fn several_jvms_divide_what_the_call_explains() {
        let all = joined(&first(), 2, &[answering(7, 10, 0.75), answering(8, 10, 0.25)]);
        assert_near(&roots(&all, 2), &[0.81 * 0.75, 0.81 * 0.25]);
        let sentence = all.sentence.unwrap();
        assert!(
            sentence.contains("JVM 7: Stock.find -> sleep; or not and JVM 8: Stock.find -> sleep; or not; 10 %"),
            "{sentence}"
        );
        // More than the call itself is not explained.
        let too_much = joined(&first(), 2, &[answering(7, 30, 0.75), answering(8, 30, 0.25)]);
        assert_near(&roots(&too_much, 2), &[0.9 * 0.75, 0.9 * 0.25]);
    }

    #[test]
    fn the_percentage_is_that_of_the_jvms_that_the_sentence_names() {
        let mut without_a_way = answering(8, 10, 0.5);
        without_a_way.found.parts = None;
        let all = joined(&first(), 2, &[answering(7, 10, 0.5), without_a_way]);
        let sentence = all.sentence.unwrap();
        assert!(sentence.starts_with("38 % of") && !sentence.contains("JVM 8"), "{sentence}");
        let little = joined(&first(), 2, &[answering(7, 10, 0.92), answering(8, 10, 0.08)]);
        let sentence = little.sentence.unwrap();
        assert!(sentence.starts_with("71 % of") && !sentence.contains("JVM 8"), "{sentence}");
    }

    #[test]
    fn without_a_result_the_first_answer_stays() {
        let nothing = Answering { pid: 7, found: Diagnosis::default(), part: 1.0 };
        let all = joined(&first(), 2, &[nothing]);
        assert_eq!((all.sentence, all.explained), (first().sentence, Some(1.0)));
    }
}
