//! Methods of the JDK that are never instrumented: those that the probes themselves call (computed, see
//! [`used_by_runtime`](super::used_by_runtime)), and a few whose frames the JVM treats specially.

use super::jdk_packages::is_jdk_class;
use super::used_by_runtime::{ClassBytes, TemplateCode, UsedByRuntime};

/// Classes left alone entirely, with the reason. A name ending with `$` includes all nested classes.
const CLASSES: &[(&str, &str)] = &[
    ("java/lang/VirtualThread", "switches the identity of the current thread under the probe"),
    ("java/lang/VirtualThread$", "as above"),
    ("java/lang/BaseVirtualThread", "as above"),
    ("java/lang/ThreadBuilders$BoundVirtualThread", "as above"),
    ("jdk/internal/vm/Continuation", "its frames are moved between stack and heap"),
    ("jdk/internal/vm/Continuation$", "as above"),
    ("jdk/internal/vm/ContinuationScope", "as above"),
    ("jdk/internal/vm/StackChunk", "as above"),
    ("java/lang/ref/Reference$ReferenceHandler", "a thread that must never fail or wait"),
    ("java/lang/invoke/MethodHandle", "methods are signature polymorphic"),
    ("java/lang/invoke/MethodHandleImpl", "runs when a probe reads the clock by a method handle"),
    ("java/lang/invoke/NativeMethodHandle", "as above"),
    ("java/lang/invoke/Invokers", "as above"),
    ("java/lang/invoke/Invokers$", "as above"),
    ("java/lang/invoke/VarHandle", "methods are signature polymorphic"),
];

/// The set of untouchable methods. It depends on the rules' templates, the runtime and the JDK.
#[derive(Debug, Default)]
pub struct Untouchable {
    used: UsedByRuntime,
}

impl Untouchable {
    /// Computes the set; takes some milliseconds, so do it when a class of the JDK is first decided
    /// ([`Untouchable::concerns`]).
    pub fn compute(runtime: &[(&str, &[u8])], templates: &[TemplateCode<'_>], jdk: &ClassBytes<'_>) -> Untouchable {
        Untouchable { used: UsedByRuntime::compute(runtime, templates, jdk) }
    }

    /// False if the class has no untouchable method whatever the templates are.
    pub fn concerns(class: &[u8]) -> bool {
        is_jdk_class(class)
    }

    /// Whether the method must be left alone.
    pub fn contains(&self, class: &[u8], method: &[u8], descriptor: &[u8]) -> bool {
        Untouchable::concerns(class) && (self.used.contains(class, method, descriptor) || is_listed(class))
    }

    /// The methods that the probes call.
    pub fn used_by_runtime(&self) -> &UsedByRuntime {
        &self.used
    }
}

fn is_listed(class: &[u8]) -> bool {
    CLASSES.iter().any(|(name, _)| {
        let name = name.as_bytes();
        if name.ends_with(b"$") { class.starts_with(name) } else { class == name }
    })
}

#[cfg(test)]
mod tests {
    use super::is_listed;

    #[test]
    fn listed_classes_cover_their_nested_ones_only_where_it_says_so() {
        assert!(is_listed(b"java/lang/VirtualThread") && is_listed(b"java/lang/VirtualThread$VThreadContinuation"));
        assert!(!is_listed(b"java/lang/VirtualThreads") && !is_listed(b"java/lang/ref/Reference"));
    }
}
