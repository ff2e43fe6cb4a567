//! Text for the lines of a terminal: harmless, of a known width, in colour if wanted.

use crate::INSIDE;

/// Text without control characters (they could move the cursor or change colours), with blanks run together.
pub(super) fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !clean.is_empty() {
            clean.push(' ');
        }
        // Characters that change the direction of writing are control characters in all but name.
        let is_harmless = |c: &char| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        clean.extend(word.chars().map(|c| if is_harmless(&c) { c } else { '\u{fffd}' }));
    }
    clean
}

/// Width in columns; wide characters of East Asia are taken for single ones.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The beginning of a text that is too long.
pub(super) fn cut_end(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

/// A text on lines of at most so many columns, broken between words; longer words are cut.
pub(super) fn wrapped(text: &str, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut().filter(|line| width(line) + 1 + width(word) <= limit) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(cut_end(word, limit)),
        }
    }
    lines
}

/// Columns that a name keeps beside its mark.
const LEAST_OF_MARKED_NAME: usize = 16;

/// A method name that fits: packages are abbreviated from the left (`c.a.web.Handler.handle`), then the start is cut. The mark of a
/// name (`handle [first 1.0 s]`) becomes `[…]` before it takes the room of the name.
pub(super) fn shorten_name(name: &str, limit: usize) -> String {
    if width(name) <= limit {
        return name.to_owned();
    }
    let Some((method, mark)) = name.rsplit_once(" [").filter(|_| name.ends_with(']')) else {
        return shorten_unmarked_name(name, limit);
    };
    let whole = format!(" [{mark}");
    let mark = if width(&whole) + LEAST_OF_MARKED_NAME <= limit { whole.as_str() } else { " […]" };
    shorten_unmarked_name(method, limit.saturating_sub(width(mark)).max(1)) + mark
}

/// The same without a mark. Of a context as much is left as fits beside the method: all of it, its last method, or that there is one.
fn shorten_unmarked_name(name: &str, limit: usize) -> String {
    let Some((method, context)) = name.split_once(INSIDE) else { return shorten_method(name, limit) };
    let mut last = context.rsplit('.').take(2).collect::<Vec<_>>();
    last.reverse();
    let suffixes = [format!("{INSIDE}{context}"), format!("{INSIDE}…{}", last.join(".")), format!("{INSIDE}…")];
    let fits = |suffix: &&String| width(suffix) + LEAST_OF_MARKED_NAME <= limit;
    let suffix = suffixes.iter().find(fits).map_or("…", String::as_str);
    shorten_method(method, limit.saturating_sub(width(suffix)).max(1)) + suffix
}

fn shorten_method(name: &str, limit: usize) -> String {
    let mut parts: Vec<&str> = name.split('.').collect();
    let mut length = width(name);
    let packages = parts.len().saturating_sub(2);
    for part in parts.iter_mut().take(packages) {
        if length <= limit {
            break;
        }
        let initial = part.chars().next().map_or(0, char::len_utf8);
        let short = part.get(..initial).unwrap_or(part);
        length -= width(part) - width(short);
        *part = short;
    }
    let name = parts.join(".");
    if length <= limit {
        return name;
    }
    let kept: Vec<char> = name.chars().skip(length + 1 - limit.max(1)).collect();
    ['…'].into_iter().chain(kept).collect()
}

/// Colours of a terminal, or none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) colours: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colours && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn title(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn warning(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// A share of the whole, the larger the more striking.
    pub(super) fn share(self, percent: f64, text: &str) -> String {
        match percent {
            20.0.. => self.paint("31", text),
            5.0.. => self.paint("33", text),
            _ => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(printable("a\x1b[31mb\u{9b}\u{202e}c"), "a\u{fffd}[31mb\u{fffd}\u{fffd}c");
        assert_eq!(printable("  select *\n\t from t  "), "select * from t");
    }

    #[test]
    fn sentences_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("one  immeasurable word", 6), ["one", "immea…", "word"]);
        assert!(wrapped(" ", 8).is_empty());
    }

    #[test]
    fn names_are_shortened_from_the_left_and_keep_class_and_method() {
        let name = "com.acme.web.Handler.handle";
        assert_eq!(shorten_name(name, 40), name);
        assert_eq!(shorten_name(name, 26), "c.acme.web.Handler.handle");
        assert_eq!(shorten_name(name, 20), "c.a.w.Handler.handle");
        assert_eq!(shorten_name(name, 10), "…er.handle");
        assert_eq!(shorten_name("ünamed.ärger.Klasse.größe", 18), "ü.ä.Klasse.größe");
        let marked = "com.acme.web.Handler.handle [first 1.0 s]";
        let inside = "com.acme.dao.Dao.find inside com.acme.web.Shop.order > com.acme.web.Cart.total";
        let short: Vec<String> = [80, 50, 40, 30, 12].map(|limit| shorten_name(inside, limit)).into();
        assert_eq!(
            short,
            [
                inside,
                "com.acme.dao.Dao.find inside …Cart.total",
                "com.acme.dao.Dao.find inside …Cart.total",
                "com.acme.dao.Dao.find inside …",
                "…d.Dao.find…"
            ]
        );
        assert_eq!(shorten_name(marked, 41), marked);
        assert_eq!(shorten_name(marked, 35), "c.a.w.Handler.handle [first 1.0 s]");
        assert_eq!(shorten_name(marked, 28), "c.a.web.Handler.handle […]");
        assert_eq!(shorten_name(marked, 16), "…dler.handle […]");
        for limit in 6..40 {
            assert!(width(&shorten_name(marked, limit)) <= limit);
        }
        for limit in 1..30 {
            assert!(width(&shorten_name(name, limit)) <= limit);
            assert!(width(&cut_end(name, limit)) <= limit);
        }
    }
}
