//! Which trace a call belongs to that another process knows: the headers that requests brought along or took with them.

use records::{RequestFields, SentRequestFields, TraceContext};

use crate::span_links::SpanPlace;
use crate::spans::SpanNode;

/// What a call knows of its trace, from the header of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownTrace {
    /// The context that the answered request carried, or that of the trace which it began.
    Answered(TraceContext),
    /// The request that is sent took this context along.
    Sent(TraceContext),
}

/// The place of a span among those of all processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    /// Its trace.
    pub(super) trace: [u64; 2],
    /// Its number, if another process knows it.
    pub(super) span: Option<u64>,
    /// The span that caused it; 0 for none.
    pub(super) parent: u64,
    /// The span around it on its thread, if that belongs to another trace.
    pub(super) around: Option<SpanPlace>,
}

impl KnownTrace {
    /// Returns what a call itself knows.
    pub(super) fn of(node: &SpanNode) -> Option<KnownTrace> {
        let detail = node.detail.as_ref()?;
        match detail.kind {
            b'H' => RequestFields::of(&detail.text, detail.number).context.map(KnownTrace::Answered),
            b'C' => SentRequestFields::of(&detail.text, detail.number).context.map(KnownTrace::Sent),
            _ => None,
        }
    }

    /// Returns what an outermost call or the first of those within it knows: all of them are of this trace, unless they know better.
    pub(super) fn of_tree(root: &SpanNode) -> Option<KnownTrace> {
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            if let Some(known) = KnownTrace::of(node) {
                return Some(known);
            }
            open.extend(node.children.iter().rev());
        }
        None
    }

    /// Returns the trace.
    pub(super) fn trace(self) -> [u64; 2] {
        match self {
            KnownTrace::Answered(context) | KnownTrace::Sent(context) => context.trace,
        }
    }

    /// Returns the span of another process that caused an outermost call; 0 for none.
    pub(super) fn cause(self) -> u64 {
        match self {
            KnownTrace::Answered(context) => context.span,
            KnownTrace::Sent(_) => 0,
        }
    }
}

impl Position {
    /// Returns the position of a call below `above`, which has no span (0) for an outermost call.
    pub(super) fn of(node: &SpanNode, above: SpanPlace) -> Position {
        let known = KnownTrace::of(node);
        let span = match known {
            Some(KnownTrace::Sent(context)) => Some(context.span),
            _ => None,
        };
        match known.filter(|known| known.trace() != above.trace) {
            None => Position { trace: above.trace, span, parent: above.span, around: None },
            Some(known) => {
                let around = (above.span != 0).then_some(above);
                Position { trace: known.trace(), span, parent: known.cause(), around }
            }
        }
    }
}
