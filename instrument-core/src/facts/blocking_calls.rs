//! Calls that may wait: a body that makes one is worth a probe however small it is.
//!
//! A tiny body mostly forwards to code that is watched itself. The JDK is rarely watched, so where a tiny body calls a part
//! of it that waits, the body is the only place where the waiting can be seen.

use classfile::MemberRef;

/// Packages (with their sub-packages) of which most methods may wait: files, sockets, processes, databases, locks, queues.
const WAITING_PACKAGES: [&[u8]; 7] = [
    b"java/io/",
    b"java/net/",
    b"java/nio/channels/",
    b"java/nio/file/",
    b"java/sql/",
    b"java/util/concurrent/",
    b"javax/net/",
];

/// Classes of these packages that never wait, and are called all the time.
const NEVER_WAITING: [&[u8]; 3] =
    [b"java/util/concurrent/atomic/", b"java/util/concurrent/ConcurrentHashMap", b"java/io/Serializable"];

/// Single methods elsewhere that wait.
const WAITING_METHODS: [(&[u8], &[u8]); 4] = [
    (b"java/lang/Thread", b"sleep"),
    (b"java/lang/Thread", b"join"),
    (b"java/lang/Object", b"wait"),
    (b"java/lang/Process", b"waitFor"),
];

/// Returns whether this method of the JDK may wait.
pub(super) fn waits(callee: &MemberRef<'_>) -> bool {
    let (owner, name) = (callee.owner.as_bytes(), callee.name.as_bytes());
    if !owner.starts_with(b"java") || name == b"<init>" {
        return false;
    }
    let in_any = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| owner.starts_with(prefix));
    (in_any(&WAITING_PACKAGES) && !in_any(&NEVER_WAITING)) || WAITING_METHODS.contains(&(owner, name))
}

#[cfg(test)]
mod tests {
    use classfile::{MemberKind, ModifiedUtf8};

    use super::*;

    #[test]
    fn waiting_is_decided_by_class_and_method() {
        let callee = |owner: &'static str, name: &'static str| MemberRef {
            kind: MemberKind::Method,
            owner: ModifiedUtf8(owner.as_bytes()),
            name: ModifiedUtf8(name.as_bytes()),
            descriptor: ModifiedUtf8(b"()V"),
        };
        for (owner, name) in [
            ("java/lang/Thread", "sleep"),
            ("java/io/InputStream", "read"),
            ("java/util/concurrent/Future", "get"),
            ("java/util/concurrent/locks/Lock", "lock"),
            ("java/sql/PreparedStatement", "executeQuery"),
        ] {
            assert!(waits(&callee(owner, name)), "{owner}.{name}");
        }
        for (owner, name) in [
            ("java/lang/Thread", "currentThread"),
            ("java/util/Map", "get"),
            ("java/util/concurrent/ConcurrentHashMap", "get"),
            ("java/util/concurrent/atomic/AtomicInteger", "get"),
            ("java/io/IOException", "<init>"),
            ("com/acme/java/io/Reader", "read"),
        ] {
            assert!(!waits(&callee(owner, name)), "{owner}.{name}");
        }
    }
}
