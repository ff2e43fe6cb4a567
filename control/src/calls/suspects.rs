//! Which probed methods have slow calls.

use crate::message::messages;

messages! {
    /// Methods with slow calls in the last minute, as far as they have been watched.
    pub struct SuspectList {
        /// For how long calls have been watched, in seconds.
        pub watched_seconds: f64,
        /// Methods that were called in the last minute while they recorded their calls.
        pub methods: usize,
        /// Those of them of which nobody can say which calls are slow: they are at level watch, where no limit is learnt, and none is stated.
        #[serde(default)]
        pub unknown: usize,
        /// Methods with at least three slow calls, those first whose slow calls took most time together.
        pub suspects: Vec<Suspect>,
        /// Whether the monitor begins diagnoses by itself.
        #[serde(default)]
        pub diagnoses: bool,
    }

    /// A method with slow calls.
    pub struct Suspect {
        /// The method, as `package.Class.method(Types)`.
        pub method: String,
        /// The context inside which its calls were recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub context: Option<String>,
        /// Whether a condition chooses its calls, of which the context has the text.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub conditional: bool,
        /// The category of its template.
        pub category: String,
        /// Its calls in the last minute; absent at level watch, which does not see all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub calls: Option<u64>,
        /// Those of them that were slow.
        pub slow: u64,
        /// Calls that take longer are slow, in milliseconds.
        pub slower_than_ms: f64,
        /// Whether that was learnt from earlier calls.
        #[serde(default)]
        pub learnt: bool,
        /// The methods for which it was stated, as `category:NAME` or a pattern.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub stated_for: Option<String>,
        /// The median of its calls, in milliseconds: of earlier ones, or of the last minute if there are no others; absent at level watch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub median_ms: Option<f64>,
        /// Its longest call in the last minute, in milliseconds.
        pub longest_ms: f64,
        /// How long the slow calls of the last minute took together, in milliseconds.
        pub slow_total_ms: f64,
        /// The claim of the last diagnosis of this method, or of one that has found it below another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub diagnosis: Option<u32>,
        /// What that has found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub sentence: Option<String>,
        /// Why the monitor does not diagnose it now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub not_diagnosed: Option<String>,
    }
}
