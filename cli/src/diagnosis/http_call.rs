//! The call of a diagnosed method's tree that waits for the answer of another JVM, and what is to be asked of both.

use std::time::Duration;

use control::{Diagnosis, DiagnosisNode, LONGEST_DIAGNOSIS, NodeKind, Request};
use instrument_core::level::Level;
use trace::report::{class_and_method, duration};

/// The clients of HTTP of which requests can carry a context.
const CLIENTS: [&str; 5] = [
    "java.net.HttpURLConnection.",
    "java.net.URLConnection.",
    "javax.net.ssl.HttpsURLConnection.",
    "java.net.URL.",
    NEW_CLIENT,
];
const NEW_CLIENT: &str = "java.net.http.HttpClient.";
/// What calls wait for that read the answer of a request, or wait for the thread that does.
const WAITS: [&str; 2] = ["socket read", OTHER_THREAD];
const OTHER_THREAD: &str = "result of another thread";
/// Where servlets get a request; the first that the other JVM has loaded.
const SERVICES: [&str; 2] = [
    "jakarta.servlet.http.HttpServlet.service(jakarta.servlet.ServletRequest, jakarta.servlet.ServletResponse)",
    "javax.servlet.http.HttpServlet.service(javax.servlet.ServletRequest, javax.servlet.ServletResponse)",
];

/// Without fast calls to compare with, requests are slow that take this part of the call.
const LEAST_PART: f64 = 0.1;
/// Of a stated time, other JVMs get at least this much, in seconds.
const LEAST: u64 = 5;
/// The context ends so much later than the diagnoses that need it, in seconds.
const LATER: u64 = 5;

/// A call that waits for the answer of a request.
#[derive(Debug, Clone)]
pub(super) struct HttpCall {
    /// Its place in the tree.
    pub(super) at: usize,
    /// The methods in whose calls it is made, the outermost first.
    within: String,
    /// Requests that take longer are slow, in microseconds, ...
    slower_than_us: u64,
    /// ... and why.
    pub(super) reason: String,
    /// The class of the JDK that writes its request; `None` if the call is not of one of the JDK's clients.
    pub(super) writer: Option<&'static str>,
}

impl HttpCall {
    /// Returns the call that explains most of those of the JDK's clients of HTTP, or else of those that wait for what may be an answer; `None` if there is none.
    pub(super) fn of(diagnosis: &Diagnosis) -> Option<HttpCall> {
        let share = |at: &usize| diagnosis.nodes.get(*at).and_then(|node| node.share).unwrap_or(0.0);
        let most = |is_meant: fn(&DiagnosisNode) -> bool| {
            let calls = diagnosis.nodes.iter().enumerate().filter(|(_, node)| is_end(node) && is_meant(node));
            calls.map(|(at, _)| at).max_by(|one, other| share(one).total_cmp(&share(other)))
        };
        let at = most(is_of_client).or_else(|| most(may_wait_for_answer))?;
        let node = diagnosis.nodes.get(at)?;
        let (slower_than_us, reason) = limit(node)?;
        Some(HttpCall { at, within: methods_around(diagnosis, node), slower_than_us, reason, writer: writer(node) })
    }

    /// Says which branches explain more and are not followed, although what they wait for may be the answer of another JVM.
    pub(super) fn larger_branches(&self, diagnosis: &Diagnosis, across_threads: bool) -> Vec<String> {
        let share = |node: &DiagnosisNode| node.share.unwrap_or(0.0);
        let followed = diagnosis.nodes.get(self.at).map_or(0.0, share);
        let is_larger = |node: &&DiagnosisNode| is_end(node) && may_wait_for_answer(node) && share(node) > followed;
        let said = |node: &DiagnosisNode| {
            let is_on_thread = node.reason.as_ref().is_some_and(|reason| reason.starts_with(OTHER_THREAD));
            // The root itself has just been diagnosed.
            let caller = node.parent.filter(|parent| *parent > 0).and_then(|parent| diagnosis.nodes.get(parent));
            let help = match caller {
                _ if is_on_thread && !across_threads => "`--across-threads` goes on in that thread".to_owned(),
                Some(caller) => format!("diagnose {} with `--with` for it", without_types(&caller.method)),
                None => "only calls of the JDK's HTTP clients are followed".to_owned(),
            };
            format!(
                "a share of {:.0} % is {}, which waits ({}) and is not followed into other JVMs: {help}",
                share(node) * 100.0,
                short(&node.method),
                node.reason.as_deref().unwrap_or_default()
            )
        };
        diagnosis.nodes.iter().filter(is_larger).map(said).collect()
    }

