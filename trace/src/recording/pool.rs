//! Constant pools: what a key means is written once per chunk, and only in chunks that use the key.

use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::payload::push_text;
use crate::varint;

/// The constants of one type that the chunk under construction uses, encoded.
#[derive(Debug)]
pub(super) struct Pool {
    type_id: u32,
    count: u64,
    bytes: Vec<u8>,
}

impl Pool {
    pub(super) fn new(type_id: u32) -> Pool {
        Pool { type_id, count: 0, bytes: Vec::new() }
    }

    /// Adds one constant: its key, and its fields as written by `fields`.
    pub(super) fn add(&mut self, key: u64, fields: impl FnOnce(&mut Vec<u8>)) {
        self.count += 1;
        varint::push(&mut self.bytes, key);
        fields(&mut self.bytes);
    }

    /// Bytes that the pool adds to the chunk, without its own short head.
    pub(super) fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends the pool to a checkpoint.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        varint::push(out, u64::from(self.type_id));
        varint::push(out, self.count);
        out.extend_from_slice(&self.bytes);
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.bytes.clear();
    }
}

/// Values with a key for the whole file, each with a note of the last chunk that has used it. A value that was forgotten gets a new key
/// when it is used again; no key is ever given twice.
#[derive(Debug)]
pub(super) struct Interned<V> {
    keys: FxHashMap<V, u32>,
    /// By key.
    values: FxHashMap<u32, (V, u32)>,
    last_key: u32,
}

impl<V> Default for Interned<V> {
    fn default() -> Self {
        Interned { keys: FxHashMap::default(), values: FxHashMap::default(), last_key: 0 }
    }
}

impl<V: Hash + Eq + Clone> Interned<V> {
    /// The key of a value, counted from 1.
    pub(super) fn key(&mut self, value: V) -> u32 {
        match self.keys.entry(value) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(vacant) => {
                self.last_key += 1;
                self.values.insert(self.last_key, (vacant.key().clone(), 0));
                *vacant.insert(self.last_key)
            }
        }
    }

    /// The key of a value that has one.
    pub(super) fn known_key(&self, value: &V) -> Option<u32> {
        self.keys.get(value).copied()
    }

    /// The value of a key.
    pub(super) fn value(&self, key: u32) -> Option<&V> {
        self.values.get(&key).map(|(value, _)| value)
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Forgets the values of all other keys.
    pub(super) fn keep_only(&mut self, needed: &FxHashSet<u32>) {
        self.values.retain(|key, _| needed.contains(key));
        self.keys.retain(|_, key| needed.contains(key));
        self.values.shrink_to_fit();
        self.keys.shrink_to_fit();
    }

    /// The value of a key if the chunk has not used it yet; it counts as used from now on.
    pub(super) fn first_use(&mut self, key: u32, chunk: u32) -> Option<V> {
        let (value, last_chunk) = self.values.get_mut(&key)?;
        if *last_chunk == chunk {
            return None;
        }
        *last_chunk = chunk;
        Some(value.clone())
    }
}

/// Texts of events (statements, paths, peers): there may be many distinct ones, so not all are remembered for ever.
/// A forgotten text gets a new key when it is used again; no key is ever given twice.
#[derive(Debug, Default)]
pub(super) struct Texts {
    keys: FxHashMap<Arc<str>, (u64, u32)>,
    last_key: u64,
}

impl Texts {
    const REMEMBERED: usize = 16_384;

    /// The key of a text, which is added to the pool of the chunk if it is not there yet.
    pub(super) fn use_in(&mut self, text: &str, chunk: u32, pool: &mut Pool) -> u64 {
        let key = match self.keys.get_mut(text) {
            Some((key, last_chunk)) if *last_chunk == chunk => return *key,
            Some((key, last_chunk)) => {
                *last_chunk = chunk;
                *key
            }
            None => {
                self.last_key += 1;
                self.keys.insert(Arc::from(text), (self.last_key, chunk));
                self.last_key
            }
        };
        pool.add(key, |fields| push_text(fields, text));
        key
    }

    /// Called between two chunks.
    pub(super) fn forget_if_many(&mut self) {
        if self.keys.len() > Self::REMEMBERED {
            self.keys.clear();
        }
    }
}
