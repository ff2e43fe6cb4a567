//! Events of calls, and about the recording itself.

use super::*;

pub(super) const EVENTS: &[TypeDefinition] = &[
    event(
        id::METHOD_CALL,
        "instr.MethodCall",
        &[annotation!(LABEL, "Method Call"), IN_INSTR],
        &[
            START,
            DURATION,
            EVENT_THREAD,
            METHOD,
            EXACT,
            pooled("template", id::TEMPLATE, &[annotation!(LABEL, "Template")]),
        ],
    ),
    event(
        id::STATEMENT,
        "instr.Statement",
        &[annotation!(LABEL, "Statement"), IN_INSTR],
        &[
            START,
            DURATION,
            EVENT_THREAD,
            METHOD,
            EXACT,
            field("statement", id::STRING, &[annotation!(LABEL, "Statement")]),
        ],
    ),
    event(
        id::HTTP_REQUEST,
        "instr.HttpRequest",
        &[annotation!(LABEL, "HTTP Request"), IN_INSTR],
        &[
            START,
            DURATION,
            EVENT_THREAD,
            METHOD,
            EXACT,
            field("httpMethod", id::STRING, &[annotation!(LABEL, "HTTP Method")]),
            field("path", id::STRING, &[annotation!(LABEL, "Path")]),
            field(
                "route",
                id::STRING,
                &[
                    annotation!(LABEL, "Route"),
                    annotation!(DESCRIPTION, "The pattern by which the framework knows the path"),
                ],
            ),
            field("status", id::INT, &[annotation!(LABEL, "Status")]),
        ],
    ),
    event(
        id::SOCKET_TRANSFER,
        "instr.SocketTransfer",
        &[annotation!(LABEL, "Socket Transfer"), IN_INSTR],
        &[
            START,
            DURATION,
            EVENT_THREAD,
            METHOD,
            EXACT,
            field("peer", id::STRING, &[annotation!(LABEL, "Peer")]),
            field("bytes", id::LONG, &[annotation!(LABEL, "Bytes"), annotation!(DATA_AMOUNT, "BYTES")]),
        ],
    ),
    event(
        id::CALL_ARGUMENTS,
        "instr.CallArguments",
        &[
            annotation!(LABEL, "Arguments of a Call"),
            annotation!(
                DESCRIPTION,
                "Values that the rule chooses, beside the instr.MethodCall of the same start and duration"
            ),
            IN_INSTR,
        ],
        &[
            START,
            DURATION,
            EVENT_THREAD,
            METHOD,
            EXACT,
            field("arguments", id::STRING, &[annotation!(LABEL, "Arguments")]),
        ],
    ),
    event(
        id::LOSS,
        "instr.Loss",
        &[annotation!(LABEL, "Lost Records"), IN_INSTR],
        &[START, EVENT_THREAD, field("lost", id::LONG, &[annotation!(LABEL, "Lost")])],
    ),
    event(id::START_UP_DONE, "instr.StartUpDone", &[annotation!(LABEL, "Start-Up Done"), IN_INSTR], &[START]),
    event(
        id::CONFIGURATION,
        "instr.Configuration",
        &[annotation!(LABEL, "Configuration"), IN_INSTR],
        &[
            START,
            field("key", id::STRING, &[annotation!(LABEL, "Key")]),
            field("value", id::STRING, &[annotation!(LABEL, "Value")]),
        ],
    ),
    event(
        id::NOTE,
        "instr.Note",
        &[annotation!(LABEL, "Note"), IN_INSTR],
        &[
            START,
            field("kind", id::STRING, &[annotation!(LABEL, "Kind")]),
            field("message", id::STRING, &[annotation!(LABEL, "Message")]),
        ],
    ),
    event(
        id::RECORDING_END,
        "instr.RecordingEnd",
        &[annotation!(LABEL, "Recording End"), IN_INSTR],
        &[
            START,
            field("calls", id::LONG, &[annotation!(LABEL, "Calls")]),
            field("lost", id::LONG, &[annotation!(LABEL, "Lost")]),
            field("unknownProbes", id::LONG, &[annotation!(LABEL, "Calls of Unknown Probes")]),
            field("dropped", id::LONG, &[annotation!(LABEL, "Events Dropped by File Errors")]),
        ],
    ),
    event(
        id::BURST_WINDOW,
        "instr.BurstWindow",
        &[
            annotation!(LABEL, "Burst Window"),
            annotation!(DESCRIPTION, "Calls of level burst that began in it are recorded, no others"),
            IN_INSTR,
        ],
        &[START, DURATION],
    ),
    event(
        id::CLAIM,
        "instr.Claim",
        &[
            annotation!(LABEL, "Claim on a Probe"),
            annotation!(
                DESCRIPTION,
                "The level of a method's probe changes, or of all probes where there is no method"
            ),
            IN_INSTR,
        ],
        &[
            START,
            METHOD,
            pooled("template", id::TEMPLATE, &[annotation!(LABEL, "Template")]),
            field("owner", id::STRING, &[annotation!(LABEL, "Owner")]),
            field("reason", id::STRING, &[annotation!(LABEL, "Reason")]),
            field("from", id::STRING, &[annotation!(LABEL, "Level Before")]),
            field("to", id::STRING, &[annotation!(LABEL, "Level After")]),
        ],
    ),
    event(
        id::RETRANSFORM,
        "instr.Retransform",
        &[
            annotation!(LABEL, "Retransformed Classes"),
            annotation!(DESCRIPTION, "Loaded classes that were given other bodies in one call of the JVM"),
            IN_INSTR,
        ],
        &[
            START,
            DURATION,
            field("reason", id::STRING, &[annotation!(LABEL, "Reason")]),
            field("classes", id::LONG, &[annotation!(LABEL, "Classes")]),
            field(
                "rejected",
                id::BOOLEAN,
                &[
                    annotation!(LABEL, "Rejected"),
                    annotation!(
                        DESCRIPTION,
                        "The JVM rejected these classes together: they are presented again in parts"
                    ),
                ],
            ),
            field(
                "stopped",
                id::LONG,
                &[
                    annotation!(LABEL, "Stopped At Most"),
                    annotation!(
                        DESCRIPTION,
                        "The application was stopped for no longer: all safepoints meanwhile together, or the duration without \
                         the time in the agent if the JVM does not publish them"
                    ),
                    annotation!(TIMESPAN, "TICKS"),
                ],
            ),
        ],
    ),
    event(
        id::LATE_TICK,
        "instr.LateTick",
        &[
            annotation!(LABEL, "Late Tick"),
            annotation!(
                DESCRIPTION,
                "Level watch: the next tick was late, so lengths of calls that began or ended here may be off by this duration"
            ),
            IN_INSTR,
        ],
        &[START, DURATION],
    ),
    event(
        id::TASK,
        "instr.Task",
        &[
            annotation!(LABEL, "Task Between Threads"),
            annotation!(
                DESCRIPTION,
                "A task was handed to another thread, began or ended there; or a thread was started"
            ),
            IN_INSTR,
        ],
        &[
            START,
            EVENT_THREAD,
            field("step", id::STRING, &[annotation!(LABEL, "Step")]),
            field(
                "task",
                id::LONG,
                &[
                    annotation!(LABEL, "Task"),
                    annotation!(DESCRIPTION, "Identity hash of the task, or id of the thread"),
                ],
            ),
        ],
    ),
    event(
        id::PHASE,
        "instr.Phase",
        &[
            annotation!(LABEL, "Phase"),
            annotation!(DESCRIPTION, "A part of the recording begins: initialisation, profiling, end"),
            IN_INSTR,
        ],
        &[
            START,
            field("phase", id::STRING, &[annotation!(LABEL, "Phase")]),
            field("reason", id::STRING, &[annotation!(LABEL, "Reason")]),
        ],
    ),
];