    /// Returns from which length on requests are slow.
    pub(super) fn limit(&self) -> String {
        duration(self.slower_than_us * 1_000)
    }

    /// Returns the request for the context in the JVM that was diagnosed by this one: requests that are sent inside it carry this name.
    pub(super) fn context_request(&self, diagnosed: &Request, name: &str, took: Duration) -> Option<Request> {
        let Request::Diagnose { method, within, when, across_threads, .. } = diagnosed else { return None };
        let around = within.iter().map(|around| format!("{around} > ")).collect::<String>();
        Some(Request::Probe {
            // A claim names methods that record; at this level they do not.
            methods: without_types(method).to_owned(),
            level: Some(Level::Off),
            template: None,
            within: Some(format!("{around}{}", self.within)),
            direct: false,
            when: when.clone(),
            across_threads: *across_threads,
            across_hosts: Some(name.to_owned()),
            seconds: Some(seconds_left(diagnosed, took).unwrap_or(LONGEST_DIAGNOSIS) + LATER),
            calls: None,
            cycles: None,
            healthy_seconds: None,
            while_healthy: false,
            while_connected: true,
            pin: false,
            most: None,
        })
    }

    /// Returns the requests of which one diagnoses what answers requests with this name.
    pub(super) fn peer_requests(&self, diagnosed: &Request, name: &str, took: Duration) -> Vec<Request> {
        let Request::Diagnose { across_threads, .. } = diagnosed else { return Vec::new() };
        let request = |service: &&str| Request::Diagnose {
            method: (*service).to_owned(),
            loader: None,
            within: None,
            when: Some(format!("baggage.instr = '{name}'")),
            slower_than_us: Some(self.slower_than_us),
            across_threads: *across_threads,
            depth: None,
            report_only: false,
            seconds: seconds_left(diagnosed, took),
            while_connected: true,
        };
        SERVICES.iter().map(request).collect()
    }
}

/// Returns what is left of the time that the user has stated.
fn seconds_left(diagnosed: &Request, took: Duration) -> Option<u64> {
    let Request::Diagnose { seconds, .. } = diagnosed else { return None };
    seconds.map(|seconds| seconds.saturating_sub(took.as_secs()).max(LEAST))
}

fn is_end(node: &DiagnosisNode) -> bool {
    node.followed && node.kind == NodeKind::Waiting
}

fn is_of_client(node: &DiagnosisNode) -> bool {
    CLIENTS.iter().any(|client| node.method.starts_with(client))
}

/// Returns the class that is changed so that requests of this client carry a context.
fn writer(node: &DiagnosisNode) -> Option<&'static str> {
    let is_new = node.method.starts_with(NEW_CLIENT);
    let name = if is_new { "jdk.internal.net.http.MultiExchange" } else { "sun.net.www.http.HttpClient" };
    is_of_client(node).then_some(name)
}

fn may_wait_for_answer(node: &DiagnosisNode) -> bool {
    node.reason.as_ref().is_some_and(|reason| WAITS.iter().any(|wait| reason.starts_with(wait)))
}

/// Returns from which length on requests are slow, in microseconds, and why. Lengths of fast requests differ by factors, so the limit is as many times their mean
/// as the mean of the slow ones is of it. What the other JVM does not cause of the slow ones does not count there, so the middle would be too long.
fn limit(call: &DiagnosisNode) -> Option<(u64, String)> {
    let (calls, slow_calls, total, slow) = (call.calls?, call.slow_calls?, call.total_ms?, call.slow_ms?);
    let mean = |millis: f64, calls: u64| (calls > 0).then(|| millis / calls as f64);
    let (in_slow, in_fast) = (mean(slow, slow_calls)?, mean(total - slow, calls.saturating_sub(slow_calls)));
    let (limit, why) = match in_fast {
        Some(in_fast) => (
            (in_slow * in_fast).sqrt(),
            format!(
                "the geometric mean of its mean times in slow calls, {}, and in fast ones, {}",
                text(in_slow),
                text(in_fast)
            ),
        ),
        None => (
            in_slow * LEAST_PART,
            format!("a tenth of its mean time, {}: there were no fast calls to compare with", text(in_slow)),
        ),
    };
    let micros = (limit * 1e3).max(1.0) as u64;
    Some((micros, format!("requests that take longer than {} are slow ({why})", text(limit))))
}

