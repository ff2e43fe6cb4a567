//! The text of values that were recorded with a call: `orderId=42, name="Jo", items=java.util.ArrayList@1b6d3586`.
//!
//! Names hold no `=`. Texts are quoted, with backslashes as in JSON; what has no quotes holds no `, `. A value that was cut
//! ends with `…`.

use std::iter;

/// Names and values, texts without their quotes. Of a damaged text, only the part that can be parsed.
///
/// ```
/// let pairs: Vec<_> = trace::arguments::pairs(r#"id=42, name="a, \"b\""…"#).collect();
/// assert_eq!(pairs, [("id", "42".to_owned()), ("name", "a, \"b\"…".to_owned())]);
/// ```
pub fn pairs(text: &str) -> impl Iterator<Item = (&str, String)> {
    let mut rest = text;
    iter::from_fn(move || {
        let (name, after) = rest.split_once('=')?;
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let end = after.find(", ").unwrap_or(after.len());
                let (value, after) = after.split_at_checked(end)?;
                (value.to_owned(), after)
            }
        };
        rest = after.strip_prefix(", ").unwrap_or(after);
        Some((name, value))
    })
}

/// A text up to the quote that ends it, with what marks it as cut; and the rest.
fn unquoted(quoted: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('n') => value.push('\n'),
                Some('r') => value.push('\r'),
                Some('t') => value.push('\t'),
                Some('u') => {
                    let digits: String = letters.by_ref().take(4).collect();
                    let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                    value.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                other => value.extend(other),
            },
            letter => value.push(letter),
        }
    }
    let rest = letters.as_str();
    match rest.strip_prefix('…') {
        Some(after) => {
            value.push('…');
            (value, after)
        }
        None => (value, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::pairs;

    fn shown(text: &str) -> String {
        pairs(text).map(|(name, value)| format!("[{name}|{value}]")).collect()
    }

    #[test]
    fn every_form_of_a_value_is_distinguished() {
        assert_eq!(shown(""), "");
        assert_eq!(shown("a=1, b=null, c=com.acme.Order@1f"), "[a|1][b|null][c|com.acme.Order@1f]");
        assert_eq!(shown(r#"a="", b="x=1, y=\"2\"\\", c=-1.5"#), r#"[a|][b|x=1, y="2"\][c|-1.5]"#);
        assert_eq!(shown("a=\"\\n\\u001f\\t\"…, b=A…"), "[a|\n\u{1f}\t…][b|A…]");
        assert_eq!(shown("a=int[3]@1f, throw=java.lang.Error"), "[a|int[3]@1f][throw|java.lang.Error]");
    }

    #[test]
    fn what_was_cut_or_damaged_ends_without_panic() {
        assert_eq!(shown("a=\"abc"), "[a|abc]");
        assert_eq!(shown("a=\"abc\\"), "[a|abc]");
        assert_eq!(shown("a=\"\\ud800\\u12"), "[a|\u{fffd}\u{12}]");
        assert_eq!(shown("a=1, …"), "[a|1]");
        assert_eq!(shown("nothing"), "");
        assert_eq!(shown("a=\"1\"b=2"), "[a|1][b|2]");
    }
}
