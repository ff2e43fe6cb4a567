//! Types of fields and annotations.

use super::*;

pub(super) const TYPES: &[TypeDefinition] = &[
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
    unit_annotation(id::TIMESTAMP, "jdk.jfr.Timestamp", &[VALUE]),
    unit_annotation(id::TIMESPAN, "jdk.jfr.Timespan", &[VALUE]),
    unit_annotation(id::DATA_AMOUNT, "jdk.jfr.DataAmount", &[VALUE]),
    unit_annotation(id::MEMORY_ADDRESS, "jdk.jfr.MemoryAddress", &[]),
    unit_annotation(id::PERCENTAGE, "jdk.jfr.Percentage", &[]),
    annotation_type(id::CONTENT_TYPE, "jdk.jfr.ContentType", &[]),
];
