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
    pub(crate) const PHASE: u32 = 5011;
    pub(crate) const LOADED_METHOD: u32 = 5012;
    pub(crate) const COMPILED_CODE: u32 = 5013;
    pub(crate) const COMPILED_CODE_UNLOAD: u32 = 5014;
    pub(crate) const GENERATED_CODE: u32 = 5015;
    pub(crate) const TASK: u32 = 5016;
    pub(crate) const BURST_WINDOW: u32 = 5017;
    pub(crate) const CALL_ARGUMENTS: u32 = 5018;
    pub(crate) const THREAD_SWITCHES: u32 = 5019;
    pub(crate) const JVM_INFORMATION: u32 = 5020;
    pub(crate) const CPU_INFORMATION: u32 = 5021;
    pub(crate) const OS_INFORMATION: u32 = 5022;
    pub(crate) const ACTIVE_SETTING: u32 = 5023;
    pub(crate) const THREAD_START: u32 = 5024;
    pub(crate) const THREAD_END: u32 = 5025;
    pub(crate) const GARBAGE_COLLECTION: u32 = 5026;
    pub(crate) const CLASS_DEFINE: u32 = 5027;
    pub(crate) const CLASS_UNLOAD: u32 = 5028;
    pub(crate) const NATIVE_LIBRARY: u32 = 5029;
    pub(crate) const EXECUTION_SAMPLE: u32 = 5030;
    pub(crate) const FAILED_SAMPLE: u32 = 5031;
    pub(crate) const ALLOCATION_SAMPLE: u32 = 5032;
    pub(crate) const CLAIM: u32 = 5033;
    pub(crate) const RETRANSFORM: u32 = 5034;
    pub(crate) const DIAGNOSIS: u32 = 5035;
    pub(crate) const DIAGNOSIS_NODE: u32 = 5036;
    pub(crate) const SLOW_CALL: u32 = 5037;
    pub(crate) const WALK_END: u32 = 5038;
    pub(crate) const LATE_TICK: u32 = 5039;
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
    pub(crate) const HOT_SPOT: u32 = 5057;
    pub(crate) const WALK_LEVEL: u32 = 5058;
    pub(crate) const WALK_EDGE: u32 = 5059;
    pub(crate) const STACK_TRACE: u32 = 5060;
    pub(crate) const STACK_FRAME: u32 = 5061;
    pub(crate) const FRAME_TYPE: u32 = 5062;
    pub(crate) const THREAD_STATE: u32 = 5063;
    pub(crate) const HOOK_GAUGE: u32 = 5064;
    pub(crate) const LABEL: u32 = 5070;
    pub(crate) const CATEGORY: u32 = 5071;
    pub(crate) const DESCRIPTION: u32 = 5072;
    pub(crate) const TIMESTAMP: u32 = 5073;
    pub(crate) const TIMESPAN: u32 = 5074;
    pub(crate) const DATA_AMOUNT: u32 = 5075;
    pub(crate) const CONTENT_TYPE: u32 = 5076;
    pub(crate) const MEMORY_ADDRESS: u32 = 5077;
    pub(crate) const PERCENTAGE: u32 = 5078;
}

/// Version of the table above and below; a reader that has seen one id may reuse what it has read for it.
pub(crate) const METADATA_ID: u64 = 14;

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
const LOADER: Field = field(
    "loader",
    id::LONG,
    &[annotation!(LABEL, "Loader"), annotation!(DESCRIPTION, "Number of the class loader, 0 = the boot loader")],
);
const ADDRESS: Field = field(
    "address",
    id::LONG,
    &[annotation!(LABEL, "Address"), Annotation { type_id: id::MEMORY_ADDRESS, values: &[] }],
);
const LENGTH: Field = field("length", id::LONG, &[annotation!(LABEL, "Length"), annotation!(DATA_AMOUNT, "BYTES")]);
const METHOD: Field = pooled("method", id::METHOD, &[annotation!(LABEL, "Method")]);

const EXACT: Field = field(
    "exact",
    id::BOOLEAN,
    &[annotation!(LABEL, "Exact Time"), annotation!(DESCRIPTION, "False: seen by a tick, times are multiples of it")],
);

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

const fn unit_annotation(id: u32, name: &'static str, fields: &'static [Field]) -> TypeDefinition {
    const IS_UNIT: &[Annotation] = &[Annotation { type_id: id::CONTENT_TYPE, values: &[] }];
    TypeDefinition { id, name, super_type: ANNOTATION, is_simple: false, annotations: IS_UNIT, fields }
}

const VALUE: Field = field("value", id::STRING, &[]);
const VALUES: Field = Field { name: "value", type_id: id::STRING, is_pooled: false, is_array: true, annotations: &[] };

macro_rules! time {
    ($name:literal, $label:literal) => {
        field($name, id::LONG, &[annotation!(LABEL, $label), annotation!(TIMESPAN, "NANOSECONDS")])
    };
}

macro_rules! fraction {
    ($name:literal, $label:literal, $description:literal) => {
        field(
            $name,
            id::DOUBLE,
            &[
                annotation!(LABEL, $label),
                annotation!(DESCRIPTION, $description),
                Annotation { type_id: id::PERCENTAGE, values: &[] },
            ],
        )
    };
}

macro_rules! labelled {
    ($name:literal, $kind:ident, $label:literal) => {
        field($name, id::$kind, &[annotation!(LABEL, $label)])
    };
    ($name:literal, $kind:ident, $label:literal, $description:literal) => {
        field($name, id::$kind, &[annotation!(LABEL, $label), annotation!(DESCRIPTION, $description)])
    };
}

// After the macros that they use.
mod diagnosis_events;
mod events;
mod events_of_jvm;
mod values;
mod walk_events;

/// Every type, in the order of the file. The order of fields is the order of their bytes.
pub(crate) fn types() -> impl Iterator<Item = &'static TypeDefinition> {
    let of_session = events::EVENTS.iter().chain(diagnosis_events::EVENTS).chain(walk_events::EVENTS);
    of_session.chain(events_of_jvm::EVENTS).chain(values::TYPES)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{TypeDefinition, types};

    #[test]
    fn ids_are_distinct_and_every_used_type_exists() {
        let all: Vec<&TypeDefinition> = types().collect();
        let ids: HashSet<u32> = all.iter().map(|definition| definition.id).collect();
        assert_eq!(ids.len(), all.len(), "an id is used twice");
        assert!(ids.iter().all(|id| (5000..16_384).contains(id)), "ids of two bytes that no JVM uses");
        for definition in all {
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
