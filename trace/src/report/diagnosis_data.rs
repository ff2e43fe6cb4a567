//! Diagnoses as JSON, for `instr diagnose --json` and within a report. Fractions are from 0 to 1; what was not measured is `null`.

use serde::Serialize;

use crate::{Diagnosis, DiagnosisCost, DiagnosisNode, DiagnosisOrder, ON_ANOTHER_THREAD, SlowCall, SlowCallStep};

/// What scripts get of a diagnosis.
#[derive(Debug, Clone, Copy)]
pub struct DiagnosisJson {
    /// Which of the methods that are called at the same place come first.
    pub order: DiagnosisOrder,
    /// How many methods the context has at most that is proposed for a node.
    pub nearest: usize,
}

impl Default for DiagnosisJson {
    fn default() -> DiagnosisJson {
        DiagnosisJson { order: DiagnosisOrder::default(), nearest: NEAREST }
    }
}

/// Methods of the context that is proposed for a node, unless somebody wants another number.
const NEAREST: usize = 3;

/// Returns a diagnosis as one JSON object.
#[must_use]
pub fn diagnosis_json(diagnosis: &Diagnosis, options: DiagnosisJson) -> String {
    // Numbers and text only: nothing that could fail to be written as JSON.
    serde_json::to_string(&DiagnosisData::of(diagnosis, options)).unwrap_or_default()
}

#[derive(Serialize)]
pub(super) struct DiagnosisData<'a> {
    method: &'a str,
    context: Option<&'a str>,
    condition: Option<&'a str>,
    claim: u64,
    state: &'a str,
    reason: Option<&'a str>,
    slower_than_ms: Option<f64>,
    learnt: bool,
    calls: u64,
    slow: u64,
    explained: Option<f64>,
    sentence: Option<&'a str>,
    tree: Option<NodeData<'a>>,
    cost: CostData,
    notices: &'a [String],
    /// Of one in a recording, the time from the start of the recording to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_after_ms: Option<f64>,
    /// Of one in a recording, how many slow calls were recorded one by one, and the slowest of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_slow_calls: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slow_calls: Vec<SlowCallData<'a>>,
}

#[derive(Serialize)]
struct SlowCallData<'a> {
    /// From the start of the recording to its beginning.
    began_after_ms: f64,
    thread: &'a str,
    ms: f64,
    path: Vec<StepData<'a>>,
}

#[derive(Serialize)]
struct StepData<'a> {
    method: &'a str,
    calls: u64,
    ms: f64,
}

#[derive(Serialize)]
struct NodeData<'a> {
    method: &'a str,
    /// Of a node in another JVM than that of the diagnosed method, its process id.
    #[serde(skip_serializing_if = "Option::is_none")]
    jvm: Option<u32>,
    level: usize,
    calls: Option<u64>,
    slow_calls: Option<u64>,
    total_ms: Option<f64>,
    slow_ms: Option<f64>,
    share: Option<f64>,
    /// Recordings do not have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_call: Option<f64>,
    kind: &'a str,
    reason: Option<&'a str>,
    running: Option<f64>,
    waiting: Option<f64>,
    followed: bool,
    lines: &'a [u32],
    /// The methods between its caller in the tree and itself that were not measured.
    via: &'a [String],
    /// A context for `instr probe --in` in which its calls are those of this node: the nearest measured methods that were executing, the outermost first.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<String>,
    children: Vec<NodeData<'a>>,
}

#[derive(Serialize)]
struct CostData {
    classes: u64,
    retransforms: u64,
    longest_stop_ms: f64,
    cpu_ms: f64,
}

