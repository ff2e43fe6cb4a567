//! Which classes can be retransformed without harm, bugs of HotSpot considered (`hotspot_hazards.rs`).
//!
//! Names of parameters are lost where the JVM puts a class file together again from its own data. It does not have to if an agent changed the
//! class when it was loaded: then it has kept the file. Otherwise the class hook puts the names back at each retransformation: they are taken
//! from the class file, which is in memory for a class that was loaded just now, or can be read. Nothing helps against the bug with records: the
//! JVM makes that mistake after the hook.
//!
//! Of the process, not of a session: what the JVM has lost is lost for the next session, too.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use classfile::{ClassFile, ParameterNames};
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use crate::classes::hierarchy::{BOOT, ClassId, LoaderId, TypeIndex, class_id};
use crate::classes::hotspot_hazards::{self, Hazard};
use crate::jvm::{self, Jni, Jvmti, LoadedClass, read_class_resource};

/// The classes of the process.
pub(crate) static SAFE_RETRANSFORMS: SafeRetransforms = SafeRetransforms::new();

/// Most bytes of class files in memory, of the classes that were loaded last: those whose super types are being loaded are among them.
const MOST_BYTES_AT_HAND: usize = 2 << 20;

/// Most classes whose names are kept, and most of which it is known that the JVM has kept the file. Others stay as they are.
const MOST: usize = 1 << 16;

/// What is known of classes that HotSpot could damage.
#[derive(Debug)]
pub(crate) struct SafeRetransforms {
    known: Mutex<Option<Known>>,
    /// Whether there are names to put back, to be read without the lock.
    has_names: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    /// Classes with names of parameters whose file the JVM has kept.
    changed_at_load: FxHashSet<ClassId>,
    /// Names of parameters that the JVM has lost or is about to lose.
    names: FxHashMap<ClassId, Arc<ParameterNames>>,
    at_hand: AtHand,
}

/// Files of classes that were loaded lately.
#[derive(Debug, Default)]
struct AtHand {
    /// By the hash of the name, and the loader.
    files: VecDeque<(u64, LoaderId, Box<[u8]>)>,
    bytes: usize,
}

impl AtHand {
    fn push(&mut self, name: &[u8], loader: LoaderId, file: &[u8]) {
        self.bytes += file.len();
        self.files.push_back((FxBuildHasher.hash_one(name), loader, file.into()));
        while self.bytes > MOST_BYTES_AT_HAND
            && let Some((.., file)) = self.files.pop_front()
        {
            self.bytes -= file.len();
        }
    }

    fn names(&self, (name, loader): &ClassId) -> Option<ParameterNames> {
        let hash = FxBuildHasher.hash_one(&**name);
        let mut latest_first = self.files.iter().rev();
        let (.., file) = latest_first.find(|(of, by, _)| (*of, *by) == (hash, *loader))?;
        names_in(file, name)
    }
}

/// The names in the file of the class of this name.
fn names_in(file: &[u8], name: &[u8]) -> Option<ParameterNames> {
    let file = ClassFile::parse(file).ok()?;
    ParameterNames::of(&file).filter(|_| file.this_class().as_bytes() == name)
}

impl SafeRetransforms {
    const fn new() -> SafeRetransforms {
        SafeRetransforms { known: Mutex::new(None), has_names: AtomicBool::new(false) }
    }

    /// Notes a class that is changed when it is loaded.
    pub(crate) fn note_changed(&self, java_version: u32, name: &[u8], class: &jvm::ClassFile<'_>) {
        if hotspot_hazards::of_pool(java_version, class.bytes).is_some_and(|hazard| hazard.loses_parameters) {
            let id: ClassId = (name.into(), class.loader_id());
            self.with(|known| {
                if known.changed_at_load.len() < MOST {
                    known.changed_at_load.insert(id);
                }
            });
        }
    }

    /// Whether a class that is about to be defined can be retransformed directly afterwards.
    pub(crate) fn may_come_again(
        &self,
        java_version: u32,
        class: (&[u8], LoaderId),
        file: &[u8],
        is_record: bool,
    ) -> bool {
        match hotspot_hazards::of_class(java_version, file, is_record) {
            None => true,
            Some(hazard) if hazard.loses_parameters => {
                self.with(|known| known.at_hand.push(class.0, class.1, file));
                true
            }
            Some(_) => false,
        }
    }

