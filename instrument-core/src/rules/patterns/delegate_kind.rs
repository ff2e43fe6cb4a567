//! The value of a rule's `delegates`.

use crate::declare_words;

declare_words! {
    /// Which of the lambdas, method references and objects that a method creates are its delegates.
    pub enum DelegateKind {
        /// Those that are handed to an executor, a thread, a timer or a method `*Async` of `CompletableFuture`.
        Sinks = "sinks",
        /// All.
        Any = "any",
    }
}
