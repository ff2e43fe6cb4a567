//! Classes as a loader finds them, read without asking it.
//!
//! A loader that is asked for a class file takes hundreds of microseconds; its class path is known and can be read in ten. This is so
//! for the loader of the application and for `java.net.URLClassLoader`, which asks its parent first. Whatever is not sure is
//! for the loader to say: class paths can be appended to, and jars replaced, while the JVM runs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

use class_source::{Found, LoaderClassPath, LoaderTraits, PathElement};
use instrument_core::selection::{AskedTypes, Supertypes};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{LoaderId, TypeIndex};
use crate::jvm::{
    Jni, Jvmti, LoaderKind, ObjectRef, UrlParts, class_path_length, class_path_urls, loader_kind, with_parent,
};

/// Where one of these is set, a loader does more than to follow its class path.
const SPECIAL: [&std::ffi::CStr; 6] = [
    c"jdk.module.path",
    c"jdk.module.main",
    c"jdk.module.upgrade.path",
    c"sun.misc.URLClassPath.enableJarIndex",
    c"jdk.util.jar.version",
    c"jdk.util.jar.enableMultiRelease",
];

/// So many loaders are remembered at most, and so many jars held open for them. Those that come later are asked.
const MOST_LOADERS: usize = 256;
const MOST_JARS: usize = 256;
/// No chain of parents is longer.
const DEEPEST: usize = 16;

/// The class paths of loaders, opened when they are first needed.
#[derive(Debug)]
pub(super) struct NativePaths {
    /// No loader has opened a file before.
    started: SystemTime,
    /// What was appended to the class path of the boot loader; absent if loaders do special things.
    boot: OnceLock<Option<Vec<PathBuf>>>,
    known: Mutex<FxHashMap<LoaderId, Arc<NativePath>>>,
}

/// The class path of one loader.
#[derive(Debug)]
struct NativePath {
    kind: LoaderKind,
    elements: Vec<PathElement>,
    /// Of the elements, those that are not the loader's own.
    appended_to_boot: usize,
    opened: OnceLock<LoaderClassPath>,
}

/// Who asks.
#[derive(Clone, Copy)]
pub(super) struct Asking<'a> {
    pub(super) index: &'a TypeIndex,
    pub(super) jvmti: Jvmti,
    pub(super) jni: &'a Jni<'a>,
}

impl NativePaths {
    /// No loader has opened a file before.
    pub(super) fn started(&self) -> SystemTime {
        self.started
    }

    /// Of a JVM that was started at this moment or later.
    pub(super) fn new(started: SystemTime) -> NativePaths {
        NativePaths { started, boot: OnceLock::new(), known: Mutex::default() }
    }

    /// Of a class that the JDK does not have: the super types that this loader would find.
    pub(super) fn super_types(
        &self,
        asking: Asking<'_>,
        loader: ObjectRef<'_>,
        name: &[u8],
    ) -> Option<Arc<Supertypes>> {
        match self.find(asking, loader, name, 0) {
            Found::Class(types) => Some(types),
            Found::Absent | Found::Unsure => None,
        }
    }

    fn find(&self, asking: Asking<'_>, loader: ObjectRef<'_>, name: &[u8], depth: usize) -> Found<Arc<Supertypes>> {
        let Asking { index, jvmti, jni } = asking;
        let id = jvmti.loader_id(Some(loader));
        let Some(path) = self.path_of(asking, loader, id) else { return Found::Unsure };
        if path.kind == LoaderKind::Urls {
            // A class in a package of the JDK that the JDK does not have: the loaders of the JVM find it nowhere else.
            if depth == 0 && index.is_in_jdk_package(name) || depth == DEEPEST {
                return Found::Unsure;
            }
            match self.find_by_parent(asking, loader, name, depth) {
                Found::Absent => {}
                Found::Class(types) => return Found::Class(index.share(name, id, &types)),
                Found::Unsure => return Found::Unsure,
            }
        }
        let opened = path.opened.get_or_init(|| open(&path.elements, self.traits(jvmti, path.kind)));
        match opened.find(name, |class| index.learn_from(name, id, class.bytes).map(|(types, _)| types)) {
            Found::Absent if !path.is_all_of(jni, loader) => Found::Unsure,
            found => found,
        }
    }

    /// Which of the types that rules ask for are found now by this loader or by one that it asks, besides those of the JDK.
    pub(super) fn asked_types(&self, asking: Asking<'_>, loader: ObjectRef<'_>) -> AskedTypes {
        self.asked_types_at(asking, loader, 0)
    }

