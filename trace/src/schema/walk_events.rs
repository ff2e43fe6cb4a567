//! Events of walks: one for each hot method, each method whose callers were looked for and each caller, and one for the end; before that one whenever the number of
//! probes changed. What was not measured has the value that JFR prints as `N/A`.

use super::*;

const WALK: Field = field(
    "walk",
    id::LONG,
    &[
        annotation!(LABEL, "Walk"),
        annotation!(DESCRIPTION, "Number of the walk, from 1, by which its events refer to it"),
    ],
);

pub(super) const EVENTS: &[TypeDefinition] = &[
    event(
        id::HOT_SPOT,
        "instr.HotSpot",
        &[
            annotation!(LABEL, "Hot Spot"),
            annotation!(DESCRIPTION, "A method that uses much processor time, from which a walk goes up"),
            IN_INSTR,
        ],
        &[
            START,
            WALK,
            labelled!("number", LONG, "Number", "Counted from 0, the hottest one first"),
            labelled!("method", STRING, "Method"),
            labelled!("kind", STRING, "Kind", "What it mostly executes: jit, interpreted or native"),
            fraction!("share", "Share", "Part of all samples, without the methods that it calls"),
            fraction!("margin", "Margin", "The share is off by more than this in one of twenty cases, by chance alone"),
            labelled!("samples", LONG, "Samples"),
        ],
    ),
    event(
        id::WALK_LEVEL,
        "instr.WalkLevel",
        &[
            annotation!(LABEL, "Level of a Walk"),
            annotation!(DESCRIPTION, "A method whose callers a walk has looked for"),
            IN_INSTR,
        ],
        &[
            START,
            WALK,
            labelled!("number", LONG, "Number", "Counted from 0, by which its callers refer to it"),
            labelled!("level", LONG, "Level", "1: the callers of a hot method"),
            labelled!("hot", STRING, "Hot Method"),
            labelled!("of", STRING, "Method", "The method that is called"),
            labelled!("source", STRING, "Source", "Where calls and time are from: measured, finder or samples"),
            labelled!("calls", LONG, "Calls", "Calls of the method that were measured"),
            fraction!("covered", "Covered", "Part of these calls for which a caller was measured, too"),
            fraction!("share", "Share", "Its part of the processor time of the hot method"),
            labelled!("reason", STRING, "Reason", "Why there are no measured figures, or why they are not complete"),
            labelled!("edges", LONG, "Edges", "As many instr.WalkEdge belong to it"),
        ],
    ),
    event(
        id::WALK_EDGE,
        "instr.WalkEdge",
        &[
            annotation!(LABEL, "Caller in a Walk"),
            annotation!(DESCRIPTION, "A caller of a method, or the part of it without a caller"),
            IN_INSTR,
        ],
        &[
            START,
            WALK,
            labelled!("row", LONG, "Row", "Number of the instr.WalkLevel to which it belongs"),
            labelled!("number", LONG, "Number", "Counted from 0, the largest share of the processor time first"),
            labelled!("caller", STRING, "Caller"),
            labelled!("via", STRING, "Via", "The method that mostly stands between the two"),
            labelled!("calls", LONG, "Calls"),
            fraction!("callsShare", "Share of Calls", "Part of all measured calls that have a caller"),
            fraction!("callsMargin", "Margin of Calls", "That share is off by more than this in one of twenty cases"),
            time!("time", "Time"),
            fraction!(
                "timeShare",
                "Share of Time",
                "Part of the time of all measured calls that have a caller, or of what they have used by the metric"
            ),
            fraction!("timeMargin", "Margin of Time", "That share is off by more than this in one of twenty cases"),
            time!("shortest", "Shortest Call"),
            time!("longest", "Longest Call"),
            fraction!("cpuShare", "Share of CPU Time", "Part of the processor time of the method, by samples"),
            fraction!("margin", "Margin", "That share is off by more than this in one of twenty cases"),
            labelled!("followed", BOOLEAN, "Followed", "The walk went on there"),
            labelled!("reason", STRING, "Reason", "Why there is no caller"),
        ],
    ),
    event(
        id::HOOK_GAUGE,
        "instr.HookGauge",
        &[
            annotation!(LABEL, "Probes of a Walk"),
            annotation!(DESCRIPTION, "The number of probes of a walk has changed"),
            IN_INSTR,
        ],
        &[
            START,
            WALK,
            labelled!("now", LONG, "Probes", "From now on"),
            labelled!("most", LONG, "Most Probes", "At a time, up to now"),
        ],
    ),
    event(
        id::WALK_END,
        "instr.WalkEnd",
        &[
            annotation!(LABEL, "End of a Walk"),
            annotation!(DESCRIPTION, "A walk from hot methods up to their callers has ended"),
            IN_INSTR,
        ],
        &[
            START,
            WALK,
            labelled!("reason", STRING, "Reason", "Why it has ended, for each hot method"),
            labelled!("samples", LONG, "Samples"),
            labelled!("metric", STRING, "Metric", "By what calls were measured, if not by time"),
            labelled!("sampler", STRING, "Sampler", "What took the samples: async or jvmti"),
            labelled!("bias", STRING, "Bias", "In which respect samples are not what one might think"),
            labelled!("now", LONG, "Probes", "Probes that are left"),
            labelled!("most", LONG, "Most Probes", "At a time"),
            labelled!("calls", LONG, "Recorded Calls"),
            labelled!("late", LONG, "Late Calls", "Calls that began before a level was measured"),
            labelled!("changes", LONG, "Changes", "How often classes were changed"),
            time!("longestStop", "Longest Stop"),
            labelled!("notices", STRING, "Notices", "What should be known about the figures, one on each line"),
            labelled!("hotSpots", LONG, "Hot Spots", "As many instr.HotSpot belong to it"),
            labelled!("levels", LONG, "Levels", "As many instr.WalkLevel belong to it"),
        ],
    ),
];
