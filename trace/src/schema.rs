//! The event and value types of our recordings, as one table: the metadata of the file and the reader's names derive
//! from it. Ids start at 5000, so that chunks of the JVM and ours can stand in one file without a clash.

/// Ids of the types.
pub(crate) mod id {
    pub(crate) const METHOD_CALL: u32 = 5000;
    pub(crate) const STATEMENT: u32 = 5001;
    pub(crate) const HTTP_REQUEST: u32 = 5002;
    pub(crate) const SOCKET_TRANSFER: u32 = 5003;
    pub(crate) const LOSS: u32 = 5004;
    pub(crate) const START_UP_DONE: u32 = 5005;
    pub(crate) const CONFIGURATION: u32 = 5006;
    pub(crate) const NOTE: u32 = 5007;
    pub(crate) const RECORDING_END: u32 = 5008;
    pub(crate) const LIVE_THREAD: u32 = 5009;
    pub(crate) const LOADED_CLASS: u32 = 5010;
    pub(crate) const TASK: u32 = 5015;
    pub(crate) const JVM_INFORMATION: u32 = 5020;
    pub(crate) const CPU_INFORMATION: u32 = 5021;
    pub(crate) const OS_INFORMATION: u32 = 5022;
    pub(crate) const ACTIVE_SETTING: u32 = 5023;
    pub(crate) const THREAD_START: u32 = 5024;
    pub(crate) const THREAD_END: u32 = 5025;
    pub(crate) const GARBAGE_COLLECTION: u32 = 5026;
    pub(crate) const CLASS_DEFINE: u32 = 5027;
    pub(crate) const EXECUTION_SAMPLE: u32 = 5030;
    pub(crate) const FAILED_SAMPLE: u32 = 5031;
    pub(crate) const BOOLEAN: u32 = 5040;
    pub(crate) const CHAR: u32 = 5041;
    pub(crate) const FLOAT: u32 = 5042;
    pub(crate) const DOUBLE: u32 = 5043;
    pub(crate) const BYTE: u32 = 5044;
    pub(crate) const SHORT: u32 = 5045;
    pub(crate) const INT: u32 = 5046;
    pub(crate) const LONG: u32 = 5047;
    pub(crate) const STRING: u32 = 5048;
    pub(crate) const THREAD: u32 = 5049;
    pub(crate) const CLASS: u32 = 5050;
    pub(crate) const CLASS_LOADER: u32 = 5051;
    pub(crate) const METHOD: u32 = 5052;
    pub(crate) const SYMBOL: u32 = 5053;
    pub(crate) const PACKAGE: u32 = 5054;
    pub(crate) const MODULE: u32 = 5055;
    pub(crate) const TEMPLATE: u32 = 5056;
    pub(crate) const STACK_TRACE: u32 = 5060;
    pub(crate) const STACK_FRAME: u32 = 5061;
    pub(crate) const FRAME_TYPE: u32 = 5062;
    pub(crate) const THREAD_STATE: u32 = 5063;
    pub(crate) const LABEL: u32 = 5070;
    pub(crate) const CATEGORY: u32 = 5071;
    pub(crate) const DESCRIPTION: u32 = 5072;
    pub(crate) const TIMESTAMP: u32 = 5073;
    pub(crate) const TIMESPAN: u32 = 5074;
    pub(crate) const DATA_AMOUNT: u32 = 5075;
    pub(crate) const CONTENT_TYPE: u32 = 5076;
}

/// Version of the table above and below; a reader that has seen one id may reuse what it has read for it.
pub(crate) const METADATA_ID: u64 = 4;

/// One type of the file.
pub(crate) struct TypeDefinition {
    pub(crate) id: u32,
    pub(crate) name: &'static str,
    pub(crate) super_type: Option<&'static str>,
    /// A type with one field that tools show as that field's value.
    pub(crate) is_simple: bool,
    pub(crate) annotations: &'static [Annotation],
    pub(crate) fields: &'static [Field],
}

