//! The methods that carry probes in a running JVM.

use crate::message::messages;

messages! {
    /// A method with one of its probes.
    #[derive(Eq)]
    pub struct MethodRow {
        /// Its class in source form.
        pub class: String,
        /// Its name.
        pub method: String,
        /// Its descriptor (JVMS 4.3.3).
        pub descriptor: String,
        /// The template.
        pub template: String,
        /// The context inside which the probe records only; none: everywhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub context: Option<String>,
        /// The category of the template.
        pub category: String,
        /// The present level.
        pub level: String,
        /// Whether the level can change.
        pub live: bool,
        /// `active`, or `suppressed` where the governor has removed the probe.
        pub state: String,
        /// Who wants the probe or its level: `rule NAME`, `claim NUMBER`.
        pub wanted_by: Vec<String>,
    }

    /// Some of the methods, in a line of the answer.
    #[derive(Eq)]
    pub struct MethodsPart {
        /// Methods that follow those of the parts before, by class, name and descriptor.
        pub part: Vec<MethodRow>,
    }

    /// The last line of the answer.
    #[derive(Eq)]
    pub struct MethodsDone {
        /// True: this is the last line.
        pub done: bool,
        /// Probes that the request means, each of a method and a template.
        pub matching: usize,
        /// Of these: not in the answer, because there are more than `most`.
        pub left_out: usize,
    }
}
