//! What the agent keeps about classes is forgotten when their loader is gone: its memory depends on the classes that are loaded, not on
//! how many ever were (decision 038).

use parking_lot::Mutex;
use records::ProbeRegistry;
use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::classes::followed_loaders::FollowedLoaders;
use crate::classes::hierarchy::{LoaderId, TypeIndex};
use crate::classes::rewritten_classes::RewrittenClasses;
use crate::classes::safe_retransforms::SAFE_RETRANSFORMS;
use crate::jvm;

/// The loaders of all classes that were examined, beyond the session: probes have their numbers for ever.
static LOADERS: Mutex<Option<FollowedLoaders>> = Mutex::new(None);

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
    /// Loaders of which the end is noticed.
    followed_loaders: usize,
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
            followed_loaders: LOADERS.lock().as_ref().map_or(0, FollowedLoaders::len),
        }
    }
}

/// Follows the loader of a class, and has everything about the classes of loaders that are gone forgotten. Must run before anything is kept about the class: a new
/// loader may have the number of an old one.
pub(crate) fn follow_loader(class: &jvm::ClassFile<'_>, forget: impl FnOnce(&FxHashSet<LoaderId>)) {
    let Some(loader) = class.loader else { return };
    // Locked to the end, for the same reason: another thread may define a class by the same new loader.
    let mut loaders = LOADERS.lock();
    let gone = loaders.get_or_insert_default().follow(class.jni, class.loader_hash(), loader);
    if gone.is_empty() {
        return;
    }
    let gone: FxHashSet<LoaderId> = gone.into_iter().collect();
    forget(&gone);
    SAFE_RETRANSFORMS.forget(&gone);
}
