//! Collects diagnostics while a file is read.

use std::ops::Range;
use std::sync::Arc;

use super::declaration::TableDeclaration;
use super::diagnostic::{Diagnostic, Severity};
use super::source_text::SourceText;
use super::table_reader::UnknownKey;
use crate::rules::patterns::pattern_error::PatternError;

/// The diagnostics of one file so far.
#[derive(Debug)]
pub struct Problems {
    pub(super) source: Arc<SourceText>,
    pub(super) found: Vec<Diagnostic>,
    pub(super) unknown: Vec<UnknownKey>,
}

impl Problems {
    /// Returns those of a file that has not been read yet: none.
    pub fn new(source: Arc<SourceText>) -> Problems {
        Problems { source, found: Vec::new(), unknown: Vec::new() }
    }

    /// Returns the text that is read.
    pub fn source(&self) -> Arc<SourceText> {
        Arc::clone(&self.source)
    }

    /// Returns all diagnostics, those of unknown keys included. `tables` are those of the file, for suggestions.
    pub(super) fn into_found(mut self, tables: &[TableDeclaration]) -> Vec<Diagnostic> {
        for unknown in std::mem::take(&mut self.unknown) {
            let (message, suggestion) = unknown.text(tables);
            self.error(unknown.span, message, suggestion);
        }
        self.found
    }

    /// Notes an error.
    pub fn error(&mut self, span: Range<usize>, message: impl Into<String>, suggestion: Option<String>) {
        let diagnostic = self.source.error(span, message.into());
        self.found.push(Diagnostic { suggestion, ..diagnostic });
    }

    /// Notes a warning.
    pub fn warning(&mut self, span: Range<usize>, message: impl Into<String>, suggestion: Option<String>) {
        let diagnostic = self.source.warning(span, message.into());
        self.found.push(Diagnostic { suggestion, ..diagnostic });
    }

    /// Notes what the file means where it may be right.
    pub fn note(&mut self, span: Range<usize>, message: impl Into<String>, suggestion: Option<String>) {
        let diagnostic = self.source.warning(span, message.into());
        self.found.push(Diagnostic { suggestion, severity: Severity::Note, ..diagnostic });
    }

    /// Reports a bad pattern, which is the string at `literal` in the file.
    pub fn pattern(&mut self, literal: Range<usize>, pattern: &str, error: PatternError) {
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