impl<'a> DiagnosisData<'a> {
    pub(super) fn of(diagnosis: &'a Diagnosis, DiagnosisJson { order, nearest }: DiagnosisJson) -> DiagnosisData<'a> {
        let shown = Shown { diagnosis, children: diagnosis.children(order), nearest };
        DiagnosisData {
            method: &diagnosis.method,
            context: diagnosis.context.as_deref(),
            condition: diagnosis.condition.as_deref(),
            claim: diagnosis.claim,
            state: &diagnosis.state,
            reason: diagnosis.reason.as_deref(),
            slower_than_ms: diagnosis.slower_than_nanos.map(millis),
            learnt: diagnosis.learnt,
            calls: diagnosis.calls,
            slow: diagnosis.slow,
            explained: diagnosis.explained,
            sentence: diagnosis.sentence.as_deref(),
            tree: diagnosis.nodes.first().map(|node| NodeData::of(&shown, 0, node)),
            cost: CostData::of(diagnosis.cost),
            notices: &diagnosis.notices,
            ended_after_ms: diagnosis.ended_after_nanos.map(millis),
            recorded_slow_calls: Some(diagnosis.recorded_slow_calls).filter(|count| *count > 0),
            slow_calls: diagnosis.slow_calls.iter().map(SlowCallData::of).collect(),
        }
    }
}

impl<'a> SlowCallData<'a> {
    fn of(call: &'a SlowCall) -> SlowCallData<'a> {
        let step = |SlowCallStep { method, calls, nanos }: &'a SlowCallStep| StepData {
            method,
            calls: *calls,
            ms: millis(*nanos),
        };
        SlowCallData {
            began_after_ms: millis(call.began_after_nanos),
            thread: &call.thread,
            ms: millis(call.duration_nanos),
            path: call.path.iter().map(step).collect(),
        }
    }
}

/// The tree of a diagnosis, and how it is shown.
struct Shown<'a> {
    diagnosis: &'a Diagnosis,
    children: Vec<Vec<usize>>,
    nearest: usize,
}

impl Shown<'_> {
    /// Returns the nearest methods above a node that executed on the same thread and can have an anchor, as they were measured.
    fn within(&self, node: &DiagnosisNode) -> Option<String> {
        let (mut nearest, mut at) = (Vec::new(), node);
        // A damaged recording may have circles.
        for _ in 0..self.diagnosis.nodes.len() {
            if at.reason.as_deref() == Some(ON_ANOTHER_THREAD) {
                break;
            }
            let above = at.parent.and_then(|parent| self.diagnosis.nodes.get(parent));
            let Some(above) = above.filter(|above| above.jvm == node.jvm && nearest.len() < self.nearest) else {
                break;
            };
            // What a call may run is no method that could have an anchor, and nor are natives.
            if above.kind == "method" {
                nearest.push(above.method.split('(').next().unwrap_or_default());
            }
            at = above;
        }
        nearest.reverse();
        (!nearest.is_empty()).then(|| nearest.join(" > "))
    }
}

impl<'a> NodeData<'a> {
    fn of(shown: &Shown<'a>, at: usize, node: &'a DiagnosisNode) -> NodeData<'a> {
        let below = shown.children.get(at).into_iter().flatten();
        let below = below.filter_map(|child| Some((*child, shown.diagnosis.nodes.get(*child)?)));
        NodeData {
            method: &node.method,
            jvm: node.jvm,
            level: node.level,
            calls: node.calls,
            slow_calls: node.slow_calls,
            total_ms: node.total_nanos.map(millis),
            slow_ms: node.slow_nanos.map(millis),
            share: node.share,
            per_call: node.per_call,
            kind: &node.kind,
            reason: node.reason.as_deref(),
            running: node.running,
            waiting: node.waiting,
            followed: node.followed,
            lines: &node.lines,
            via: &node.via,
            within: shown.within(node),
            children: below.map(|(child, node)| NodeData::of(shown, child, node)).collect(),
        }
    }
}

impl CostData {
    fn of(cost: DiagnosisCost) -> CostData {
        let DiagnosisCost { classes, retransforms, longest_stop_nanos, cpu_nanos } = cost;
        CostData { classes, retransforms, longest_stop_ms: millis(longest_stop_nanos), cpu_ms: millis(cpu_nanos) }
    }
}

