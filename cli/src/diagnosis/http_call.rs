//! The call of a diagnosed method's tree that waits for the answer of another JVM, and what is to be asked of both.

use control::{Diagnosis, DiagnosisNode, NodeKind, Request};
use instrument_core::level::Level;
use trace::report::{class_and_method, duration};

/// The clients of HTTP of which requests can carry a context.
const CLIENTS: [&str; 5] = [
    "java.net.HttpURLConnection.",
    "java.net.URLConnection.",
    "javax.net.ssl.HttpsURLConnection.",
    "java.net.URL.",
    "java.net.http.HttpClient.",
];
/// What calls wait for that read the answer of a request, or wait for the thread that does.
const WAITS: [&str; 2] = ["socket read", "result of another thread"];
/// Where servlets get a request; the first that the other JVM has loaded.
const SERVICES: [&str; 2] = [
    "jakarta.servlet.http.HttpServlet.service(jakarta.servlet.ServletRequest, jakarta.servlet.ServletResponse)",
    "javax.servlet.http.HttpServlet.service(javax.servlet.ServletRequest, javax.servlet.ServletResponse)",
];

/// The context ends after this time at the latest, in seconds, as diagnoses do.
const LONGEST: u64 = 600;

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
}

impl HttpCall {
    /// Returns the call that explains most of those that wait for an answer; `None` if the answer has none.
    pub(super) fn of(diagnosis: &Diagnosis) -> Option<HttpCall> {
        let share = |at: &usize| diagnosis.nodes.get(*at).and_then(|node| node.share).unwrap_or(0.0);
        let calls = diagnosis.nodes.iter().enumerate().filter(|(_, node)| waits_for_answer(node)).map(|(at, _)| at);
        let at = calls.max_by(|one, other| share(one).total_cmp(&share(other)))?;
        let node = diagnosis.nodes.get(at)?;
        let (slower_than_us, reason) = limit(node)?;
        Some(HttpCall { at, within: methods_around(diagnosis, node), slower_than_us, reason })
    }

    /// Returns the request for the context in the JVM that was diagnosed by this one: requests that are sent inside it carry this name.
    pub(super) fn context_request(&self, diagnosed: &Request, name: &str) -> Option<Request> {
        let Request::Diagnose { method, within, when, across_threads, seconds, .. } = diagnosed else { return None };
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
            seconds: seconds.or(Some(LONGEST)),
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
    pub(super) fn peer_requests(&self, diagnosed: &Request, name: &str) -> Vec<Request> {
        let Request::Diagnose { across_threads, seconds, .. } = diagnosed else { return Vec::new() };
        let request = |service: &&str| Request::Diagnose {
            method: (*service).to_owned(),
            loader: None,
            within: None,
            when: Some(format!("baggage.instr = '{name}'")),
            slower_than_us: Some(self.slower_than_us),
            across_threads: *across_threads,
            depth: None,
            report_only: false,
            seconds: *seconds,
            while_connected: true,
        };
        SERVICES.iter().map(request).collect()
    }
}

fn waits_for_answer(node: &DiagnosisNode) -> bool {
    let is_end = node.followed && node.kind == NodeKind::Waiting;
    let waits = |reason: &String| WAITS.iter().any(|wait| reason.starts_with(wait));
    is_end && (CLIENTS.iter().any(|client| node.method.starts_with(client)) || node.reason.as_ref().is_some_and(waits))
}

/// Returns from which length on requests are slow, in microseconds, and why.
fn limit(call: &DiagnosisNode) -> Option<(u64, String)> {
    let (calls, slow_calls, total, slow) = (call.calls?, call.slow_calls?, call.total_ms?, call.slow_ms?);
    let mean = |millis: f64, calls: u64| (calls > 0).then(|| millis / calls as f64);
    let (in_slow, in_fast) = (mean(slow, slow_calls)?, mean(total - slow, calls.saturating_sub(slow_calls)));
    let (limit, why) = match in_fast {
        Some(in_fast) => (
            (in_slow + in_fast) / 2.0,
            format!(
                "the middle between its mean time in slow calls, {}, and in fast ones, {}",
                text(in_slow),
                text(in_fast)
            ),
        ),
        None => {
            (in_slow / 2.0, format!("half its mean time in slow calls, {}: it has none in fast ones", text(in_slow)))
        }
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
        assert_eq!((call.at, call.within.as_str(), call.slower_than_us), (2, "a.A.a > a.B$C.b", 22_500));
        assert!(
            call.reason.contains("22.5 ms") && call.reason.contains("40.0 ms") && call.reason.contains("5.00 ms"),
            "{}",
            call.reason
        );
        let only_slow = DiagnosisNode { calls: Some(10), total_ms: Some(400.0), parent: Some(0), ..read.clone() };
        let call = HttpCall::of(&diagnosis(only_slow)).unwrap();
        assert_eq!((call.within.as_str(), call.slower_than_us), ("a.A.a", 20_000));
        let others = [
            DiagnosisNode { followed: false, ..read.clone() },
            DiagnosisNode { kind: NodeKind::Method, ..read.clone() },
            node(Some(1), "java.lang.Thread.sleep(long)", NodeKind::Waiting, Some("sleep")),
        ];
        assert!(others.into_iter().all(|other| HttpCall::of(&diagnosis(other)).is_none()));
    }

    #[test]
    fn both_jvms_are_asked_for_the_same_name() {
        let read =
            node(Some(1), "java.net.http.HttpClient.send(..)", NodeKind::Waiting, Some("result of another thread"));
        let call = HttpCall::of(&diagnosis(read)).unwrap();
        let diagnosed = Request::Diagnose {
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
        };
        let context = serde_json::to_value(call.context_request(&diagnosed, "d1")).unwrap();
        assert_eq!(context["within"], "x.Y.z > a.A.a > a.B$C.b");
        assert_eq!(
            (&context["methods"], &context["across_hosts"], &context["when"]),
            (&"a.A.a".into(), &"d1".into(), &"arg.0 = 1".into())
        );
        assert!(context["while_connected"] == true && context["level"] == "off" && context["seconds"] == 600);
        let peers = call.peer_requests(&diagnosed, "d1");
        let peer = serde_json::to_value(peers.first()).unwrap();
        assert_eq!((peers.len(), &peer["when"]), (2, &"baggage.instr = 'd1'".into()));
        assert!(peer["while_connected"] == true && peer["slower_than_us"] == 22_500);
    }
}
