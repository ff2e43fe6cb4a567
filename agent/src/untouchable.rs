//! Methods of the JDK that are never instrumented: those that the probes themselves call (computed, see
//! [`used_by_runtime`](crate::used_by_runtime)), and a few whose frames the JVM treats specially.

use std::sync::OnceLock;

use instrument_core::selection::jdk_packages::is_jdk_class;

use crate::hierarchy::TypeIndex;
use crate::setup::Setup;
use crate::used_by_runtime::UsedByRuntime;

/// Classes left alone entirely, with the reason. A name ending with `$` stands for all nested classes.
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
    ("java/lang/invoke/VarHandle", "methods are signature polymorphic"),
];

/// The set of untouchable methods, computed when a class of the JDK is first decided.
#[derive(Debug, Default)]
pub(crate) struct Untouchable {
    used: OnceLock<UsedByRuntime>,
}

impl Untouchable {
    /// Whether the method must be left alone.
    pub(crate) fn contains(
        &self,
        setup: &Setup,
        types: &TypeIndex,
        class: &[u8],
        method: &[u8],
        descriptor: &[u8],
    ) -> bool {
        if !is_jdk_class(class) {
            return false;
        }
        let used =
            self.used.get_or_init(|| UsedByRuntime::compute(&setup.used_templates(), &|name| types.jdk_class(name)));
        used.contains(class, method, descriptor) || is_listed(class)
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
