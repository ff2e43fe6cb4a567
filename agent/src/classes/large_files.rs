//! Sizes of large class files that passed the class hook. Of other classes the JVM says how large the constants are only by copies of them, two for each time that it is asked.

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::classes::hierarchy::{ClassId, LoaderId};
use crate::jvm::{ClassFile, LARGE_FILE};

/// The class files of the process.
pub(crate) static LARGE_FILES: LargeFiles = LargeFiles(Mutex::new(None));

/// Most classes that are noted.
const MOST: usize = 1 << 14;

/// Bytes by class.
#[derive(Debug)]
pub(crate) struct LargeFiles(Mutex<Option<FxHashMap<ClassId, usize>>>);

impl LargeFiles {
    /// Notes the size of a class file that the hook sees, if it is large.
    pub(crate) fn note(&self, class: &ClassFile<'_>) {
        if class.bytes.len() < LARGE_FILE {
            return;
        }
        let Some(name) = class.name else { return };
        let id: ClassId = (name.into(), class.loader_id());
        let mut known = self.0.lock();
        let known = known.get_or_insert_default();
        if known.len() < MOST || known.contains_key(&id) {
            known.insert(id, class.bytes.len());
        }
    }

    /// Whether the file of a class is known to be larger than this.
    pub(crate) fn exceeds(&self, class: &ClassId, bytes: usize) -> bool {
        self.0.lock().as_ref().and_then(|known| known.get(class).copied()).is_some_and(|size| size > bytes)
    }

    /// Forgets the classes of loaders that are gone.
    pub(crate) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        if let Some(known) = &mut *self.0.lock() {
            known.retain(|(_, loader), _| !gone.contains(loader));
        }
    }
}
