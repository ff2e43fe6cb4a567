//! Names of files that the agent writes, with parts that differ from process to process.

use instrument_core::rules::patterns::pattern_error::PatternError;

/// A file name in which `%p`, `%t` and `%h` are replaced by the process id, the start time and the host name; `%%` is a percent sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePattern(String);

/// What differs from process to process.
#[derive(Clone, Copy, Debug)]
pub struct NameParts<'a> {
    /// Number of the process, for `%p`.
    pub pid: u32,
    /// When the agent was started, for `%t`.
    pub started: &'a str,
    /// Name of the machine or container, for `%h`.
    pub host: &'a str,
}

impl FilePattern {
    /// Reads a file name.
    ///
    /// # Errors
    /// When a percent sign is not followed by a known letter.
    pub fn parse(text: &str) -> Result<FilePattern, PatternError> {
        let mut rest = text.char_indices();
        while let Some((at, letter)) = rest.next() {
            if letter != '%' {
                continue;
            }
            match rest.next() {
                Some((_, 'p' | 't' | 'h' | '%')) => {}
                other => {
                    let end = other.map_or(text.len(), |(at, letter)| at + letter.len_utf8());
                    let unknown = text.get(at..end).unwrap_or("%");
                    let message = format!("unknown placeholder `{unknown}` in a file name");
                    let help = "use `%p` for the process id, `%t` for the start time, `%h` for the host name, `%%` for a percent sign";
                    return Err(PatternError::new(at..end, message).suggest(help));
                }
            }
        }
        Ok(FilePattern(text.to_owned()))
    }

    /// The file name of a process.
    pub fn name(&self, parts: &NameParts<'_>) -> String {
        let mut name = String::with_capacity(self.0.len() + 16);
        let mut rest = self.0.chars();
        while let Some(letter) = rest.next() {
            match (letter, if letter == '%' { rest.next() } else { None }) {
                (_, Some('p')) => name.push_str(&parts.pid.to_string()),
                (_, Some('t')) => name.push_str(parts.started),
                (_, Some('h')) => name.push_str(parts.host),
                (letter, _) => name.push(letter),
            }
        }
        name
    }

    /// The name as it is written in the configuration.
    pub fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_replaced() {
        let parts = NameParts { pid: 4711, started: "20261123T040000Z", host: "web-1" };
        let name = |text: &str| FilePattern::parse(text).unwrap().name(&parts);
        assert_eq!(name("trace.jfr"), "trace.jfr");
        assert_eq!(name("/var/log/%h/app-%p-%t.jfr"), "/var/log/web-1/app-4711-20261123T040000Z.jfr");
        assert_eq!(name("100%%-%%p-%p%p.jfr"), "100%-%p-47114711.jfr");
        assert_eq!(name("größe-%p"), "größe-4711");
    }

    #[test]
    fn unknown_placeholders_are_errors_at_their_place() {
        for (text, span) in [("trace-%d.jfr", 6..8), ("trace-%", 6..7), ("ü%ü", 2..5), ("%%%x", 2..4)] {
            let error = FilePattern::parse(text).unwrap_err();
            assert_eq!((error.span, error.suggestion.is_some()), (span, true), "{text}");
        }
    }
}
