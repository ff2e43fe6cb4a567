//! What samples of allocations say: which methods and classes the memory goes to.

use std::cmp::Reverse;

use rustc_hash::{FxHashMap, FxHashSet};

use super::samples::{Amount, SampleProfile, SampleTotals};
use crate::reader::Chunk;

/// The samples of allocations of a recording, added up. Bytes are estimates: each sample counts with its weight.
#[derive(Debug, Clone, Default)]
pub struct AllocationProfile {
    /// Samples.
    pub samples: u64,
    /// Bytes that were allocated.
    pub bytes: u64,
    /// By the class of the objects, the one with the most bytes first.
    pub classes: Vec<AllocationRow>,
    /// By the method that allocates, the one with the most bytes first.
    pub methods: Vec<AllocationRow>,
    /// The stacks of the samples, by call path and thread: its ticks are bytes, its calls are samples.
    pub stacks: SampleProfile,
}

/// A method or a class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllocationRow {
    /// `a.b.C.method` or `a.b.C`.
    pub name: String,
    /// Bytes allocated by the method itself, or objects of the class.
    pub own: u64,
    /// Bytes allocated by the method and all that it called; of a class as `own`.
    pub total: u64,
    /// Samples that count for `own`.
    pub samples: u64,
}

/// The samples of one chunk that are alike: (samples, bytes) by keys of thread, stack and class.
pub(super) type ChunkAllocations = FxHashMap<(u64, u64, u64), (u64, u64)>;

/// Adds up the samples of all chunks.
#[derive(Debug, Default)]
pub(super) struct AllocationTotals {
    samples: u64,
    bytes: u64,
    classes: FxHashMap<String, AllocationRow>,
    methods: FxHashMap<String, AllocationRow>,
    stacks: SampleTotals,
}

impl AllocationTotals {
    pub(super) fn chunk_done(&mut self, chunk: &Chunk, allocations: ChunkAllocations) {
        // In the order of the keys, so that the same file gives the same report.
        let mut allocations: Vec<_> = allocations.into_iter().collect();
        allocations.sort_unstable();
        for ((thread, stack, class), (samples, bytes)) in allocations {
            self.stacks.add(chunk, (thread, stack), Amount { samples, stands_for: bytes });
            self.samples += samples;
            self.bytes = self.bytes.saturating_add(bytes);
            let class = chunk.class(class).unwrap_or("(unknown class)");
            row(&mut self.classes, readable(class)).add(samples, bytes, bytes);
            let frames = chunk.stack(stack).map(|stack| &*stack.frames).unwrap_or_default();
            let mut seen = FxHashSet::default();
            for (depth, frame) in frames.iter().enumerate() {
                let name = chunk.method(frame.method).map_or_else(
                    || "(unknown method)".to_owned(),
                    |method| format!("{}.{}", readable(method.class), method.name),
                );
                let (own_samples, own) = if depth == 0 { (samples, bytes) } else { (0, 0) };
                let total = if seen.insert(name.clone()) { bytes } else { 0 };
                row(&mut self.methods, name).add(own_samples, own, total);
            }
        }
    }

    /// All samples, or `None` if there are none.
    pub(super) fn finish(self) -> Option<AllocationProfile> {
        let AllocationTotals { samples, bytes, classes, methods, stacks } = self;
        (samples > 0).then(|| AllocationProfile {
            samples,
            bytes,
            classes: sorted(classes),
            methods: sorted(methods),
            stacks: stacks.finish().unwrap_or_default(),
        })
    }
}

impl AllocationRow {
    fn add(&mut self, samples: u64, own: u64, total: u64) {
        self.samples += samples;
        self.own = self.own.saturating_add(own);
        self.total = self.total.saturating_add(total);
    }
}

fn row(rows: &mut FxHashMap<String, AllocationRow>, name: String) -> &mut AllocationRow {
    rows.entry(name).or_default()
}

fn sorted(rows: FxHashMap<String, AllocationRow>) -> Vec<AllocationRow> {
    let mut rows: Vec<_> = rows.into_iter().map(|(name, row)| AllocationRow { name, ..row }).collect();
    rows.sort_by(|a, b| (Reverse(a.own), Reverse(a.total), &a.name).cmp(&(Reverse(b.own), Reverse(b.total), &b.name)));
    rows
}

/// A class as Java writes it; arrays, which have the name of their descriptor, with brackets.
fn readable(class: &str) -> String {
    let element = class.trim_start_matches('[');
    let dimensions = class.len() - element.len();
    let name = match element {
        _ if dimensions == 0 => element,
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        object => object.strip_prefix('L').and_then(|name| name.strip_suffix(';')).unwrap_or(object),
    };
    name.replace('/', ".") + &"[]".repeat(dimensions)
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn classes_are_named_as_in_java() {
        let names = ["a/b/C", "[B", "[[La/b/C$D;", "[", "[L", ""].map(readable);
        assert_eq!(names, ["a.b.C", "byte[]", "a.b.C$D[][]", "[]", "L[]", ""]);
    }
}