fn millis(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(parent: Option<usize>, method: &str, kind: &str, share: Option<f64>) -> DiagnosisNode {
        DiagnosisNode { parent, method: method.to_owned(), kind: kind.to_owned(), share, ..DiagnosisNode::default() }
    }

    #[test]
    fn scripts_get_the_tree_with_what_explains_most_first_and_null_for_what_was_not_measured() {
        let root =
            DiagnosisNode { calls: Some(9), slow_nanos: Some(1_500_000), ..node(None, "a.A.a()", "method", Some(1.0)) };
        let nodes = vec![
            root,
            node(Some(0), "a.B.fast()", "call-site", Some(0.1)),
            node(Some(0), "a.A.a()", "own-code", None),
            node(Some(0), "a.B.slow()", "method", Some(0.9)),
            DiagnosisNode { jvm: Some(4711), ..node(Some(3), "a.C.read()", "native", Some(0.8)) },
        ];
        let cost = DiagnosisCost { classes: 3, retransforms: 5, longest_stop_nanos: 12_000_000, cpu_nanos: 500_000 };
        let diagnosis =
            Diagnosis { method: "a.A.a()".to_owned(), calls: 9, slow: 2, nodes, cost, ..Diagnosis::default() };
        let json: Value = serde_json::from_str(&diagnosis_json(&diagnosis, DiagnosisJson::default())).unwrap();
        assert_eq!((&json["method"], &json["calls"], &json["slow"]), (&json!("a.A.a()"), &json!(9), &json!(2)));
        assert_eq!((&json["explained"], &json["sentence"]), (&Value::Null, &Value::Null));
        assert_eq!(json["cost"], json!({"classes": 3, "retransforms": 5, "longest_stop_ms": 12.0, "cpu_ms": 0.5}));
        let tree = &json["tree"];
        assert_eq!(
            (&tree["slow_ms"], &tree["total_ms"], &tree["slow_calls"]),
            (&json!(1.5), &Value::Null, &Value::Null)
        );
        let names: Vec<_> = tree["children"].as_array().unwrap().iter().map(|child| &child["method"]).collect();
        assert_eq!(names, ["a.B.slow()", "a.B.fast()", "a.A.a()"]);
        let below = &tree["children"][0]["children"][0];
        assert_eq!((&below["kind"], &below["jvm"]), (&json!("native"), &json!(4711)));
        assert!(tree["children"][0].get("jvm").is_none(), "it is in the JVM of the diagnosed method");
        assert_eq!(tree["children"][2]["children"], json!([]));
        assert_eq!((&tree["within"], &tree["children"][0]["within"]), (&Value::Null, &json!("a.A.a")));
        assert_eq!(below["within"], Value::Null, "nothing of this JVM is executing on the thread of the other one");
    }

    /// One level more adds its caller; what is no method that was measured is no step.
    #[test]
    fn the_proposed_context_of_a_node_are_the_nearest_methods_above_it_that_were_measured() {
        let mut nodes: Vec<DiagnosisNode> =
            (0..6).map(|at: usize| node(at.checked_sub(1), &format!("a.B.m{at}(int)"), "method", None)).collect();
        nodes[3].kind = "call-site".to_owned();
        let diagnosis = Diagnosis { nodes, ..Diagnosis::default() };
        let of_last = |nearest| {
            let options = DiagnosisJson { nearest, ..DiagnosisJson::default() };
            let json: Value = serde_json::from_str(&diagnosis_json(&diagnosis, options)).unwrap();
            json.pointer(&format!("/tree{}/within", "/children/0".repeat(5))).cloned()
        };
        assert_eq!(of_last(1), Some(json!("a.B.m4")));
        assert_eq!(of_last(3), Some(json!("a.B.m1 > a.B.m2 > a.B.m4")));
        assert_eq!(of_last(16), Some(json!("a.B.m0 > a.B.m1 > a.B.m2 > a.B.m4")));
    }

    #[test]
    fn the_proposed_context_begins_on_the_thread_of_the_node() {
        let mut nodes: Vec<DiagnosisNode> =
            (0..5).map(|at: usize| node(at.checked_sub(1), &format!("a.B.m{at}()"), "method", None)).collect();
        nodes[2].reason = Some(ON_ANOTHER_THREAD.to_owned());
        let diagnosis = Diagnosis { nodes, ..Diagnosis::default() };
        let json: Value = serde_json::from_str(&diagnosis_json(&diagnosis, DiagnosisJson::default())).unwrap();
        let within = |depth| json.pointer(&format!("/tree{}/within", "/children/0".repeat(depth)));
        assert_eq!([within(2), within(4)], [None, Some(&json!("a.B.m2 > a.B.m3"))]);
    }

    #[test]
    fn a_diagnosis_without_nodes_and_one_with_impossible_parents_are_shown_as_far_as_they_go() {
        let json = |nodes| diagnosis_json(&Diagnosis { nodes, ..Diagnosis::default() }, DiagnosisJson::default());
        let nothing: Value = serde_json::from_str(&json(Vec::new())).unwrap();
        assert_eq!(nothing["tree"], Value::Null);
        let circle = vec![
            node(Some(1), "a", "method", None),
            node(Some(1), "b", "method", None),
            node(Some(7), "c", "method", None),
        ];
        let circle: Value = serde_json::from_str(&json(circle)).unwrap();
        assert_eq!(circle["tree"]["children"].as_array().unwrap().len(), 2);
    }
}
