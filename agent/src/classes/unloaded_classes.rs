//! What the agent keeps about classes is forgotten when their loader is gone: its memory depends on the classes that are loaded, not on
//! how many ever were (decision 038).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use records::ProbeRegistry;
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::classes::hierarchy::{LoaderId, TypeIndex};
use crate::classes::large_files::LARGE_FILES;
use crate::classes::rewritten_classes::RewrittenClasses;
use crate::classes::safe_retransforms::SAFE_RETRANSFORMS;
use crate::jvm;

/// Loaders that are gone and whose classes have not been forgotten. On some JDKs the application is stopped while the JVM reports them, so the
/// lock is held for a moment only, never while the JVM is called.
static FREED: Mutex<Vec<LoaderId>> = Mutex::new(Vec::new());
/// Whether there are any, to be read without the lock.
static SOME_FREED: AtomicBool = AtomicBool::new(false);
/// How many are gone since the JVM was started.
static ALL_FREED: AtomicU64 = AtomicU64::new(0);

/// How much is kept about classes at present.
#[derive(Debug, Serialize)]
pub(crate) struct KeptAboutClasses {
    /// Numbers of probes that were given; a live probe has several.
    probe_numbers: usize,
    /// Names under which probes are recorded.
    probed_classes: usize,
    /// Names of which the super types are known.
    known_types: usize,
    /// Names of classes that a detach restores.
    rewritten_classes: usize,
    /// Classes that can be retransformed only because something about them is kept.
    safe_retransforms: usize,
    /// Class loaders and protection domains with an identity, which the JVM reports when they are gone.
    followed_loaders: u64,
}

impl KeptAboutClasses {
    /// Counts the entries.
    pub(crate) fn count(probes: &ProbeRegistry, types: &TypeIndex, rewritten: &RewrittenClasses) -> KeptAboutClasses {
        let (probe_numbers, probed_classes) = probes.sizes();
        KeptAboutClasses {
            probe_numbers,
            probed_classes,
            known_types: types.size(),
            rewritten_classes: rewritten.size(),
            safe_retransforms: SAFE_RETRANSFORMS.size(),
            followed_loaders: jvm::objects_tagged().saturating_sub(ALL_FREED.load(Ordering::Relaxed)),
        }
    }
}

/// Notes that a class loader is gone. Waits for nothing.
pub(crate) fn note_freed(loader: LoaderId) {
    FREED.lock().push(loader);
    ALL_FREED.fetch_add(1, Ordering::Relaxed);
    SOME_FREED.store(true, Ordering::Release);
}

/// Has everything about the classes of loaders that are gone forgotten: what `forget` knows of, and what is kept beyond a session.
pub(crate) fn forget_freed(forget: impl FnOnce(&FxHashSet<LoaderId>)) {
    if !SOME_FREED.swap(false, Ordering::Acquire) {
        return;
    }
    let gone: FxHashSet<LoaderId> = std::mem::take(&mut *FREED.lock()).into_iter().collect();
    forget(&gone);
    SAFE_RETRANSFORMS.forget(&gone);
    LARGE_FILES.forget(&gone);
}
