//! Methods of the JDK and of well-known libraries that have another thread call what they are given, and the functional types that they take.

/// Packages and classes whose methods named in [`SUBMITTING`] take tasks. A name that ends with `/` is a package.
const EXECUTORS: &[&[u8]] = &[
    b"java/util/concurrent/Executor",
    b"java/util/concurrent/ExecutorService",
    b"java/util/concurrent/ScheduledExecutorService",
    b"java/util/concurrent/AbstractExecutorService",
    b"java/util/concurrent/ThreadPoolExecutor",
    b"java/util/concurrent/ScheduledThreadPoolExecutor",
    b"java/util/concurrent/ForkJoinPool",
    b"java/util/concurrent/CompletionService",
    b"java/util/concurrent/ExecutorCompletionService",
    b"java/util/Timer",
    b"jakarta/enterprise/concurrent/",
    b"javax/enterprise/concurrent/",
    b"org/springframework/core/task/",
    b"org/springframework/scheduling/",
    b"com/google/common/util/concurrent/",
    b"io/netty/util/concurrent/",
    b"io/netty/channel/",
    b"scala/concurrent/",
];

const SUBMITTING: &[&[u8]] = &[
    b"submit",
    b"submitCompletable",
    b"execute",
    b"invoke",
    b"schedule",
    b"scheduleAtFixedRate",
    b"scheduleWithFixedDelay",
];

const THREADS: &[(&[u8], &[&[u8]])] = &[
    (b"java/lang/Thread", &[b"<init>", b"startVirtualThread"]),
    (b"java/lang/Thread$Builder", &[b"start", b"unstarted"]),
    (b"java/lang/Thread$Builder$OfVirtual", &[b"start", b"unstarted"]),
    (b"java/lang/Thread$Builder$OfPlatform", &[b"start", b"unstarted"]),
    (b"java/util/concurrent/ThreadFactory", &[b"newThread"]),
    (b"java/util/concurrent/ForkJoinTask", &[b"adapt", b"adaptInterruptible"]),
    (b"java/util/concurrent/FutureTask", &[b"<init>"]),
];

const STAGES: &[&[u8]] = &[b"java/util/concurrent/CompletableFuture", b"java/util/concurrent/CompletionStage"];

/// Functional types with their method: name and descriptor.
const FUNCTIONAL_TYPES: &[(&[u8], &[u8], &[u8])] = &[
    (b"java/lang/Runnable", b"run", b"()V"),
    (b"java/util/concurrent/Callable", b"call", b"()Ljava/lang/Object;"),
    (b"java/util/function/Supplier", b"get", b"()Ljava/lang/Object;"),
    (b"java/util/function/Function", b"apply", b"(Ljava/lang/Object;)Ljava/lang/Object;"),
    (b"java/util/function/BiFunction", b"apply", b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"),
    (b"java/util/function/Consumer", b"accept", b"(Ljava/lang/Object;)V"),
    (b"java/util/function/BiConsumer", b"accept", b"(Ljava/lang/Object;Ljava/lang/Object;)V"),
    (b"java/util/TimerTask", b"run", b"()V"),
    (b"java/util/concurrent/RecursiveAction", b"compute", b"()V"),
    (b"java/util/concurrent/RecursiveTask", b"compute", b"()Ljava/lang/Object;"),
    (b"java/util/concurrent/ForkJoinTask", b"compute", b"()Ljava/lang/Object;"),
];

/// Returns whether the method has what it is given called by another thread.
pub(super) fn is_sink(owner: &[u8], name: &[u8]) -> bool {
    let is_of = |listed: &&[u8]| if listed.ends_with(b"/") { owner.starts_with(listed) } else { owner == *listed };
    let is_thread = |(listed, names): &(&[u8], &[&[u8]])| *listed == owner && names.contains(&name);
    (SUBMITTING.contains(&name) && EXECUTORS.iter().any(is_of))
        || (name.ends_with(b"Async") && STAGES.contains(&owner))
        || THREADS.iter().any(is_thread)
}

/// Returns name and descriptor of the method of a functional type, by its internal name.
pub(crate) fn method_of_type(internal_name: &[u8]) -> Option<(&'static [u8], &'static [u8])> {
    let found = FUNCTIONAL_TYPES.iter().find(|(listed, ..)| *listed == internal_name);
    found.map(|(_, name, descriptor)| (*name, *descriptor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinks_are_known_by_class_and_method() {
        for (owner, name) in [
            ("java/util/concurrent/ExecutorService", "submit"),
            ("java/util/concurrent/CompletableFuture", "thenApplyAsync"),
            ("java/lang/Thread", "<init>"),
            ("java/util/Timer", "schedule"),
            ("org/springframework/core/task/AsyncTaskExecutor", "execute"),
        ] {
            assert!(is_sink(owner.as_bytes(), name.as_bytes()), "{owner}.{name}");
        }
        for (owner, name) in [
            ("java/util/concurrent/ExecutorService", "shutdown"),
            ("java/util/concurrent/CompletableFuture", "thenApply"),
            ("com/acme/Executor", "submit"),
            ("java/util/TimerX", "schedule"),
        ] {
            assert!(!is_sink(owner.as_bytes(), name.as_bytes()), "{owner}.{name}");
        }
    }
}
