//! What a thread waits for, by the methods of the JDK on top of its stack. Facts of the JDK's sources (11 to 25): the names of the methods below which its
//! own code waits in the kernel or parks.

/// Class (or the beginning of its name, before `*`), beginning of the method's name, what it waits for. The first that fits counts, from the innermost
/// frame outwards.
const WAITS: &[(&str, &str, &str)] = &[
    ("java/lang/Thread", "sleep", "sleep"),
    ("java/lang/Thread", "join", "end of a thread"),
    ("java/lang/Object", "wait", "notification of a monitor"),
    ("java/lang/ProcessImpl", "waitFor", "end of a process"),
    ("java/lang/ProcessHandleImpl", "waitFor", "end of a process"),
    ("java/net/SocketInputStream", "", "socket read"),
    ("java/net/SocketOutputStream", "", "socket write"),
    ("java/net/PlainSocketImpl", "socketConnect", "socket connect"),
    ("java/net/PlainSocketImpl", "socketAccept", "socket accept"),
    ("java/net/Inet*", "lookup", "name lookup"),
    ("sun/nio/ch/NioSocketImpl", "connect", "socket connect"),
    ("sun/nio/ch/NioSocketImpl", "accept", "socket accept"),
    ("sun/nio/ch/NioSocketImpl", "implWrite", "socket write"),
    ("sun/nio/ch/NioSocketImpl", "implRead", "socket read"),
    ("sun/nio/ch/SocketChannelImpl", "connect", "socket connect"),
    ("sun/nio/ch/SocketChannelImpl", "read", "socket read"),
    ("sun/nio/ch/SocketChannelImpl", "write", "socket write"),
    ("sun/nio/ch/SocketDispatcher", "read", "socket read"),
    ("sun/nio/ch/SocketDispatcher", "write", "socket write"),
    ("sun/nio/ch/EPoll*", "", "selector"),
    ("sun/nio/ch/KQueue*", "", "selector"),
    ("sun/nio/ch/SelectorImpl", "", "selector"),
    ("java/io/FileInputStream", "", "file read"),
    ("java/io/FileOutputStream", "", "file write"),
    ("java/io/RandomAccessFile", "read", "file read"),
    ("java/io/RandomAccessFile", "write", "file write"),
    ("java/io/FileDescriptor", "sync", "file sync"),
    ("sun/nio/ch/FileDispatcherImpl", "read", "file read"),
    ("sun/nio/ch/FileDispatcherImpl", "pread", "file read"),
    ("sun/nio/ch/FileDispatcherImpl", "write", "file write"),
    ("sun/nio/ch/FileDispatcherImpl", "pwrite", "file write"),
    ("sun/nio/ch/FileDispatcherImpl", "force", "file sync"),
    ("sun/nio/ch/UnixFileDispatcherImpl", "read", "file read"),
    ("sun/nio/ch/UnixFileDispatcherImpl", "pread", "file read"),
    ("sun/nio/ch/UnixFileDispatcherImpl", "write", "file write"),
    ("sun/nio/ch/UnixFileDispatcherImpl", "pwrite", "file write"),
    ("sun/nio/ch/UnixFileDispatcherImpl", "force", "file sync"),
    ("sun/nio/ch/FileChannelImpl", "force", "file sync"),
    ("sun/nio/fs/UnixNativeDispatcher", "", "file system"),
    ("java/util/concurrent/locks/ReentrantLock*", "lock", "lock"),
    ("java/util/concurrent/locks/ReentrantLock*", "tryLock", "lock"),
    ("java/util/concurrent/locks/ReentrantReadWriteLock*", "", "lock"),
    ("java/util/concurrent/locks/StampedLock", "", "lock"),
    ("java/util/concurrent/Semaphore*", "", "semaphore"),
    ("java/util/concurrent/CountDownLatch*", "", "latch"),
    ("java/util/concurrent/CyclicBarrier*", "", "barrier"),
    ("java/util/concurrent/FutureTask", "", "result of another thread"),
    ("java/util/concurrent/CompletableFuture*", "", "result of another thread"),
    ("java/util/concurrent/ForkJoinTask", "", "result of another thread"),
    ("java/util/concurrent/Exchanger*", "", "exchange with another thread"),
    ("java/util/concurrent/LinkedBlockingQueue", "", "queue"),
    ("java/util/concurrent/LinkedBlockingDeque", "", "queue"),
    ("java/util/concurrent/ArrayBlockingQueue", "", "queue"),
    ("java/util/concurrent/PriorityBlockingQueue", "", "queue"),
    ("java/util/concurrent/DelayQueue", "", "queue"),
    ("java/util/concurrent/SynchronousQueue*", "", "queue"),
    ("java/util/concurrent/LinkedTransferQueue*", "", "queue"),
    ("java/util/concurrent/locks/AbstractQueued*", "await", "condition"),
    ("java/util/concurrent/locks/LockSupport", "parkNanos", "park"),
    ("java/util/concurrent/locks/LockSupport", "park", "park"),
    ("jdk/internal/misc/Unsafe", "park", "park"),
    ("sun/misc/Unsafe", "park", "park"),
];