fn text(millis: f64) -> String {
    duration((millis * 1e6) as u64)
}

/// Returns the diagnosed method, and the one whose code makes the call, as a context.
fn methods_around(diagnosis: &Diagnosis, call: &DiagnosisNode) -> String {
    let root = without_types(&diagnosis.method);
    let caller = call.parent.filter(|parent| *parent > 0).and_then(|parent| diagnosis.nodes.get(parent));
    // A hidden class has no name that could be given.
    let caller = caller.filter(|node| node.kind == NodeKind::Method).map(|node| without_types(&node.method));
    match caller.filter(|caller| *caller != root && !caller.contains('/')) {
        Some(caller) => format!("{root} > {caller}"),
        None => root.to_owned(),
    }
}

fn without_types(method: &str) -> &str {
    method.split('(').next().unwrap_or(method)
}

/// Names the call: `HttpURLConnection.getInputStream`.
pub(super) fn short(call: &str) -> String {
    class_and_method(call)
}

#[cfg(test)]
mod tests {
    use super::*;
    use control::{DiagnosisCost, DiagnosisState};

    fn node(parent: Option<usize>, method: &str, kind: NodeKind, reason: Option<&str>) -> DiagnosisNode {
        DiagnosisNode {
            parent,
            level: 0,
            method: method.to_owned(),
            kind,
            calls: Some(30),
            slow_calls: Some(10),
            total_ms: Some(500.0),
            slow_ms: Some(400.0),
            share: Some(0.9),
            per_call: None,
            running: None,
            waiting: None,
            followed: true,
            reason: reason.map(str::to_owned),
            lines: Vec::new(),
            via: Vec::new(),
        }
    }

    fn diagnosis(end: DiagnosisNode) -> Diagnosis {
        let nodes = vec![
            node(None, "a.A.a(int)", NodeKind::Method, None),
            node(Some(0), "a.B$C.b()", NodeKind::Method, None),
            end,
        ];
        Diagnosis {
            claim: 1,
            method: "a.A.a(int)".to_owned(),
            context: None,
            condition: None,
            state: DiagnosisState::Done,
            reason: None,
            evidence: None,
            slower_than_ms: None,
            learnt: false,
            calls: 30,
            slow: 10,
            explained: Some(0.9),
            sentence: None,
            parts: None,
            nodes,
            cost: DiagnosisCost { classes: 0, retransforms: 0, longest_stop_ms: 0.0, cpu_ms: 0.0 },
            stacks: 0,
            notices: Vec::new(),
        }
    }

    #[test]
    fn the_call_that_waits_for_an_answer_is_found_with_its_limit() {
        let read =
            node(Some(1), "java.net.HttpURLConnection.getResponseCode()", NodeKind::Waiting, Some("socket read"));
        let call = HttpCall::of(&diagnosis(read.clone())).unwrap();
        assert_eq!((call.at, call.within.as_str(), call.slower_than_us), (2, "a.A.a > a.B$C.b", 14_142));
        assert!(
            call.reason.contains("14.1 ms") && call.reason.contains("40.0 ms") && call.reason.contains("5.00 ms"),
            "{}",
            call.reason
        );
        let only_slow = DiagnosisNode { calls: Some(10), total_ms: Some(400.0), parent: Some(0), ..read.clone() };
        let call = HttpCall::of(&diagnosis(only_slow)).unwrap();
        assert_eq!((call.within.as_str(), call.slower_than_us), ("a.A.a", 4_000));
        let others = [
            DiagnosisNode { followed: false, ..read.clone() },
            DiagnosisNode { kind: NodeKind::Method, ..read.clone() },
            node(Some(1), "java.lang.Thread.sleep(long)", NodeKind::Waiting, Some("sleep")),
        ];
        assert!(others.into_iter().all(|other| HttpCall::of(&diagnosis(other)).is_none()));
    }

    #[test]
    fn the_limit_is_near_fast_requests_if_slow_ones_are_many_times_as_long() {
        let of = |slow: f64, fast: f64| {
            let (total_ms, slow_ms) = (Some(10.0 * slow + 20.0 * fast), Some(10.0 * slow));
            let call = node(None, "java.net.URL.openStream()", NodeKind::Waiting, None);
            limit(&DiagnosisNode { total_ms, slow_ms, ..call }).unwrap().0
        };
        // Of 39 ms more, 9 are enough to be noticed.
        assert_eq!(of(40.0, 1.0), 6_324);
        assert_eq!(
            of(12.1, 10.0),
            11_000,
            "where slow and fast requests are nearly as long, the limit lies between them"
        );
    }

