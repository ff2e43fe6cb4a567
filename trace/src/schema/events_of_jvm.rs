//! Events of the JVM: what was there at the beginning, what changed, what was sampled.

use super::*;

pub(super) const EVENTS: &[TypeDefinition] = &[
    event(
        id::JVM_INFORMATION,
        "jdk.JVMInformation",
        &[annotation!(LABEL, "JVM Information"), IN_JVM],
        &[
            START,
            field("jvmName", id::STRING, &[annotation!(LABEL, "JVM Name")]),
            field("jvmVersion", id::STRING, &[annotation!(LABEL, "JVM Version")]),
            field("jvmArguments", id::STRING, &[annotation!(LABEL, "JVM Command Line Arguments")]),
            field("jvmFlags", id::STRING, &[annotation!(LABEL, "JVM Settings File Arguments")]),
            field("javaArguments", id::STRING, &[annotation!(LABEL, "Java Application Arguments")]),
            field(
                "jvmStartTime",
                id::LONG,
                &[annotation!(LABEL, "JVM Start Time"), annotation!(TIMESTAMP, "MILLISECONDS_SINCE_EPOCH")],
            ),
            field("pid", id::LONG, &[annotation!(LABEL, "Process Identifier")]),
        ],
    ),
    event(
        id::CPU_INFORMATION,
        "jdk.CPUInformation",
        &[annotation!(LABEL, "CPU Information"), IN_OS],
        &[
            START,
            field("cpu", id::STRING, &[annotation!(LABEL, "Type")]),
            field("description", id::STRING, &[annotation!(LABEL, "Description")]),
            field("sockets", id::INT, &[annotation!(LABEL, "Sockets")]),
            field("cores", id::INT, &[annotation!(LABEL, "Cores")]),
            field("hwThreads", id::INT, &[annotation!(LABEL, "Hardware Threads")]),
        ],
    ),
    event(
        id::OS_INFORMATION,
        "jdk.OSInformation",
        &[annotation!(LABEL, "OS Information"), IN_OS],
        &[START, field("osVersion", id::STRING, &[annotation!(LABEL, "OS Version")])],
    ),
    event(
        id::ACTIVE_SETTING,
        "jdk.ActiveSetting",
        &[annotation!(LABEL, "Recording Setting"), IN_JVM],
        &[
            START,
            field("id", id::LONG, &[annotation!(LABEL, "Event Id")]),
            field("name", id::STRING, &[annotation!(LABEL, "Setting Name")]),
            field("value", id::STRING, &[annotation!(LABEL, "Setting Value")]),
        ],
    ),
    event(
        id::THREAD_START,
        "jdk.ThreadStart",
        &[annotation!(LABEL, "Java Thread Start"), IN_JVM],
        &[START, EVENT_THREAD, pooled("thread", id::THREAD, &[annotation!(LABEL, "New Java Thread")])],
    ),
    event(
        id::THREAD_END,
        "jdk.ThreadEnd",
        &[annotation!(LABEL, "Java Thread End"), IN_JVM],
        &[START, EVENT_THREAD, pooled("thread", id::THREAD, &[annotation!(LABEL, "Java Thread")])],
    ),
    event(
        id::THREAD_SWITCHES,
        "instr.ThreadSwitches",
        &[
            annotation!(LABEL, "Thread Switches"),
            annotation!(DESCRIPTION, "How often a thread has left its processor since it began"),
            IN_INSTR,
        ],
        &[
            START,
            EVENT_THREAD,
            field("voluntary", id::LONG, &[annotation!(LABEL, "It Had to Wait")]),
            field("involuntary", id::LONG, &[annotation!(LABEL, "Another Thread Took Its Place")]),
        ],
    ),
    event(
        id::GARBAGE_COLLECTION,
        "jdk.GarbageCollection",
        &[annotation!(LABEL, "Garbage Collection"), IN_JVM],
        &[
            START,
            DURATION,
            field("gcId", id::INT, &[annotation!(LABEL, "GC Identifier")]),
            field("name", id::STRING, &[annotation!(LABEL, "Name")]),
            field("sumOfPauses", id::LONG, &[annotation!(LABEL, "Sum of Pauses"), annotation!(TIMESPAN, "TICKS")]),
            field("longestPause", id::LONG, &[annotation!(LABEL, "Longest Pause"), annotation!(TIMESPAN, "TICKS")]),
        ],
    ),
    event(
        id::CLASS_DEFINE,
        "jdk.ClassDefine",
        &[annotation!(LABEL, "Class Define"), IN_JVM],
        &[START, EVENT_THREAD, pooled("definedClass", id::CLASS, &[annotation!(LABEL, "Defined Class")]), LOADER],
    ),
    event(
        id::CLASS_UNLOAD,
        "jdk.ClassUnload",
        &[annotation!(LABEL, "Class Unload"), IN_JVM],
        &[START, EVENT_THREAD, pooled("unloadedClass", id::CLASS, &[annotation!(LABEL, "Unloaded Class")]), LOADER],
    ),
    event(
        id::LIVE_THREAD,
        "instr.LiveThread",
        &[annotation!(LABEL, "Thread at the Beginning"), IN_INSTR],
        &[START, pooled("thread", id::THREAD, &[annotation!(LABEL, "Thread")])],
    ),
    event(
        id::LOADED_CLASS,
        "instr.LoadedClass",
        &[annotation!(LABEL, "Class at the Beginning"), IN_INSTR],
        &[START, pooled("loadedClass", id::CLASS, &[annotation!(LABEL, "Loaded Class")]), LOADER],
    ),
    event(
        id::LOADED_METHOD,
        "instr.LoadedMethod",
        &[annotation!(LABEL, "Method at the Beginning"), IN_INSTR],
        &[START, METHOD],
    ),
    event(
        id::COMPILED_CODE,
        "instr.CompiledCode",
        &[annotation!(LABEL, "Compiled Code"), IN_INSTR],
        &[START, METHOD, ADDRESS, LENGTH],
    ),
    event(
        id::COMPILED_CODE_UNLOAD,
        "instr.CompiledCodeUnload",
        &[annotation!(LABEL, "Compiled Code Unload"), IN_INSTR],
        &[START, METHOD, ADDRESS, LENGTH],
    ),
    event(
        id::GENERATED_CODE,
        "instr.GeneratedCode",
        &[
            annotation!(LABEL, "Generated Code"),
            annotation!(DESCRIPTION, "Machine code of the JVM itself: interpreter, stubs, adapters"),
            IN_INSTR,
        ],
        &[START, field("name", id::STRING, &[annotation!(LABEL, "Name")]), ADDRESS, LENGTH],
    ),
    event(
        id::NATIVE_LIBRARY,
        "instr.NativeLibrary",
        &[
            annotation!(LABEL, "Native Library"),
            annotation!(DESCRIPTION, "A file with machine code in the process's memory"),
            IN_INSTR,
        ],
        &[
            START,
            field("name", id::STRING, &[annotation!(LABEL, "File")]),
            field(
                "buildId",
                id::STRING,
                &[
                    annotation!(LABEL, "Build Id"),
                    annotation!(DESCRIPTION, "By which its symbols are found; empty if unknown"),
                ],
            ),
            ADDRESS,
            LENGTH,
        ],
    ),
    event(
        id::EXECUTION_SAMPLE,
        "jdk.ExecutionSample",
        &[annotation!(LABEL, "Method Profiling Sample"), IN_JVM],
        &[
            START,
            pooled("sampledThread", id::THREAD, &[annotation!(LABEL, "Thread")]),
            pooled("stackTrace", id::STACK_TRACE, &[annotation!(LABEL, "Stack Trace")]),
            pooled("state", id::THREAD_STATE, &[annotation!(LABEL, "Thread State")]),
        ],
    ),
    event(
        id::FAILED_SAMPLE,
        "instr.FailedSample",
        &[
            annotation!(LABEL, "Sample Without Stack"),
            annotation!(DESCRIPTION, "A tick of the sampler at which the stack could not be read"),
            IN_INSTR,
        ],
        &[
            START,
            EVENT_THREAD,
            field("reason", id::STRING, &[annotation!(LABEL, "Reason")]),
            field(
                "place",
                id::STRING,
                &[
                    annotation!(LABEL, "Place"),
                    annotation!(
                        DESCRIPTION,
                        "The method or the native function that was executing; empty if it is not known"
                    ),
                ],
            ),
        ],
    ),
    event(
        id::ALLOCATION_SAMPLE,
        "jdk.ObjectAllocationSample",
        &[annotation!(LABEL, "Object Allocation Sample"), IN_JVM],
        &[
            START,
            EVENT_THREAD,
            pooled("stackTrace", id::STACK_TRACE, &[annotation!(LABEL, "Stack Trace")]),
            pooled("objectClass", id::CLASS, &[annotation!(LABEL, "Object Class")]),
            field(
                "weight",
                id::LONG,
                &[
                    annotation!(LABEL, "Sample Weight"),
                    annotation!(DESCRIPTION, "The bytes that this sample represents"),
                    annotation!(DATA_AMOUNT, "BYTES"),
                ],
            ),
            field("objectSize", id::LONG, &[annotation!(LABEL, "Object Size"), annotation!(DATA_AMOUNT, "BYTES")]),
        ],
    ),
];
