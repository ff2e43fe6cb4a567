//! The texts of one class in one allocation, each of them once.

use rustc_hash::{FxBuildHasher, FxHashMap};

/// A place in [`Texts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Text {
    start: u32,
    length: u16,
}

/// All texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Texts(Box<[u8]>);

impl Texts {
    pub(super) fn get(&self, text: Text) -> &[u8] {
        let start = text.start as usize;
        self.0.get(start..start + usize::from(text.length)).unwrap_or_default()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Collects texts that lie in a class file.
#[derive(Debug, Default)]
pub(super) struct TextCollector {
    bytes: Vec<u8>,
    /// By where they lie in the file: a compiler writes each text once.
    known: FxHashMap<(usize, usize), Text>,
}

impl TextCollector {
    /// Nothing, with room for so many texts.
    pub(super) fn with_capacity(texts: usize) -> TextCollector {
        TextCollector {
            bytes: Vec::with_capacity(texts * 16),
            known: FxHashMap::with_capacity_and_hasher(texts, FxBuildHasher),
        }
    }

    /// Returns the place of a text. The constant pool of a class file limits the length of one and of all of them.
    pub(super) fn add(&mut self, text: &[u8]) -> Text {
        let in_file = (text.as_ptr().addr(), text.len());
        if let Some(known) = self.known.get(&in_file) {
            return *known;
        }
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        let place = Text { start: u32::try_from(self.bytes.len()).unwrap_or(u32::MAX), length };
        self.bytes.extend_from_slice(text);
        self.known.insert(in_file, place);
        place
    }

    pub(super) fn finish(self) -> Texts {
        Texts(self.bytes.into())
    }
}