/// One field of a type.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) type_id: u32,
    /// The field holds a key of the constant pool of its type.
    pub(crate) is_pooled: bool,
    pub(crate) is_array: bool,
    pub(crate) annotations: &'static [Annotation],
}

/// One annotation: its type and its values (`value`, or `value-0`, `value-1`, ... for arrays).
pub(crate) struct Annotation {
    pub(crate) type_id: u32,
    pub(crate) values: &'static [(&'static str, &'static str)],
}

const EVENT: Option<&str> = Some("jdk.jfr.Event");
const ANNOTATION: Option<&str> = Some("java.lang.annotation.Annotation");

macro_rules! annotation {
    ($kind:ident, $value:literal) => {
        Annotation { type_id: id::$kind, values: &[("value", $value)] }
    };
}

const IN_INSTR: Annotation = Annotation { type_id: id::CATEGORY, values: &[("value-0", "instr")] };
const IN_JVM: Annotation = Annotation { type_id: id::CATEGORY, values: &[("value-0", "Java Virtual Machine")] };
const IN_OS: Annotation = Annotation { type_id: id::CATEGORY, values: &[("value-0", "Operating System")] };

const fn field(name: &'static str, type_id: u32, annotations: &'static [Annotation]) -> Field {
    Field { name, type_id, is_pooled: false, is_array: false, annotations }
}

const fn pooled(name: &'static str, type_id: u32, annotations: &'static [Annotation]) -> Field {
    Field { name, type_id, is_pooled: true, is_array: false, annotations }
}

const START: Field = field("startTime", id::LONG, &[annotation!(LABEL, "Start Time"), annotation!(TIMESTAMP, "TICKS")]);
const DURATION: Field = field("duration", id::LONG, &[annotation!(LABEL, "Duration"), annotation!(TIMESPAN, "TICKS")]);
const EVENT_THREAD: Field = pooled("eventThread", id::THREAD, &[annotation!(LABEL, "Event Thread")]);
const METHOD: Field = pooled("method", id::METHOD, &[annotation!(LABEL, "Method")]);

const fn event(
    id: u32,
    name: &'static str,
    annotations: &'static [Annotation],
    fields: &'static [Field],
) -> TypeDefinition {
    TypeDefinition { id, name, super_type: EVENT, is_simple: false, annotations, fields }
}

const fn value(id: u32, name: &'static str, fields: &'static [Field]) -> TypeDefinition {
    TypeDefinition { id, name, super_type: None, is_simple: false, annotations: &[], fields }
}

const fn simple(id: u32, name: &'static str, fields: &'static [Field]) -> TypeDefinition {
    TypeDefinition { id, name, super_type: None, is_simple: true, annotations: &[], fields }
}

const fn annotation_type(id: u32, name: &'static str, fields: &'static [Field]) -> TypeDefinition {
    TypeDefinition { id, name, super_type: ANNOTATION, is_simple: false, annotations: &[], fields }
}

const fn unit_annotation(id: u32, name: &'static str) -> TypeDefinition {
    const IS_UNIT: &[Annotation] = &[Annotation { type_id: id::CONTENT_TYPE, values: &[] }];
    TypeDefinition { id, name, super_type: ANNOTATION, is_simple: false, annotations: IS_UNIT, fields: &[VALUE] }
}

const VALUE: Field = field("value", id::STRING, &[]);
const VALUES: Field = Field { name: "value", type_id: id::STRING, is_pooled: false, is_array: true, annotations: &[] };

