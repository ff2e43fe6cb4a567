//! Programs that make classes all the time would fill the memory with their names: constants that nobody needs any more are forgotten
//! when there are many.

use rustc_hash::FxHashSet;

use super::constants::{Constants, MethodParts};
use super::{Destination, Recording};

/// Keys that somebody keeps and will use again.
#[derive(Debug, Default)]
pub(super) struct KeptKeys {
    pub(super) classes: FxHashSet<u32>,
    pub(super) methods: FxHashSet<u32>,
    pub(super) parts: Vec<MethodParts>,
}

impl Recording {
    /// Called between two chunks, while no event is being written.
    pub(super) fn forget_constants(&mut self) {
        if !self.constants.are_many() {
            return;
        }
        let mut kept = KeptKeys { parts: self.probes.methods().collect(), ..KeptKeys::default() };
        self.live.keep_keys(&mut kept);
        if let Destination::Ring(ring) = &self.destination {
            ring.keep_keys(&mut kept);
        }
        self.constants.forget_all_but(kept);
    }
}

impl Constants {
    /// Forgets what neither these keys nor their parts need.
    fn forget_all_but(&mut self, kept: KeptKeys) {
        let KeptKeys { mut classes, mut methods, parts } = kept;
        methods.extend(&self.sampled);
        methods.extend(parts.iter().filter_map(|parts| self.methods.known_key(parts)));
        let of_methods = methods.iter().filter_map(|key| self.methods.value(*key)).copied();
        let mut symbols = FxHashSet::default();
        for parts in of_methods.chain(parts) {
            classes.insert(parts.class);
            symbols.extend([parts.name, parts.descriptor]);
        }
        let mut packages = FxHashSet::default();
        for class in classes.iter().filter_map(|key| self.classes.value(*key)) {
            symbols.insert(class.name);
            packages.insert(class.package);
        }
        let mut modules = FxHashSet::default();
        for package in packages.iter().filter_map(|key| self.packages.value(*key)) {
            symbols.insert(package.name);
            modules.insert(package.module);
        }
        symbols.extend(modules.iter().filter_map(|key| self.modules.value(*key)));
        self.methods.keep_only(&methods);
        self.classes.keep_only(&classes);
        self.packages.keep_only(&packages);
        self.modules.keep_only(&modules);
        self.symbols.keep_only(&symbols);
        self.classes_by_name.retain(|name, class| symbols.contains(name) && classes.contains(class));
        self.classes_by_name.shrink_to_fit();
        self.note_forgotten();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::{Event, TraceReader};
    use crate::recording::{MethodInfo, ProcessInfo, RecordingOptions, RingOptions};

    fn method(class: &str) -> MethodInfo<'_> {
        let class = class.as_bytes();
        MethodInfo { class, name: b"run", descriptor: b"()V", access_flags: 0, exact: true, template: "timed" }
    }

    fn options() -> RecordingOptions {
        RecordingOptions { max_chunk_bytes: 4096, ..RecordingOptions::new(0, 0, ProcessInfo::default()) }
    }

    const CLASSES: u64 = 20_000;
    /// One in so many stays.
    const STAYS: u64 = 2_000;

    fn name(class: u64) -> String {
        format!("made/At{class}/RunTime{class}")
    }

    /// Classes that come, are compiled and go, one after the other; a few stay.
    fn make_classes(recording: &mut Recording) -> usize {
        recording.define_method(1, method("a/Probed"));
        let sampled = recording.sampled_method(method("a/Sampled"));
        recording.set_thread(1);
        let mut most = 0;
        for class in 1..=CLASSES {
            let (at, name, loader) = (class * 1_000, name(class), class);
            recording.class_defined(name.as_bytes(), loader, 1, at);
            let methods = [(b"run".as_slice(), b"()V".as_slice(), 0), (name.as_bytes(), b"()V", 0)];
            recording.loaded_methods((name.as_bytes(), loader), methods.into_iter(), at);
            recording.compiled_code(method(&name), (class << 8, 100), at);
            recording.calls(&[[at, 5 << 24 | 1]]);
            let frame = crate::SampleFrame { method: sampled, line: 3, bytecode_index: 1, is_native: false };
            recording.sample(at, &[frame], false);
            if class % STAYS != 0 {
                recording.compiled_code_unloaded(class << 8, at);
                recording.loader_unloaded(loader, at);
            }
            most = most.max(recording.constants.symbols.len());
        }
        most
    }

    /// Returns the names of the classes whose code was recorded, by address; all calls are of the method that has the probe.
    fn compiled(file: &std::path::Path) -> Vec<(u64, String)> {
        let reader = TraceReader::open(file).unwrap();
        let mut compiled = Vec::new();
        for index in 0..reader.chunk_count() {
            let chunk = reader.chunk(index).unwrap();
            for event in chunk.events() {
                match event.unwrap() {
                    Event::CompiledCode { method, address, .. } => {
                        compiled.push((address >> 8, chunk.method(method).unwrap().class.to_string()));
                    }
                    Event::MethodCall(call) => assert_eq!(chunk.method(call.method).unwrap().class, "a/Probed"),
                    _ => {}
                }
            }
        }
        compiled
    }

    #[test]
    fn names_of_classes_that_are_gone_are_forgotten_and_the_file_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("trace.jfr");
        let mut recording = Recording::create(&file, options()).unwrap();
        let most = make_classes(&mut recording);
        assert!(most < 2_000, "{most} names at a time");
        recording.finish().unwrap();
        let compiled = compiled(&file);
        assert_eq!(compiled.len() as u64, CLASSES);
        assert!(compiled.iter().all(|(class, found)| *found == name(*class)));
        crate::Analysis::of_file(&file, crate::AnalysisOptions::default()).unwrap();
    }

    #[test]
    fn a_dump_names_what_is_still_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("dump.jfr");
        let ring = RingOptions { keep_nanos: None, keep_bytes: 64 << 10 };
        let mut recording = Recording::in_memory(options(), ring);
        let most = make_classes(&mut recording);
        assert!(most < 4_000, "{most} names at a time");
        recording.dump(CLASSES * 1_000 + 1, "asked for").unwrap().write(&file).unwrap();
        let compiled = compiled(&file);
        assert!(compiled.iter().all(|(class, found)| *found == name(*class)));
        let stay = (1..=CLASSES / STAYS).map(|number| number * STAYS);
        assert!(stay.into_iter().all(|class| compiled.iter().any(|(found, _)| *found == class)), "{compiled:?}");
    }
}
