//! Why a pattern is not one.

use std::ops::Range;

/// A bad pattern: where in its text, what, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// Bytes of the pattern's text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub suggestion: Option<String>,
}

impl PatternError {
    /// An error without suggestion.
    pub fn new(span: Range<usize>, message: impl Into<String>) -> PatternError {
        PatternError { span, message: message.into(), suggestion: None }
    }

    /// The same error with a suggestion.
    #[must_use]
    pub fn suggest(mut self, suggestion: impl Into<String>) -> PatternError {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// The same error for a text in which this pattern begins at `offset`.
    #[must_use]
    pub fn shifted(mut self, offset: usize) -> PatternError {
        self.span = self.span.start + offset..self.span.end + offset;
        self
    }
}
