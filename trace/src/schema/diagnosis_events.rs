//! Events of diagnoses: one for the result, one for each node of its tree, one for each slow call. What was not measured has the value that JFR prints as `N/A`: the
//! smallest `long`, a `double` that is no number, no text.

use super::*;

const CLAIM: Field = field(
    "claim",
    id::LONG,
    &[annotation!(LABEL, "Claim"), annotation!(DESCRIPTION, "Number of the diagnosis, by which its nodes refer to it")],
);

pub(super) const EVENTS: &[TypeDefinition] = &[
    event(
        id::DIAGNOSIS,
        "instr.Diagnosis",
        &[
            annotation!(LABEL, "Diagnosis"),
            annotation!(
                DESCRIPTION,
                "Result of a diagnosis that has ended: which branch makes slow calls of a method slow"
            ),
            IN_INSTR,
        ],
        &[
            START,
            CLAIM,
            labelled!("method", STRING, "Method"),
            labelled!("context", STRING, "Context", "Only calls inside these methods count"),
            labelled!("condition", STRING, "Condition", "Only calls for which this holds count"),
            labelled!("state", STRING, "State", "done: it has a result; ended: it was ended before that"),
            labelled!("reason", STRING, "Reason", "Why it was ended"),
            labelled!("sentence", STRING, "Result"),
            fraction!("explained", "Explained", "Part of the slow calls' additional time that the branches explain"),
            time!("slowerThan", "Slower Than"),
            labelled!("learnt", BOOLEAN, "Learnt", "The limit was learnt from the calls; otherwise it was stated"),
            labelled!("calls", LONG, "Calls"),
            labelled!("slow", LONG, "Slow Calls"),
            labelled!("classes", LONG, "Classes", "Classes that carried its probes"),
            labelled!("retransforms", LONG, "Retransformations"),
            time!("longestStop", "Longest Stop"),
            time!("cpuTime", "Agent's CPU Time"),
            labelled!("notices", STRING, "Notices", "What should be known about the figures, one on each line"),
            labelled!("nodes", LONG, "Nodes", "Nodes of its tree: as many instr.DiagnosisNode belong to it"),
        ],
    ),
    event(
        id::DIAGNOSIS_NODE,
        "instr.DiagnosisNode",
        &[
            annotation!(LABEL, "Node of a Diagnosis"),
            annotation!(DESCRIPTION, "A method, or its calls in its caller, with what it contributes to slow calls"),
            IN_INSTR,
        ],
        &[
            START,
            CLAIM,
            labelled!("number", LONG, "Number", "Counted from 0, the method that is diagnosed; each after its parent"),
            labelled!("parent", LONG, "Parent", "Number of the node that calls it"),
            labelled!("level", LONG, "Level", "0 for the method that is diagnosed"),
            labelled!("method", STRING, "Method", "Of own code, the method whose code it is"),
            labelled!("kind", STRING, "Kind", "method, call-site, native, waiting or own-code"),
            labelled!("calls", LONG, "Calls"),
            labelled!("slowCalls", LONG, "Calls in Slow Calls"),
            time!("totalTime", "Time"),
            time!("slowTime", "Time in Slow Calls"),
            fraction!("share", "Share", "Part of the slow calls' additional time that it explains"),
            fraction!("running", "Running", "Part of the stacks inside it that were running"),
            fraction!("waiting", "Waiting", "Part of the stacks inside it that waited"),
            labelled!("followed", BOOLEAN, "Followed", "The descent went on through it"),
            labelled!("reason", STRING, "Reason", "Why the descent ends here"),
            labelled!("lines", STRING, "Lines", "Where slow calls were seen in it, the most frequent line first"),
            labelled!("via", STRING, "Via", "Methods on the way to it that were not measured, one on each line"),
        ],
    ),
    event(
        id::SLOW_CALL,
        "instr.SlowCall",
        &[
            annotation!(LABEL, "Slow Call"),
            annotation!(DESCRIPTION, "A slow call of a method that is diagnosed, and where its time went"),
            IN_INSTR,
        ],
        &[
            START,
            DURATION,
            EVENT_THREAD,
            CLAIM,
            labelled!("method", STRING, "Method"),
            labelled!("context", STRING, "Context", "Only calls inside these methods count"),
            labelled!("condition", STRING, "Condition", "Only calls for which this holds count"),
            labelled!("threadName", STRING, "Thread Name", "Also of a virtual thread"),
            labelled!(
                "path",
                STRING,
                "Path",
                "The calls that took longest, each within the one before: time, number, method"
            ),
        ],
    ),
];