/// Whether a class is the JDK's: its methods are never measured.
pub(super) fn is_of_jdk(class: &[u8]) -> bool {
    [&b"java/"[..], b"javax/", b"jdk/", b"sun/", b"com/sun/"].iter().any(|package| class.starts_with(package))
}

/// Frames of the JDK through which a wait is looked for.
const DEEPEST: usize = 12;

/// Returns what a thread with this stack waits for, by class and method, the innermost frame first. `None` if its innermost frames say nothing. How it
/// waits says less than what waits: `Thread.join` waits for the notification of a monitor.
pub(super) fn wait_of<'s>(stack: impl Iterator<Item = (&'s [u8], &'s [u8])>) -> Option<&'static str> {
    let mut found = None;
    for (at, (class, method)) in stack.take(DEEPEST).enumerate() {
        match wait_in(class, method) {
            Some(how @ ("park" | "condition" | "notification of a monitor")) => found = Some(how),
            Some(wait) => return Some(wait),
            // A call of the JDK waits in its innermost frame, or says why it parks.
            None if found.is_none() && at > 2 => break,
            None => {}
        }
        if !is_of_jdk(class) {
            break;
        }
    }
    found
}

/// Returns what this method waits for.
fn wait_in(class: &[u8], method: &[u8]) -> Option<&'static str> {
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => class.starts_with(beginning.as_bytes()),
        None => class == pattern.as_bytes(),
    };
    let row = WAITS.iter().find(|(of_class, of_method, _)| fits(of_class) && method.starts_with(of_method.as_bytes()));
    row.map(|(.., wait)| *wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(stack: &[(&str, &str)]) -> Option<&'static str> {
        wait_of(stack.iter().map(|(class, method)| (class.as_bytes(), method.as_bytes())))
    }

    #[test]
    fn what_parks_says_more_than_that_it_parks() {
        let park = ("jdk/internal/misc/Unsafe", "park");
        let support = ("java/util/concurrent/locks/LockSupport", "park");
        let sync = ("java/util/concurrent/locks/AbstractQueuedSynchronizer", "acquire");
        assert_eq!(wait(&[park, support, ("a/B", "c")]), Some("park"));
        assert_eq!(
            wait(&[park, support, sync, ("java/util/concurrent/locks/ReentrantLock", "lock"), ("a/B", "c")]),
            Some("lock")
        );
        assert_eq!(
            wait(&[park, support, ("java/util/concurrent/FutureTask", "awaitDone")]),
            Some("result of another thread")
        );
        assert_eq!(wait(&[("java/lang/Thread", "sleep0"), ("java/lang/Thread", "sleep")]), Some("sleep"));
        let monitor = [("java/lang/Object", "wait0"), ("java/lang/Object", "wait")];
        assert_eq!(
            wait(&[&monitor[..], &[("java/lang/Thread", "join"), ("a/B", "c")]].concat()),
            Some("end of a thread")
        );
        assert_eq!(wait(&[&monitor[..], &[("a/B", "c")]].concat()), Some("notification of a monitor"));
        assert_eq!(wait(&[("java/util/HashMap", "get"), ("a/B", "c")]), None);
        assert_eq!(
            wait(&[("a/B", "c"), ("java/util/concurrent/FutureTask", "run")]),
            None,
            "it runs the application's code"
        );
    }
}
