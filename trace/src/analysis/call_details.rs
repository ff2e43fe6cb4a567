//! Requests, statements and transfers as details of the calls that they were recorded with.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::pending::Pending;
use super::{Frame, FrameId};
use crate::reader::{Chunk, Event};

/// What a call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallDetail {
    /// It executed a statement of a database (`instr.Statement`).
    Statement(Arc<str>),
    /// It handled an HTTP request (`instr.HttpRequest`).
    Request {
        /// GET, POST, ...
        http_method: Arc<str>,
        /// Path of the URL.
        path: Arc<str>,
        /// The pattern by which the framework knows the path; empty if it knows none.
        route: Arc<str>,
        /// Status of the answer.
        status: u32,
    },
    /// It moved bytes over a socket (`instr.SocketTransfer`).
    Transfer {
        /// Address of the other side.
        peer: Arc<str>,
        /// Number of bytes.
        bytes: u64,
    },
}

/// Details whose calls have not been read yet.
#[derive(Debug, Default)]
pub(super) struct PendingDetails {
    pending: Pending<CallDetail>,
    /// Texts of the chunk: thousands of calls may execute the same long statement.
    texts: FxHashSet<Arc<str>>,
}

impl PendingDetails {
    /// Forgets the texts of a chunk, except those of calls that are in an earlier one.
    pub(super) fn next_chunk(&mut self) {
        self.texts.clear();
    }

    /// Notes the detail that an event has, in the order of the file.
    pub(super) fn see(&mut self, chunk: &Chunk, event: &Event<'_>) {
        let (call, detail) = match event {
            Event::Statement { call, statement } => (call, CallDetail::Statement(self.text(statement))),
            Event::HttpRequest { call, http_method, path, route, status } => {
                let [http_method, path, route] = [http_method, path, route].map(|text| self.text(text));
                let status = u32::try_from(*status).unwrap_or(0);
                (call, CallDetail::Request { http_method, path, route, status })
            }
            Event::SocketTransfer { call, peer, bytes } => {
                (call, CallDetail::Transfer { peer: self.text(peer), bytes: *bytes })
            }
            _ => return,
        };
        self.pending.add(chunk, call, detail);
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let text: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&text));
        text
    }

    /// Returns the detail of a call, see [`Pending::take`].
    #[inline]
    pub(super) fn take(&mut self, times: (u64, u64, u64), id: FrameId, frame: &Frame) -> Option<CallDetail> {
        self.pending.take(times, id, frame)
    }
}