    #[test]
    fn calls_of_a_client_go_before_other_waits() {
        let client = DiagnosisNode {
            share: Some(0.2),
            ..node(Some(1), "java.net.http.HttpClient.send(..)", NodeKind::Waiting, None)
        };
        let mut both = diagnosis(node(Some(1), "java.util.concurrent.Future.get()", NodeKind::Waiting, Some(WAITS[1])));
        let other = HttpCall::of(&both).unwrap();
        assert_eq!((other.at, other.writer), (2, None));
        both.nodes.push(client);
        let call = HttpCall::of(&both).unwrap();
        assert_eq!((call.at, call.writer), (3, Some("jdk.internal.net.http.MultiExchange")));
        // The one that is larger is said to be left out, with what helps.
        let said = call.larger_branches(&both, false);
        assert!(
            said.len() == 1 && said[0].starts_with("a share of 90 % is") && said[0].contains("Future.get"),
            "{said:?}"
        );
        assert!(said[0].ends_with("`--across-threads` goes on in that thread"), "{said:?}");
        let said = call.larger_branches(&both, true);
        assert!(said[0].ends_with("diagnose a.B$C.b with `--with` for it"), "{said:?}");
        both.nodes[2].parent = Some(0);
        let said = call.larger_branches(&both, true);
        assert!(
            said[0].ends_with("only calls of the JDK's HTTP clients are followed"),
            "the root has just been diagnosed: {said:?}"
        );
        assert!(other.larger_branches(&both, false).is_empty(), "none is larger than the largest");
    }

    #[test]
    fn other_jvms_get_what_is_left_of_the_time() {
        let read = node(Some(1), "java.net.URL.openStream()", NodeKind::Waiting, Some("socket read"));
        let call = HttpCall::of(&diagnosis(read)).unwrap();
        let mut diagnosed = diagnosed();
        for (stated, took, left) in [(Some(60), 20, Some(40)), (Some(60), 58, Some(5)), (None, 20, None)] {
            if let Request::Diagnose { seconds, .. } = &mut diagnosed {
                *seconds = stated;
            }
            let took = Duration::from_secs(took);
            let peer = serde_json::to_value(call.peer_requests(&diagnosed, "d1", took).first()).unwrap();
            let context = serde_json::to_value(call.context_request(&diagnosed, "d1", took)).unwrap();
            assert_eq!(peer["seconds"].as_u64(), left);
            assert_eq!(context["seconds"].as_u64(), Some(left.unwrap_or(LONGEST_DIAGNOSIS) + LATER), "peers end first");
        }
    }

    fn diagnosed() -> Request {
        Request::Diagnose {
            method: "a.A.a(int)".to_owned(),
            loader: None,
            within: Some("x.Y.z".to_owned()),
            when: Some("arg.0 = 1".to_owned()),
            slower_than_us: None,
            across_threads: true,
            depth: None,
            report_only: false,
            seconds: None,
            while_connected: true,
        }
    }

    #[test]
    fn both_jvms_are_asked_for_the_same_name() {
        let read =
            node(Some(1), "java.net.http.HttpClient.send(..)", NodeKind::Waiting, Some("result of another thread"));
        let call = HttpCall::of(&diagnosis(read)).unwrap();
        let diagnosed = diagnosed();
        let context = serde_json::to_value(call.context_request(&diagnosed, "d1", Duration::ZERO)).unwrap();
        assert_eq!(context["within"], "x.Y.z > a.A.a > a.B$C.b");
        assert_eq!(
            (&context["methods"], &context["across_hosts"], &context["when"]),
            (&"a.A.a".into(), &"d1".into(), &"arg.0 = 1".into())
        );
        assert!(context["while_connected"] == true && context["level"] == "off" && context["seconds"] == 605);
        let peers = call.peer_requests(&diagnosed, "d1", Duration::ZERO);
        let peer = serde_json::to_value(peers.first()).unwrap();
        assert_eq!((peers.len(), &peer["when"]), (2, &"baggage.instr = 'd1'".into()));
        assert!(peer["while_connected"] == true && peer["slower_than_us"] == 14_142);
    }
}