    fn asked_types_at(&self, asking: Asking<'_>, loader: ObjectRef<'_>, depth: usize) -> AskedTypes {
        let Asking { jvmti, jni, .. } = asking;
        let id = jvmti.loader_id(Some(loader));
        let Some(path) = self.path_of(asking, loader, id).filter(|path| path.is_all_of(jni, loader)) else {
            return AskedTypes::Any;
        };
        let of_parent = match path.kind {
            _ if depth == DEEPEST => AskedTypes::Any,
            LoaderKind::Urls => self.asked_types_of_parent(asking, loader, depth),
            _ => AskedTypes::Nowhere,
        };
        match of_parent {
            AskedTypes::Any => AskedTypes::Any,
            found => found.max(self.asked_types_of(asking, &path, id)),
        }
    }

    fn asked_types_of_parent(&self, asking: Asking<'_>, loader: ObjectRef<'_>, depth: usize) -> AskedTypes {
        let Asking { jvmti, jni, .. } = asking;
        let of_jdk = || match self.appended_to_boot(jvmti) {
            Some([]) => AskedTypes::Nowhere,
            _ => AskedTypes::Any,
        };
        let ask = |parent: Option<ObjectRef<'_>>| {
            let Some(parent) = parent else { return of_jdk() };
            match self.asked_types_at(asking, parent, depth + 1) {
                AskedTypes::Any if loader_kind(jvmti, jni, parent) == LoaderKind::Platform => of_jdk(),
                found => found,
            }
        };
        with_parent(jni, loader, ask).unwrap_or(AskedTypes::Any)
    }

    /// Of the elements of one class path.
    fn asked_types_of(&self, asking: Asking<'_>, path: &NativePath, id: LoaderId) -> AskedTypes {
        let Asking { index, jvmti, .. } = asking;
        let opened = path.opened.get_or_init(|| open(&path.elements, self.traits(jvmti, path.kind)));
        let one = |name: &[u8]| match opened.find(name, |class| index.learn_from(name, id, class.bytes)) {
            Found::Class((_, false)) => AskedTypes::Classes,
            Found::Class((_, true)) | Found::Unsure => AskedTypes::Any,
            Found::Absent => AskedTypes::Nowhere,
        };
        index.asked.names().iter().map(|name| one(name)).max().unwrap_or(AskedTypes::Nowhere)
    }

    fn find_by_parent(
        &self,
        asking: Asking<'_>,
        loader: ObjectRef<'_>,
        name: &[u8],
        depth: usize,
    ) -> Found<Arc<Supertypes>> {
        let Asking { index, jvmti, jni } = asking;
        let of_jdk = || match self.appended_to_boot(jvmti) {
            // The JDK itself was asked before.
            Some([]) => Found::Absent,
            _ => Found::Unsure,
        };
        let ask = |parent: Option<ObjectRef<'_>>| {
            let Some(parent) = parent else { return of_jdk() };
            if let Some(types) = index.of_loader(name, jvmti.loader_id(Some(parent))) {
                return Found::Class(types);
            }
            match self.find(asking, parent, name, depth + 1) {
                Found::Unsure if loader_kind(jvmti, jni, parent) == LoaderKind::Platform => of_jdk(),
                found => found,
            }
        };
        with_parent(jni, loader, ask).unwrap_or(Found::Unsure)
    }

    /// The class path of a loader; `None` if only the loader itself can tell.
    fn path_of(&self, asking: Asking<'_>, loader: ObjectRef<'_>, id: LoaderId) -> Option<Arc<NativePath>> {
        let Asking { jvmti, jni, .. } = asking;
        let mut known = self.known.lock();
        if let Some(path) = known.get(&id) {
            return Some(Arc::clone(path));
        }
        let path = Arc::new(self.new_path(jvmti, jni, loader)?);
        let jars = known.values().map(|path| path.jars()).sum::<usize>();
        let is_full = known.len() >= MOST_LOADERS || jars + path.elements.len() > MOST_JARS;
        if is_full && path.kind != LoaderKind::Application {
            return None;
        }
        known.insert(id, Arc::clone(&path));
        Some(path)
    }

    fn new_path(&self, jvmti: Jvmti, jni: &Jni<'_>, loader: ObjectRef<'_>) -> Option<NativePath> {
        let kind = loader_kind(jvmti, jni, loader);
        let mut elements = Vec::new();
        match kind {
            LoaderKind::Application => {
                elements.extend(self.appended_to_boot(jvmti)?.iter().cloned().map(PathElement::Boot));
            }
            LoaderKind::Urls => _ = self.appended_to_boot(jvmti)?,
            LoaderKind::Platform | LoaderKind::Other => return None,
        }
        let appended_to_boot = elements.len();
        match kind {
            LoaderKind::Application => elements.extend(split(jvmti, c"java.class.path").map(PathElement::Plain)),
            _ => elements.extend(class_path_urls(jni, loader)?.iter().map(element_of)),
        }
        Some(NativePath { kind, elements, appended_to_boot, opened: OnceLock::new() })
    }

    fn appended_to_boot(&self, jvmti: Jvmti) -> Option<&[PathBuf]> {
        let read = || {
            let is_special = SPECIAL.iter().any(|name| jvmti.system_property(name).is_some());
            let is_none = || jvmti.system_property(c"jdk.boot.class.path.append").is_none_or(|path| path.is_empty());
            (!is_special)
                .then(|| if is_none() { Vec::new() } else { split(jvmti, c"jdk.boot.class.path.append").collect() })
        };
        self.boot.get_or_init(read).as_deref()
    }

    fn traits(&self, jvmti: Jvmti, kind: LoaderKind) -> LoaderTraits {
        let release = u16::try_from(jvmti.java_version()).unwrap_or(0);
        LoaderTraits { release, opened_after: self.started, jars_may_vanish: kind == LoaderKind::Urls }
    }

    /// Closes the jars of loaders that are gone.
    pub(super) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        self.known.lock().retain(|loader, _| !gone.contains(loader));
    }

    /// Closes all jars.
    pub(super) fn close(&self) {
        self.known.lock().clear();
    }
}

