//! Collects diagnostics while a file is read.

use std::ops::Range;
use std::sync::Arc;

use super::diagnostic::Diagnostic;
use super::source_text::SourceText;
use crate::rules::patterns::pattern_error::PatternError;

/// The diagnostics of one file so far.
#[derive(Debug)]
pub(super) struct Problems {
    pub(super) source: Arc<SourceText>,
    pub(super) found: Vec<Diagnostic>,
}

impl Problems {
    pub(super) fn new(source: Arc<SourceText>) -> Problems {
        Problems { source, found: Vec::new() }
    }

    pub(super) fn error(&mut self, span: Range<usize>, message: impl Into<String>, suggestion: Option<String>) {
        let diagnostic = self.source.error(span, message.into());
        self.found.push(Diagnostic { suggestion, ..diagnostic });
    }

    pub(super) fn warning(&mut self, span: Range<usize>, message: impl Into<String>, suggestion: Option<String>) {
        let diagnostic = self.source.warning(span, message.into());
        self.found.push(Diagnostic { suggestion, ..diagnostic });
    }

    /// A bad pattern that stands in the file as the string at `literal`.
    pub(super) fn pattern(&mut self, literal: Range<usize>, pattern: &str, error: PatternError) {
        let span = self.inside(literal, pattern, error.span);
        self.error(span, error.message, error.suggestion);
    }

    /// The bytes of the file for a part of a string's value; the whole string where escapes make that unclear.
    fn inside(&self, literal: Range<usize>, value: &str, part: Range<usize>) -> Range<usize> {
        let content = literal.start + 1..literal.end.saturating_sub(1);
        match self.source.text().get(content.clone()) {
            Some(text) if text == value => content.start + part.start..content.start + part.end,
            _ => literal,
        }
    }
}
