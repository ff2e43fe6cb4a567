//! Which machine code was at an address at a time, by the events of the recording.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Event, ReadError, TraceReader};

/// Whose code it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CodeOwner {
    /// A compiled method.
    Method {
        /// Internal name of the class: `a/b/C`.
        class: Arc<str>,
        /// Name of the method.
        name: Arc<str>,
        /// Descriptor of the method.
        descriptor: Arc<str>,
    },
    /// Code of the JVM itself: interpreter, stubs, adapters.
    Jvm(Arc<str>),
    /// Code of a native library. Its symbols are found by the build id, on any machine that has the file or its debug file.
    Library {
        /// Path of the file on the machine of the recording.
        name: Arc<str>,
        /// In hexadecimal digits; empty if it is not known.
        build_id: Arc<str>,
    },
}

/// A piece of code and the time in which it stood there, in nanoseconds since 1970.
#[derive(Debug)]
struct Code {
    owner: CodeOwner,
    end: u64,
    from: u64,
    until: u64,
}

/// All pieces of code of a recording, by address and time. It needs nothing but the file: neither the process nor the machine.
#[derive(Debug, Default)]
pub struct CodeMap {
    code: Pieces,
    /// Apart, because they are thousands of times as long.
    libraries: Pieces,
    texts: FxHashSet<Arc<str>>,
}

/// Pieces of similar length.
#[derive(Debug, Default)]
struct Pieces {
    /// By start address, in the order of time.
    pieces: BTreeMap<u64, Vec<Code>>,
    /// Start addresses of those that stand there now, while the map is made.
    standing: BTreeMap<u64, u64>,
    longest: u64,
}

enum Change {
    Begins { owner: CodeOwner, address: u64, length: u64 },
    Ends { address: u64 },
}

impl CodeMap {
    /// Reads what the recording says about compiled and generated code.
    ///
    /// # Errors
    /// When the file cannot be read or a chunk makes no sense.
    pub fn of_reader(reader: &TraceReader) -> Result<CodeMap, ReadError> {
        let mut map = CodeMap::default();
        let mut changes = Vec::new();
        for index in 0..reader.chunk_count() {
            let chunk = reader.chunk(index)?;
            for event in chunk.events() {
                match event? {
                    Event::CompiledCode { method, address, length, at } => {
                        let Some(method) = chunk.method(method) else { continue };
                        let [class, name, descriptor] =
                            [method.class, method.name, method.descriptor].map(|text| map.text(text));
                        let owner = CodeOwner::Method { class, name, descriptor };
                        changes.push((at, Change::Begins { owner, address, length }));
                    }
                    Event::GeneratedCode { name, address, length, at } => {
                        let owner = CodeOwner::Jvm(map.text(&name));
                        changes.push((at, Change::Begins { owner, address, length }));
                    }
                    Event::NativeLibrary { name, build_id, address, length, at } => {
                        let owner = CodeOwner::Library { name: map.text(&name), build_id: map.text(&build_id) };
                        changes.push((at, Change::Begins { owner, address, length }));
                    }
                    Event::CompiledCodeUnload { address, at } => changes.push((at, Change::Ends { address })),
                    _ => {}
                }
            }
        }
        // What happened at the same time stays in the order of the file.
        changes.sort_by_key(|(at, _)| *at);
        changes.into_iter().for_each(|(at, change)| map.apply(at, change));
        Ok(map)
    }

    /// Whose code stood at an address at a moment in nanoseconds since 1970; `None` if nothing is known.
    #[must_use]
    pub fn owner_at(&self, address: u64, at: u64) -> Option<&CodeOwner> {
        self.place_at(address, at).map(|(owner, _)| owner)
    }

    /// The same, with the bytes from the beginning of the code, or of the library, to the address.
    #[must_use]
    pub fn place_at(&self, address: u64, at: u64) -> Option<(&CodeOwner, u64)> {
        self.code.place_at(address, at).or_else(|| self.libraries.place_at(address, at))
    }

    /// Pieces of code that are known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.code.count() + self.libraries.count()
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&new));
        new
    }

    fn apply(&mut self, at: u64, change: Change) {
        match change {
            Change::Ends { address } => self.code.end(address, at),
            Change::Begins { owner: owner @ CodeOwner::Library { .. }, address, length } => {
                self.libraries.begin(owner, (address, length), at, true);
            }
            Change::Begins { owner, address, length } => self.code.begin(owner, (address, length), at, false),
        }
    }
}

impl Pieces {
    fn place_at(&self, address: u64, at: u64) -> Option<(&CodeOwner, u64)> {
        let lowest = address.saturating_sub(self.longest);
        let pieces = self.pieces.range(lowest..=address).rev();
        let mut candidates = pieces.flat_map(|(start, pieces)| pieces.iter().map(move |code| (*start, code)));
        let found = candidates.find(|(_, code)| address < code.end && (code.from..code.until).contains(&at));
        found.map(|(start, code)| (&code.owner, address - start))
    }

    fn count(&self) -> usize {
        self.pieces.values().map(Vec::len).sum()
    }

    /// Adds code that is at this address from `at` on. `is_late`: it may have been there before it was recorded.
    fn begin(&mut self, owner: CodeOwner, (address, length): (u64, u64), at: u64, is_late: bool) {
        let end = address.saturating_add(length);
        // Code that was there before is gone, even if no event says so.
        let lowest = address.saturating_sub(self.longest);
        let overlaps = self.standing.range(lowest..end).filter(|(_, other_end)| **other_end > address);
        let gone: Vec<u64> = overlaps.map(|(start, _)| *start).collect();
        let from = if is_late && gone.is_empty() { 0 } else { at };
        gone.into_iter().for_each(|start| self.end(start, at));
        self.longest = self.longest.max(length);
        self.standing.insert(address, end);
        self.pieces.entry(address).or_default().push(Code { owner, end, from, until: u64::MAX });
    }

    fn end(&mut self, address: u64, at: u64) {
        if self.standing.remove(&address).is_some()
            && let Some(code) = self.pieces.get_mut(&address).and_then(|pieces| pieces.last_mut())
        {
            code.until = at;
        }
    }
}