impl NativePath {
    /// Whether nobody has appended to the class path of the loader since.
    fn is_all_of(&self, jni: &Jni<'_>, loader: ObjectRef<'_>) -> bool {
        class_path_length(jni, loader) == Some(self.elements.len() - self.appended_to_boot)
    }

    fn jars(&self) -> usize {
        self.opened.get().map_or(self.elements.len(), LoaderClassPath::jar_count)
    }
}

fn split(jvmti: Jvmti, property: &std::ffi::CStr) -> impl Iterator<Item = PathBuf> + use<> {
    let path = jvmti.system_property(property).unwrap_or_default();
    path.split(':').map(PathBuf::from).collect::<Vec<_>>().into_iter()
}

fn open(elements: &[PathElement], traits: LoaderTraits) -> LoaderClassPath {
    let started = Instant::now();
    let opened = LoaderClassPath::open(elements.to_vec(), traits);
    tracing::debug!(classes = opened.class_count(), took = ?started.elapsed(), "a class path is known");
    opened
}

/// What the loader makes of a URL, where that is certain.
fn element_of(url: &UrlParts) -> PathElement {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"%?#!\\".contains(byte);
    let file = &url.file;
    if url.protocol != b"file" || !url.host.is_empty() || !file.starts_with(b"/") || !file.iter().all(is_plain) {
        return PathElement::Other;
    }
    let path = PathBuf::from(OsStr::from_bytes(file));
    if file.ends_with(b"/") { PathElement::Directory(path) } else { PathElement::Jar(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(protocol: &str, host: &str, file: &str) -> PathElement {
        element_of(&UrlParts { protocol: protocol.into(), host: host.into(), file: file.into() })
    }

    #[test]
    fn only_plain_files_of_this_machine_are_read_natively() {
        assert_eq!(url("file", "", "/a/b.jar"), PathElement::Jar("/a/b.jar".into()));
        assert_eq!(url("file", "", "/a/b/"), PathElement::Directory("/a/b/".into()));
        assert_eq!(url("file", "", "/a/b.zip"), PathElement::Jar("/a/b.zip".into()));
        for (protocol, host, file) in [
            ("http", "", "/a/b.jar"),
            ("jar", "", "file:/a/b.jar!/"),
            ("file", "host", "/a/b.jar"),
            ("file", "", "b.jar"),
            ("file", "", "/a%20b.jar"),
            ("file", "", "/a.jar?x"),
            ("file", "", "/a!/b.jar"),
            ("file", "", "/a b.jar"),
            ("file", "", "/\u{e4}.jar"),
            ("file", "", ""),
        ] {
            assert_eq!(url(protocol, host, file), PathElement::Other, "{protocol} {host} {file}");
        }
    }
}
