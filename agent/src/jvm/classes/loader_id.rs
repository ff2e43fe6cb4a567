//! The identity of a class loader is a tag of its object: the JVM keeps it as long as the object, and no two loaders ever have the same one, as
//! may happen with identity hashes.

use std::sync::atomic::{AtomicI64, Ordering};

use jvmti_bindings::sys::jni;
use parking_lot::Mutex;
use records::{BOOT, LoaderId};

use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::JvmtiError;
use crate::jvm::jni::ObjectRef;

/// The last identity given to a class loader in this process.
static LAST: AtomicI64 = AtomicI64::new(0);
/// Held while a loader is tagged: two threads may define classes by one loader.
static TAGGING: Mutex<()> = Mutex::new(());

/// Returns how many objects have got a tag in this process.
pub(crate) fn objects_tagged() -> u64 {
    u64::try_from(LAST.load(Ordering::Relaxed)).unwrap_or(0)
}

impl Jvmti {
    /// Returns the identity of a class loader, which is given to it when it is first asked for; [`BOOT`] for the boot loader.
    /// The JVM reports when a loader that has one is gone ([`Event::ObjectFree`](crate::jvm::Event::ObjectFree)).
    ///
    /// If the JVM cannot keep the tag, each question has another answer: classes of this loader are never taken for those of another one,
    /// and what is kept about them is not found again (no known JVM does that).
    pub(crate) fn loader_id(self, loader: Option<ObjectRef<'_>>) -> LoaderId {
        loader.map_or(BOOT, |loader| self.object_id(loader))
    }

    /// Returns the identity of any object, by the same rules.
    pub(crate) fn object_id(self, object: ObjectRef<'_>) -> u64 {
        self.tag(object).unwrap_or_else(|| {
            let _held = TAGGING.lock();
            self.tag(object).unwrap_or_else(|| self.set_tag(object))
        })
    }

    fn tag(self, object: ObjectRef<'_>) -> Option<u64> {
        let mut tag: jni::jlong = 0;
        // SAFETY: valid environment, live object, out-parameter on our stack.
        unsafe { jvmti_call!(self, GetTag, object.raw(), &mut tag) }.ok()?;
        u64::try_from(tag).ok().filter(|tag| *tag != 0)
    }

    fn set_tag(self, object: ObjectRef<'_>) -> u64 {
        let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        // SAFETY: valid environment, live object.
        if let Err(error) = unsafe { jvmti_call!(self, SetTag, object.raw(), next) } {
            tracing::debug!(%error, "an object cannot be tagged");
        }
        u64::try_from(next).unwrap_or(u64::MAX)
    }
}