/// Every type, in the order of the file. The order of fields is the order of their bytes.
pub(crate) const TYPES: &[TypeDefinition] = &[
    event(
        id::METHOD_CALL,
        "instr.MethodCall",
        &[annotation!(LABEL, "Method Call"), IN_INSTR],
        &[
            START,
            DURATION,
            EVENT_THREAD,
            METHOD,
            field(
                "exact",
                id::BOOLEAN,
                &[
                    annotation!(LABEL, "Exact Time"),
                    annotation!(DESCRIPTION, "False: seen by a tick, times are multiples of it"),
                ],
            ),
            pooled("template", id::TEMPLATE, &[annotation!(LABEL, "Template")]),
        ],
    ),
    event(
        id::STATEMENT,
        "instr.Statement",
        &[annotation!(LABEL, "Statement"), IN_INSTR],
        &[START, DURATION, EVENT_THREAD, METHOD, field("statement", id::STRING, &[annotation!(LABEL, "Statement")])],
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
            field("httpMethod", id::STRING, &[annotation!(LABEL, "HTTP Method")]),
            field("path", id::STRING, &[annotation!(LABEL, "Path")]),
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
            field("peer", id::STRING, &[annotation!(LABEL, "Peer")]),
            field("bytes", id::LONG, &[annotation!(LABEL, "Bytes"), annotation!(DATA_AMOUNT, "BYTES")]),
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
        id::LIVE_THREAD,
        "instr.LiveThread",
        &[annotation!(LABEL, "Thread at the Beginning"), IN_INSTR],
        &[START, pooled("thread", id::THREAD, &[annotation!(LABEL, "Thread")])],
    ),
    event(
        id::LOADED_CLASS,
        "instr.LoadedClass",
        &[annotation!(LABEL, "Class at the Beginning"), IN_INSTR],
        &[START, pooled("loadedClass", id::CLASS, &[annotation!(LABEL, "Loaded Class")])],
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
        &[START, EVENT_THREAD, pooled("definedClass", id::CLASS, &[annotation!(LABEL, "Defined Class")])],
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
        &[START, EVENT_THREAD, field("reason", id::STRING, &[annotation!(LABEL, "Reason")])],
    ),
    value(id::BOOLEAN, "boolean", &[]),
    value(id::CHAR, "char", &[]),
    value(id::FLOAT, "float", &[]),
    value(id::DOUBLE, "double", &[]),
    value(id::BYTE, "byte", &[]),
    value(id::SHORT, "short", &[]),
    value(id::INT, "int", &[]),
    value(id::LONG, "long", &[]),
    value(id::STRING, "java.lang.String", &[]),
    value(
        id::THREAD,
        "java.lang.Thread",
        &[
            field("osName", id::STRING, &[annotation!(LABEL, "OS Thread Name")]),
            field("osThreadId", id::LONG, &[annotation!(LABEL, "OS Thread Id")]),
            field("javaName", id::STRING, &[annotation!(LABEL, "Java Thread Name")]),
            field("javaThreadId", id::LONG, &[annotation!(LABEL, "Java Thread Id")]),
            field("virtual", id::BOOLEAN, &[annotation!(LABEL, "Virtual Thread")]),
        ],
    ),
    value(
        id::CLASS,
        "java.lang.Class",
        &[
            pooled("classLoader", id::CLASS_LOADER, &[]),
            pooled("name", id::SYMBOL, &[annotation!(LABEL, "Name")]),
            pooled("package", id::PACKAGE, &[annotation!(LABEL, "Package")]),
            field("modifiers", id::INT, &[annotation!(LABEL, "Access Modifiers")]),
            field("hidden", id::BOOLEAN, &[annotation!(LABEL, "Hidden")]),
        ],
    ),
    value(
        id::CLASS_LOADER,
        "jdk.types.ClassLoader",
        &[pooled("type", id::CLASS, &[annotation!(LABEL, "Type")]), pooled("name", id::SYMBOL, &[])],
    ),
    value(
        id::METHOD,
        "jdk.types.Method",
        &[
            pooled("type", id::CLASS, &[annotation!(LABEL, "Type")]),
            pooled("name", id::SYMBOL, &[annotation!(LABEL, "Name")]),
            pooled("descriptor", id::SYMBOL, &[annotation!(LABEL, "Descriptor")]),
            field("modifiers", id::INT, &[annotation!(LABEL, "Access Modifiers")]),
            field("hidden", id::BOOLEAN, &[annotation!(LABEL, "Hidden")]),
        ],
    ),
    simple(id::SYMBOL, "jdk.types.Symbol", &[field("string", id::STRING, &[])]),
    value(
        id::PACKAGE,
        "jdk.types.Package",
        &[
            pooled("name", id::SYMBOL, &[annotation!(LABEL, "Name")]),
            pooled("module", id::MODULE, &[annotation!(LABEL, "Module")]),
            field("exported", id::BOOLEAN, &[annotation!(LABEL, "Exported")]),
        ],
    ),
    value(
        id::MODULE,
        "jdk.types.Module",
        &[
            pooled("name", id::SYMBOL, &[annotation!(LABEL, "Name")]),
            pooled("version", id::SYMBOL, &[annotation!(LABEL, "Version")]),
            pooled("location", id::SYMBOL, &[annotation!(LABEL, "Location")]),
            pooled("classLoader", id::CLASS_LOADER, &[annotation!(LABEL, "Class Loader")]),
        ],
    ),
    simple(id::TEMPLATE, "instr.types.Template", &[field("name", id::STRING, &[])]),
    value(
        id::STACK_TRACE,
        "jdk.types.StackTrace",
        &[
            field("truncated", id::BOOLEAN, &[annotation!(LABEL, "Truncated")]),
            Field {
                name: "frames",
                type_id: id::STACK_FRAME,
                is_pooled: false,
                is_array: true,
                annotations: &[annotation!(LABEL, "Stack Frames")],
            },
        ],
    ),
    value(
        id::STACK_FRAME,
        "jdk.types.StackFrame",
        &[
            pooled("method", id::METHOD, &[annotation!(LABEL, "Java Method")]),
            field("lineNumber", id::INT, &[annotation!(LABEL, "Line Number")]),
            field("bytecodeIndex", id::INT, &[annotation!(LABEL, "Bytecode Index")]),
            pooled("type", id::FRAME_TYPE, &[annotation!(LABEL, "Frame Type")]),
        ],
    ),
    simple(id::FRAME_TYPE, "jdk.types.FrameType", &[field("description", id::STRING, &[])]),
    simple(id::THREAD_STATE, "jdk.types.ThreadState", &[field("name", id::STRING, &[])]),
    annotation_type(id::LABEL, "jdk.jfr.Label", &[VALUE]),
    annotation_type(id::CATEGORY, "jdk.jfr.Category", &[VALUES]),
    annotation_type(id::DESCRIPTION, "jdk.jfr.Description", &[VALUE]),
    unit_annotation(id::TIMESTAMP, "jdk.jfr.Timestamp"),
    unit_annotation(id::TIMESPAN, "jdk.jfr.Timespan"),
    unit_annotation(id::DATA_AMOUNT, "jdk.jfr.DataAmount"),
    annotation_type(id::CONTENT_TYPE, "jdk.jfr.ContentType", &[]),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::TYPES;

    #[test]
    fn ids_are_distinct_and_every_used_type_exists() {
        let ids: HashSet<u32> = TYPES.iter().map(|definition| definition.id).collect();
        assert_eq!(ids.len(), TYPES.len(), "an id is used twice");
        assert!(ids.iter().all(|id| (5000..16_384).contains(id)), "ids of two bytes that no JVM uses");
        for definition in TYPES {
            let annotations = definition.fields.iter().flat_map(|field| field.annotations);
            for annotation in annotations.chain(definition.annotations) {
                assert!(ids.contains(&annotation.type_id), "annotation type of {}", definition.name);
            }
            for field in definition.fields {
                assert!(ids.contains(&field.type_id), "{}.{}", definition.name, field.name);
            }
        }
    }
}
