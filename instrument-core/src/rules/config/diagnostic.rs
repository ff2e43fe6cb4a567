//! A problem in a configuration file, shown with its place and a way out.

use std::fmt;
use std::ops::Range;

use serde::Serialize;

/// Source lines longer than this are shown as a window around the caret.
const WIDEST_LINE: usize = 140;

/// Does the problem stop the configuration from being used?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The configuration cannot be used.
    Error,
    /// The configuration is usable but probably not what was meant.
    Warning,
    /// The configuration is usable; this is what it means.
    Note,
}

/// One problem with its place in the file. `Display` shows it as several lines of text without colour:
/// message, place, the source line with a caret below, and the suggestion if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Error, warning or note.
    pub severity: Severity,
    /// Name of the file as the user gave it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Bytes of the file that are meant.
    pub span: Range<usize>,
    /// The source line, without its line end.
    pub source_line: String,
    /// How many characters of the source line are underlined; at least 1.
    pub width: usize,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub suggestion: Option<String>,
}

impl Diagnostic {
    /// The same diagnostic with a suggestion.
    #[must_use]
    pub fn with_suggestion(mut self, suggestion: impl Into<String>) -> Diagnostic {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// True for errors.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The source line as it is shown, with the place and width of the caret in it.
    fn window(&self) -> (String, usize, usize) {
        let caret = self.column.saturating_sub(1);
        let length = self.source_line.chars().count();
        let start = if length <= WIDEST_LINE { 0 } else { caret.saturating_sub(WIDEST_LINE / 2) };
        let shown: String = self.source_line.chars().skip(start).take(WIDEST_LINE).map(printable).collect();
        let (before, after) =
            (if start > 0 { "..." } else { "" }, if start + WIDEST_LINE < length { "..." } else { "" });
        let width = self.width.min(WIDEST_LINE - (caret - start).min(WIDEST_LINE - 1));
        (format!("{before}{}{after}", shown.trim_end()), before.len() + caret - start, width)
    }
}

/// A tab would move the caret away from its character, a control character could do anything to a terminal.
fn printable(character: char) -> char {
    match character {
        '\t' => ' ',
        control if control.is_control() => '\u{FFFD}',
        plain => plain,
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        writeln!(f, "{severity}: {}", self.message)?;
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "{margin}--> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, "{margin} |")?;
        let (shown, caret, width) = self.window();
        writeln!(f, "{}", format!("{number} | {shown}").trim_end())?;
        write!(f, "{margin} | {}{}", " ".repeat(caret), "^".repeat(width))?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "\n{margin} = help: {suggestion}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::config::source_text::SourceText;

    #[test]
    fn caret_is_below_the_characters_meant() {
        let source = SourceText::new("c.toml", "\u{e9}\t= \"caf\u{e9} x\"\r\nnext");
        let shown = source.error(5..12, "bad".to_owned()).to_string();
        assert_eq!(shown, "error: bad\n --> c.toml:1:5\n  |\n1 | \u{e9} = \"caf\u{e9} x\"\n  |     ^^^^^^");
    }

    #[test]
    fn a_span_over_several_lines_ends_with_the_first() {
        let source = SourceText::new("c.toml", "a = [\n1,\n]\n");
        let diagnostic = source.error(4..10, "bad".to_owned());
        assert_eq!((diagnostic.line, diagnostic.column, diagnostic.width), (1, 5, 1));
    }

    #[test]
    fn the_end_of_the_file_has_a_caret_too() {
        let source = SourceText::new("c.toml", "a = ");
        assert!(source.error(4..4, "bad".to_owned()).to_string().ends_with("1 | a =\n  |     ^"));
        let beyond = SourceText::new("c.toml", "").error(7..99, "bad".to_owned());
        assert_eq!((beyond.line, beyond.column, beyond.width), (1, 1, 1));
    }

    #[test]
    fn long_lines_are_cut_around_the_caret() {
        let text = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let shown = SourceText::new("c.toml", &text).error(500..501, "bad".to_owned()).to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[4].find('^').unwrap();
        assert_eq!(lines[3].as_bytes()[caret], b'X', "{shown}");
        assert!(lines[3].len() < 200);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let shown = SourceText::new("c.toml", "a = \"\u{1b}[31m\"").error(0..1, "bad".to_owned()).to_string();
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}