    /// The bug that forbids to retransform this loaded class, if any. With `types`, class files may be read.
    pub(crate) fn hazard(
        &self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        class: LoadedClass<'_>,
        types: Option<&TypeIndex>,
    ) -> Option<&'static Hazard> {
        if !hotspot_hazards::concern(jvmti.java_version()) {
            return None;
        }
        class.with_constants(jvmti, |_, pool| self.hazard_of_pool(jvmti, jni, class, pool, types)).flatten()
    }

    fn hazard_of_pool(
        &self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        class: LoadedClass<'_>,
        pool: &[u8],
        types: Option<&TypeIndex>,
    ) -> Option<&'static Hazard> {
        let hazard = hotspot_hazards::of_pool(jvmti.java_version(), pool)?;
        if !hazard.loses_parameters {
            return Some(hazard);
        }
        let Some(id) = class_id(jvmti, jni, class) else { return Some(hazard) };
        let is_known = self.with(|known| known.changed_at_load.contains(&id) || known.names.contains_key(&id));
        // What is not in the pool are names of another version of the class.
        let fits = |names: &ParameterNames| names.texts().into_iter().all(|text| hotspot_hazards::has_text(pool, text));
        let is_safe = || match self.own_names(&id, types) {
            // It only speaks of the attribute.
            Some(own) if own.is_empty() => true,
            Some(own) => fits(&own) && self.keep(id.clone(), own),
            None => {
                let names = types.and_then(|_| read_names(jvmti, jni, class, &id));
                names.filter(|names| !names.is_empty() && fits(names)).is_some_and(|names| self.keep(id.clone(), names))
            }
        };
        if is_known || is_safe() { None } else { Some(hazard) }
    }

    /// Returns the names in the file that the class was surely loaded from.
    fn own_names(&self, id: &ClassId, types: Option<&TypeIndex>) -> Option<ParameterNames> {
        let shipped = || types.filter(|_| id.1 == BOOT)?.jdk_class(&id.0);
        self.with(|known| known.at_hand.names(id)).or_else(|| names_in(&shipped()?, &id.0))
    }

    fn keep(&self, class: ClassId, names: ParameterNames) -> bool {
        self.with(|known| {
            let has_room = known.names.len() < MOST;
            if has_room {
                known.names.insert(class, Arc::new(names));
                self.has_names.store(true, Ordering::Release);
            }
            has_room
        })
    }

    /// Returns the file of a class that is retransformed, with the names that the JVM has lost.
    pub(crate) fn put_back(&self, class: &jvm::ClassFile<'_>) -> Option<Vec<u8>> {
        if class.is_new() || !self.has_names.load(Ordering::Acquire) || !class.is_loaded() {
            return None;
        }
        let id: ClassId = (class.name?.into(), class.loader_id());
        let names = self.with(|known| known.names.get(&id).map(Arc::clone))?;
        names.put_back(&ClassFile::parse(class.bytes).ok()?)
    }

    /// Forgets the classes of loaders that are gone.
    pub(crate) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        self.with(|known| {
            known.changed_at_load.retain(|(_, loader)| !gone.contains(loader));
            known.names.retain(|(_, loader), _| !gone.contains(loader));
        });
    }

    /// Of how many classes something is known.
    pub(crate) fn size(&self) -> usize {
        self.with(|known| known.changed_at_load.len() + known.names.len())
    }

    fn with<R>(&self, body: impl FnOnce(&mut Known) -> R) -> R {
        body(self.known.lock().get_or_insert_default())
    }
}

/// Returns the names in the class file that the loader of the class finds now.
fn read_names(jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>, (name, _): &ClassId) -> Option<ParameterNames> {
    names_in(&class.with_loader(jvmti, jni, |loader| read_class_resource(jni, loader?, name))?, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_came_last_are_at_hand() {
        let mut at_hand = AtHand::default();
        let (_, file) = crate::config::embedded::RUNTIME_CLASSES[0];
        let most = MOST_BYTES_AT_HAND / file.len();
        let loaders = LoaderId::try_from(most + 3).unwrap();
        (1..=loaders).for_each(|loader| at_hand.push(b"a/C", loader, file));
        assert_eq!(at_hand.files.len(), most);
        assert_eq!(at_hand.bytes, most * file.len());
        let has = |loader| at_hand.files.iter().any(|(_, of, _)| *of == loader);
        assert!(!has(3) && has(4) && has(loaders));
    }

    #[test]
    fn only_the_class_itself_lends_its_names() {
        let file = include_bytes!("../../../classfile/tests/classes/Everything.class");
        let mut at_hand = AtHand::default();
        at_hand.push(b"Everything", 1, file);
        at_hand.push(b"Other", 1, file);
        let names = |name: &[u8], loader| at_hand.names(&(name.into(), loader)).is_some();
        assert!(names(b"Everything", 1));
        assert!(!names(b"Everything", 2) && !names(b"Other", 1));
    }

    #[test]
    fn a_class_waits_unless_more_than_names_would_be_lost() {
        let safe = SafeRetransforms::new();
        let file = include_bytes!("../../../classfile/tests/classes/Everything.class");
        assert!(safe.may_come_again(17, (b"Everything", 1), file, false));
        assert!(safe.with(|known| known.at_hand.names(&(b"Everything".as_slice().into(), 1))).is_some());
        let record = b"\x01\x00\x10java/lang/Record\x01\x00\x06Record\x01\x00\x1dRuntimeVisibleTypeAnnotations";
        let may_come_again = |version| safe.may_come_again(version, (b"a/R", 1), record, true);
        assert!(!may_come_again(17) && may_come_again(11));
    }
}
