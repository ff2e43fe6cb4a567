//! Where a thread was whose stack could not be read.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::code_map::{self, CodeOwner};
use crate::call_sites::method_text;
use crate::jvm::{Jni, Jvmti, MethodFacts, NativeLibrary, Symbols};

/// The kernel's code in each process, such as that of `clock_gettime`. It is no file.
const VDSO: &str = "[vdso]";
/// No longer than this.
const LARGEST_VDSO: u64 = 1 << 20;
/// At least this long between two looks at what is loaded.
const PAUSE: Duration = Duration::from_secs(1);

/// What a thread was executing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InnermostPlace {
    /// This method, or one that is inlined in it.
    Compiled(MethodFacts),
    /// A stub of the JVM, or a function of a library.
    Native(Arc<str>),
}

impl InnermostPlace {
    /// `package.Class.method(Types)`, `library: function` or `JVM stub: name`.
    pub(crate) fn text(&self) -> Arc<str> {
        match self {
            InnermostPlace::Compiled(facts) => method_text(&facts.class, &facts.name, &facts.descriptor).into(),
            InnermostPlace::Native(name) => Arc::clone(name),
        }
    }
}

/// Names places.
#[derive(Debug, Default)]
pub(super) struct Places {
    libraries: Vec<NativeLibrary>,
    looked: Option<Instant>,
    /// By path.
    symbols: FxHashMap<String, Symbols>,
}

impl Places {
    /// What was at this address at a moment on the clock of the samples.
    pub(super) fn at(&mut self, (jvmti, jni): (Jvmti, &Jni<'_>), address: u64, at: u64) -> Option<InnermostPlace> {
        match code_map::owner_at(address, at) {
            Some(CodeOwner::Method(method)) => method.facts_without_lines(jvmti, jni).map(InnermostPlace::Compiled),
            Some(CodeOwner::Stub(name)) => Some(InnermostPlace::Native(format!("JVM stub: {name}").into())),
            None => self.in_library(address).map(|name| InnermostPlace::Native(name.into())),
        }
    }

    /// `libjvm.so: Klass::is_subclass_of`, or the library alone if it has no symbols.
    fn in_library(&mut self, address: u64) -> Option<String> {
        let library = self.library(address)?;
        let symbols = self.symbols.entry(library.name.clone()).or_insert_with(|| symbols(&library));
        let file = library.name.rsplit('/').next().unwrap_or(&library.name);
        let function = symbols.at(address.saturating_sub(library.address));
        Some(function.map_or_else(|| file.to_owned(), |function| format!("{file}: {function}")))
    }

    fn library(&mut self, address: u64) -> Option<NativeLibrary> {
        let is_in = |library: &&NativeLibrary| address.wrapping_sub(library.address) < library.length;
        if let Some(known) = self.libraries.iter().find(is_in) {
            return Some(known.clone());
        }
        if self.looked.is_some_and(|looked| looked.elapsed() < PAUSE) {
            return None;
        }
        self.looked = Some(Instant::now());
        match NativeLibrary::all_loaded() {
            Ok(libraries) => self.libraries = libraries,
            Err(error) => tracing::info!(%error, "native code has no names where stacks cannot be read"),
        }
        self.libraries.extend(vdso());
        self.libraries.iter().find(is_in).cloned()
    }
}

fn symbols(library: &NativeLibrary) -> Symbols {
    if library.name != VDSO {
        return Symbols::of_file(Path::new(&library.name));
    }
    let mut image = vec![0; usize::try_from(library.length.min(LARGEST_VDSO)).unwrap_or(0)];
    let memory = File::open("/proc/self/mem");
    let is_read = memory.is_ok_and(|memory| memory.read_exact_at(&mut image, library.address).is_ok());
    if is_read { Symbols::of_image(&image) } else { Symbols::default() }
}

fn vdso() -> Option<NativeLibrary> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| line.ends_with(VDSO))?;
    let (begin, end) = line.split(' ').next()?.split_once('-')?;
    let address = u64::from_str_radix(begin, 16).ok()?;
    let length = u64::from_str_radix(end, 16).ok()?.checked_sub(address)?;
    Some(NativeLibrary { name: VDSO.to_owned(), build_id: String::new(), address, length })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_libraries_and_of_the_kernel_are_named() {
        let mut places = Places::default();
        let name = places.in_library(libc::qsort as *const () as u64).unwrap();
        assert!(name.starts_with("libc.so") && name.ends_with(": qsort"), "{name}");
        assert_eq!(places.in_library(8), None);
        let vdso = vdso().unwrap();
        let symbols = symbols(&vdso);
        let named = (0..vdso.length).find_map(|offset| symbols.at(offset)).unwrap();
        let offset = (0..vdso.length).find(|offset| symbols.at(*offset).is_some()).unwrap();
        assert_eq!(places.in_library(vdso.address + offset), Some(format!("[vdso]: {named}")));
    }
}
