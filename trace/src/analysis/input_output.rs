//! Which methods do input and output: their statements, requests and socket transfers.

use rustc_hash::FxHashMap;

use crate::reader::{Chunk, Event};

/// What a method has done. Times in nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputOutputRow {
    /// Class and method: `com.acme.Store.query`.
    pub method: String,
    /// Statements of databases.
    pub statements: u64,
    /// HTTP requests handled.
    pub requests: u64,
    /// Transfers over sockets.
    pub transfers: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Time of all of them.
    pub total: u64,
}

impl InputOutputRow {
    /// Adds the figures of another row.
    pub(crate) fn add(&mut self, other: &InputOutputRow) {
        self.statements += other.statements;
        self.requests += other.requests;
        self.transfers += other.transfers;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.total = self.total.saturating_add(other.total);
    }
}

/// The rows under construction.
#[derive(Debug, Default)]
pub(super) struct InputOutput {
    rows: FxHashMap<String, InputOutputRow>,
    /// Names of the methods of the chunk that is read.
    names: FxHashMap<u64, String>,
}

impl InputOutput {
    /// Keys of methods mean something else from now on.
    pub(super) fn next_chunk(&mut self) {
        self.names.clear();
    }

    pub(super) fn see(&mut self, chunk: &Chunk, event: &Event<'_>) {
        let (call, statements, requests, transfers, bytes) = match event {
            Event::Statement { call, .. } => (call, 1, 0, 0, 0),
            Event::HttpRequest { call, .. } => (call, 0, 1, 0, 0),
            Event::SocketTransfer { call, bytes, .. } => (call, 0, 0, 1, *bytes),
            _ => return,
        };
        let name = self.names.entry(call.method).or_insert_with(|| {
            let method = chunk.method(call.method);
            method.map_or("?".to_owned(), |method| format!("{}.{}", method.class.replace('/', "."), method.name))
        });
        if !self.rows.contains_key(name) {
            self.rows.insert(name.clone(), InputOutputRow { method: name.clone(), ..InputOutputRow::default() });
        }
        let Some(row) = self.rows.get_mut(name) else { return };
        row.statements += statements;
        row.requests += requests;
        row.transfers += transfers;
        row.bytes = row.bytes.saturating_add(bytes);
        row.total = row.total.saturating_add(call.duration);
    }

    /// All rows, the one with the most time first.
    pub(super) fn finish(self) -> Vec<InputOutputRow> {
        let mut rows: Vec<_> = self.rows.into_values().collect();
        rows.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.method.cmp(&b.method)));
        rows
    }
}
