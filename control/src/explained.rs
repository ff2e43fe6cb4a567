//! Why the methods of a loaded class have probes, or have none.

use instrument_core::selection::ClassExplanation;
use serde_json::{Value as Json, json};

use crate::InventoryClass;
use crate::message::{Described, Types, messages, named};

messages! {
    /// What is known of the loaded classes of a name or pattern.
    #[derive(Eq)]
    pub struct Explained {
        /// By name, one for each class loader that has such a class.
        pub classes: Vec<ExplainedClass>,
        /// Classes that the pattern names and that are not explained, as there are too many.
        #[serde(default, skip_serializing_if = "is_none")]
        pub left_out: usize,
    }

    /// A loaded class.
    #[derive(Eq)]
    pub struct ExplainedClass {
        /// Its class loader: name or class, `boot` for that of the JVM.
        pub loader: String,
        /// The generation of rules that is in force.
        pub generation: u32,
        /// What it carries now, method by method, with rules, claims, the governor and the state of the class considered.
        pub now: InventoryClass,
        /// What each rule answers to it; absent if its class file cannot be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub explanation: Option<ClassExplanation>,
    }
}

fn is_none(left_out: &usize) -> bool {
    *left_out == 0
}

impl Described for ClassExplanation {
    fn describe(types: &mut Types) -> Json {
        named("ClassExplanation", types, |_| {
            let list = |about: &str| json!({ "type": "array", "description": about });
            json!({
                "type": "object",
                "description": "What each rule answers to a class and its methods: as `instr explain --json` prints it.",
                "properties": {
                    "class": { "type": "string", "description": "Its name in source form." },
                    "refused": { "anyOf": [{ "type": "string" }, { "type": "null" }], "description": "Why no rule is asked at all." },
                    "rules": list("Each rule's answer to the class, in order: `rule`, `origin`, `matches`, `reason`."),
                    "unresolved": list("Types whose super types are unknown although a rule depends on them."),
                    "methods": list("Each method: `name`, `descriptor`, `signature`, `instrumented`, `skipped`, `refused`, `rules`."),
                },
                "required": ["class", "rules", "unresolved", "methods"],
            })
        })
    }
}
