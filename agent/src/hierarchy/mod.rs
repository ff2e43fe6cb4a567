//! Super types without loading a class.
//!
//! A question is answered, in this order, by
//! 1. what the class hook saw the same loader define;
//! 2. the JDK's run-time image (for names that the image has);
//! 3. what the hook saw other loaders define, if they all agree;
//! 4. the loader's resources, over JNI, never from inside another such question;
//! 5. nobody: [`LateDecisions`](crate::late_decisions) asks again when the class is linked.
//!
//! A loader is identified by the identity hash of its object: two loaders with the same hash that both define a class of the
//! same name with different super types would be confused, which costs at worst a probe too many or too few.

mod loader_view;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use class_source::JdkImage;
use classfile::ClassFile;
use instrument_core::selection::Supertypes;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

pub(crate) use loader_view::LoaderView;

/// Identity of a class loader; 0 is the boot loader.
pub(crate) type LoaderId = i32;

/// The boot loader.
pub(crate) const BOOT: LoaderId = 0;

/// All super types learnt so far.
#[derive(Debug)]
pub(crate) struct TypeIndex {
    java_home: PathBuf,
    image: OnceLock<Option<JdkImage>>,
    known: Mutex<FxHashMap<Box<[u8]>, Candidates>>,
}

/// What is known about a name, by loader.
type Candidates = Vec<(LoaderId, Arc<Supertypes>)>;

impl TypeIndex {
    /// An empty index over the JDK at `java_home`, whose image is opened when it is first needed.
    pub(crate) fn new(java_home: PathBuf) -> TypeIndex {
        TypeIndex { java_home, image: OnceLock::new(), known: Mutex::new(FxHashMap::default()) }
    }

    /// Notes the super types of a class that this loader defines or sees.
    pub(crate) fn learn(&self, name: &[u8], loader: LoaderId, supertypes: Supertypes) -> Arc<Supertypes> {
        let mut known = self.known.lock();
        let candidates = match known.get_mut(name) {
            Some(candidates) => candidates,
            None => known.entry(name.into()).or_default(),
        };
        if let Some((_, same)) = candidates.iter().find(|(of, types)| *of == loader && **types == supertypes) {
            return Arc::clone(same);
        }
        candidates.retain(|(of, _)| *of != loader);
        // Loaders that see the same class share one entry.
        let shared = candidates.iter().find(|(_, types)| **types == supertypes).map(|(_, types)| Arc::clone(types));
        let types = shared.unwrap_or_else(|| Arc::new(supertypes));
        candidates.push((loader, Arc::clone(&types)));
        types
    }

    /// What the hook saw this loader define, or what was found out for it.
    fn of_loader(&self, name: &[u8], loader: LoaderId) -> Option<Arc<Supertypes>> {
        let known = self.known.lock();
        known.get(name)?.iter().find(|(of, _)| *of == loader).map(|(_, types)| Arc::clone(types))
    }

    /// What all loaders that know a class of this name say, if they agree.
    fn undisputed(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
        let known = self.known.lock();
        let ((_, first), others) = known.get(name)?.split_first()?;
        others.iter().all(|(_, other)| other == first).then(|| Arc::clone(first))
    }

    /// The super types of a class of the JDK.
    fn of_jdk(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
        if let Some(known) = self.of_loader(name, BOOT) {
            return Some(known);
        }
        let bytes = self.jdk_class(name)?;
        let class = ClassFile::parse(&bytes).ok()?;
        Some(self.learn(name, BOOT, Supertypes::of(&class)))
    }

    /// The class file of a class of the JDK, as it was shipped.
    pub(crate) fn jdk_class(&self, name: &[u8]) -> Option<Vec<u8>> {
        let image = self.image.get_or_init(|| {
            let opened = JdkImage::open(&self.java_home);
            opened.inspect_err(|error| tracing::warn!(%error, "the JDK's classes cannot be read")).ok()
        });
        image
            .as_ref()?
            .find(name)
            .inspect_err(|error| tracing::warn!(%error, "a class of the JDK cannot be read"))
            .ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(super_class: &str) -> Supertypes {
        Supertypes { super_class: Some(super_class.as_bytes().to_vec()), interfaces: Vec::new() }
    }

    fn index() -> TypeIndex {
        TypeIndex::new(PathBuf::from("/nowhere"))
    }

    #[test]
    fn each_loader_has_its_own_answer_and_a_disputed_name_has_none() {
        let index = index();
        index.learn(b"a/C", 1, types("a/X"));
        assert_eq!(index.undisputed(b"a/C").as_deref(), Some(&types("a/X")));
        index.learn(b"a/C", 2, types("a/Y"));
        assert_eq!(index.of_loader(b"a/C", 2).as_deref(), Some(&types("a/Y")));
        assert_eq!(index.of_loader(b"a/C", 3), None);
        assert_eq!(index.undisputed(b"a/C"), None);
    }

    #[test]
    fn a_class_that_is_defined_again_replaces_what_was_known() {
        let index = index();
        index.learn(b"a/C", 1, types("a/X"));
        index.learn(b"a/C", 1, types("a/Y"));
        assert_eq!(index.undisputed(b"a/C").as_deref(), Some(&types("a/Y")));
    }
}
