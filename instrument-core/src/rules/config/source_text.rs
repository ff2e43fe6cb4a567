//! The text of a configuration file, and places in it.

use std::ops::Range;

use super::diagnostic::{Diagnostic, Severity};

/// A configuration file: name, text and where its lines begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceText {
    file: String,
    text: String,
    line_starts: Vec<usize>,
}

impl SourceText {
    /// `file` is only shown, never opened.
    pub fn new(file: &str, text: &str) -> SourceText {
        let behind_line_ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let line_starts = std::iter::once(0).chain(behind_line_ends).collect();
        SourceText { file: file.to_owned(), text: text.to_owned(), line_starts }
    }

    /// Name of the file as the user gave it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the number of the line that contains the byte `offset`, from 1.
    pub fn line_at(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset.min(self.text.len())).max(1)
    }

    /// An error at these bytes.
    pub fn error(&self, span: Range<usize>, message: String) -> Diagnostic {
        self.diagnostic(Severity::Error, span, message)
    }

    /// A warning at these bytes.
    pub fn warning(&self, span: Range<usize>, message: String) -> Diagnostic {
        self.diagnostic(Severity::Warning, span, message)
    }

    fn diagnostic(&self, severity: Severity, span: Range<usize>, message: String) -> Diagnostic {
        let start = span.start.min(self.text.len());
        let line = self.line_at(start);
        let line_start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let source_line = self.text.get(line_start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let line_end = line_start + source_line.len();
        let characters = |range: Range<usize>| self.text.get(range).map_or(0, |text| text.chars().count());
        let column = characters(line_start..start.min(line_end)) + 1;
        let width = characters(start..span.end.clamp(start, line_end.max(start))).max(1);
        Diagnostic {
            severity,
            file: self.file.clone(),
            line,
            column,
            span,
            source_line: source_line.to_owned(),
            width,
            message,
            suggestion: None,
        }
    }
}
