//! Globs over names: `*` inside a package, `**` across packages.

use super::pattern_error::PatternError;
use crate::internal_name::to_internal;

/// A compiled glob. Class globs are written with dots and match internal names (with slashes, in modified UTF-8).
///
/// * `*` is any text without a package separator, also none;
/// * `**` as a whole segment is any number of packages, also none: `com.**.Foo` matches `com.Foo` and `com.a.b.Foo`;
/// * `**` at the end or inside a segment is any text: `com.acme.**` is every class in and below `com.acme`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameGlob {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(Box<[u8]>),
    /// Any text without `/`.
    Inside,
    /// Any text.
    Across,
    /// Any number of whole packages with their `/`.
    Packages,
}

impl NameGlob {
    /// Reads a glob over class names.
    pub fn class(text: &str) -> Result<NameGlob, PatternError> {
        check_segments(text)?;
        check_characters(text)?;
        Ok(NameGlob { text: text.to_owned(), parts: class_parts(text) })
    }

    /// Reads a glob over methods, `package.Class.method`. Names of methods may hold more than those of classes: `<init>`, blanks.
    pub fn method(text: &str) -> Result<NameGlob, PatternError> {
        check_segments(text)?;
        let (class, name) = text.rsplit_once(['.', '/']).unwrap_or((text, ""));
        check_characters(class)?;
        let illegal = |character: char| character.is_control() || ";[](),?!#".contains(character);
        if let Some((at, character)) = name.char_indices().find(|(_, character)| illegal(*character)) {
            let at = class.len() + 1 + at;
            let error = PatternError::new(
                at..at + character.len_utf8(),
                format!("`{}` cannot stand here", character.escape_default()),
            );
            return Err(error.suggest("write `package.Class.method`, without parameters"));
        }
        Ok(NameGlob { text: text.to_owned(), parts: class_parts(text) })
    }

    /// Reads a glob over simple class names of any package.
    pub(super) fn simple_class(text: &str) -> Result<NameGlob, PatternError> {
        let mut glob = NameGlob::class(text)?;
        glob.parts.insert(0, Part::Packages);
        Ok(glob)
    }

    /// Reads a glob over method names; the caller has checked the characters.
    pub(super) fn member(text: &str) -> NameGlob {
        let mut parts = Vec::new();
        push_segment(&mut parts, text);
        NameGlob { text: text.to_owned(), parts }
    }

    /// Reads a glob over texts without inner order, names of threads for instance: each `*` is any text.
    pub(super) fn of_text(text: &str) -> NameGlob {
        let mut parts = Vec::new();
        for (index, literal) in text.split('*').enumerate() {
            if index > 0 && parts.last() != Some(&Part::Across) {
                parts.push(Part::Across);
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.as_bytes().into()));
            }
        }
        NameGlob { text: text.to_owned(), parts }
    }

    /// The glob as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name, if the glob matches just one.
    pub fn exact(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [Part::Literal(name)] => Some(name),
            _ => None,
        }
    }

    /// True if it matches every name.
    pub fn is_everything(&self) -> bool {
        matches!(self.parts.as_slice(), [Part::Across] | [Part::Packages, Part::Inside])
    }

    /// What every matching name begins with.
    pub fn literal_prefix(&self) -> &[u8] {
        match self.parts.first() {
            Some(Part::Literal(prefix)) => prefix,
            _ => &[],
        }
    }

    /// Does the glob match the whole name?
    ///
    /// Only the last `*` and the last `**` are ever widened: whatever an earlier one could reach by widening, the later
    /// ones reach too, so this is exact and at worst quadratic.
    pub fn matches(&self, name: &[u8]) -> bool {
        let (mut part, mut at) = (0, 0);
        let mut inside: Option<Retry> = None;
        let mut across: Option<Retry> = None;
        loop {
            let rest = name.get(at..).unwrap_or_default();
            match self.parts.get(part) {
                Some(Part::Literal(text)) if rest.starts_with(text) => (part, at) = (part + 1, at + text.len()),
                Some(Part::Inside) => {
                    part += 1;
                    inside = Some(Retry { part, at, packages: false });
                }
                Some(Part::Across) if part + 1 == self.parts.len() => return true,
                Some(wide @ (Part::Across | Part::Packages)) => {
                    part += 1;
                    across = Some(Retry { part, at, packages: *wide == Part::Packages });
                    inside = None;
                }
                None if rest.is_empty() => return true,
                Some(Part::Literal(_)) | None => {
                    let next = inside.take().and_then(|retry| retry.inside(name));
                    if next.is_some() {
                        inside = next;
                    } else {
                        across = across.take().and_then(|retry| retry.across(name));
                    }
                    let Some(retry) = inside.or(across) else { return false };
                    (part, at) = (retry.part, retry.at);
                }
            }
        }
    }
}

/// Where matching goes on after a wildcard.
#[derive(Clone, Copy)]
struct Retry {
    part: usize,
    at: usize,
    packages: bool,
}

impl Retry {
    fn inside(self, name: &[u8]) -> Option<Retry> {
        match name.get(self.at) {
            None | Some(b'/') => None,
            Some(_) => Some(Retry { at: self.at + 1, ..self }),
        }
    }

    fn across(self, name: &[u8]) -> Option<Retry> {
        let rest = name.get(self.at..)?;
        let step = if self.packages { rest.iter().position(|byte| *byte == b'/')? } else { 0 };
        if rest.is_empty() { None } else { Some(Retry { at: self.at + step + 1, ..self }) }
    }
}

fn class_parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let segments: Vec<&str> = text.split(['.', '/']).collect();
    for (number, segment) in segments.iter().enumerate() {
        let last = number + 1 == segments.len();
        if *segment == "**" {
            parts.push(if last { Part::Across } else { Part::Packages });
            continue;
        }
        push_segment(&mut parts, segment);
        if !last {
            push_literal(&mut parts, b"/");
        }
    }
    parts
}

fn push_segment(parts: &mut Vec<Part>, segment: &str) {
    let mut rest = segment;
    while let Some(star) = rest.find('*') {
        let (literal, wildcard) = rest.split_at(star);
        push_literal(parts, &to_internal(literal));
        let across = wildcard.starts_with("**");
        parts.push(if across { Part::Across } else { Part::Inside });
        rest = wildcard.get(if across { 2 } else { 1 }..).unwrap_or_default();
    }
    push_literal(parts, &to_internal(rest));
}

fn push_literal(parts: &mut Vec<Part>, text: &[u8]) {
    if text.is_empty() {
        return;
    }
    if let Some(Part::Literal(before)) = parts.last_mut() {
        *before = [before.as_ref(), text].concat().into();
    } else {
        parts.push(Part::Literal(text.into()));
    }
}

fn check_segments(text: &str) -> Result<(), PatternError> {
    if text.is_empty() {
        return Err(PatternError::new(0..0, "the pattern is empty").suggest("`**` matches every class"));
    }
    if let Some(at) = text.find("***") {
        return Err(PatternError::new(at..at + 3, "`***` is no wildcard").suggest("`**` crosses packages"));
    }
    let mut start = 0;
    for segment in text.split(['.', '/']) {
        if segment.is_empty() {
            let whole_name = text.trim_end_matches(['.', '/']);
            let error = PatternError::new(
                start.min(text.len() - 1)..(start + 1).min(text.len()),
                "a part of the name is missing here",
            );
            let dangling = start == text.len() && !whole_name.is_empty();
            return Err(if dangling { error.suggest(format!("for a package write `{whole_name}.**`")) } else { error });
        }
        start += segment.len() + 1;
    }
    Ok(())
}

fn check_characters(text: &str) -> Result<(), PatternError> {
    let illegal = |character: char| {
        character.is_whitespace() || character.is_control() || ";[](){}<>,?!#:\\\"'".contains(character)
    };
    let Some((at, character)) = text.char_indices().find(|(_, character)| illegal(*character)) else {
        return Ok(());
    };
    let span = at..at + character.len_utf8();
    let error = PatternError::new(span, format!("`{}` cannot stand in a class name", character.escape_default()));
    Err(match character {
        '?' | '{' | '}' => error.suggest("the wildcards are `*` inside a package and `**` across packages"),
        '!' => error.suggest("`!` is allowed only at the beginning of a pattern"),
        '[' | ']' => error.suggest("an array has no class of its own"),
        '#' | '(' | ')' => error.suggest("methods are chosen with the key `method`"),
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, name: &str) -> bool {
        NameGlob::class(glob).unwrap_or_else(|error| panic!("{glob}: {error:?}")).matches(name.as_bytes())
    }

    #[test]
    fn one_star_stays_inside_its_package() {
        assert!(matches("com.acme.*", "com/acme/Shop"));
        assert!(matches("com.acme.*", "com/acme/Shop$Cart"));
        assert!(!matches("com.acme.*", "com/acme/web/Page"));
        assert!(!matches("com.acme.*", "com/acmex/Shop"));
        assert!(matches("com.*.Shop", "com/acme/Shop"));
        assert!(!matches("com.*.Shop", "com/acme/web/Shop"));
        assert!(matches("*", "Main"));
        assert!(!matches("*", "com/acme/Main"));
        assert!(matches("com.acme.*Service*", "com/acme/UserServiceImpl"));
        assert!(matches("com.acme.*a*b*a", "com/acme/xaybbza"));
    }

    #[test]
    fn two_stars_cross_packages() {
        assert!(matches("com.acme.**", "com/acme/Shop"));
        assert!(matches("com.acme.**", "com/acme/a/b/C"));
        assert!(!matches("com.acme.**", "com/acmex/Shop"));
        assert!(matches("**", "Main"));
        assert!(matches("**", "a/b/C"));
        assert!(matches("**.Shop", "Shop"));
        assert!(matches("**.Shop", "a/b/Shop"));
        assert!(!matches("**.Shop", "a/b/BookShop"));
        assert!(matches("**Shop", "a/b/BookShop"));
        assert!(matches("com.**.Shop", "com/Shop"));
        assert!(matches("com.**.Shop", "com/a/b/Shop"));
        assert!(matches("com.**.web.*", "com/web/x/web/Page"));
        assert!(!matches("com.**.web.*", "com/web/x/Page"));
        assert!(matches("com.a**b.C", "com/ax/y/zb/C"));
    }

    #[test]
    fn exact_names_and_slashes() {
        assert!(matches("com.acme.Shop", "com/acme/Shop"));
        assert!(!matches("com.acme.Shop", "com/acme/Shop$Cart"));
        assert!(matches("com/acme/Shop$Cart", "com/acme/Shop$Cart"));
        assert_eq!(NameGlob::class("a.B").unwrap().exact(), Some(&b"a/B"[..]));
        assert_eq!(NameGlob::class("a.*").unwrap().exact(), None);
        assert_eq!(NameGlob::class("a.b*").unwrap().literal_prefix(), b"a/b");
        assert_eq!(NameGlob::class("**.B").unwrap().literal_prefix(), b"");
    }

    #[test]
    fn names_are_modified_utf_8() {
        assert!(matches("caf\u{e9}.*", "caf\u{e9}/Th\u{e9}"));
        let smile = NameGlob::class("a.\u{1F600}*").unwrap();
        assert!(smile.matches(b"a/\xED\xA0\xBD\xED\xB8\x80x"));
        assert!(!smile.matches("a/\u{1F600}x".as_bytes()), "plain UTF-8 of that character is no legal class name");
        assert!(matches("a.*", "a/\u{0}") && NameGlob::class("a.*").unwrap().matches(b"a/\xC0\x80\xFF"));
    }

    #[test]
    fn methods_may_have_names_that_no_class_has() {
        let matches = |glob: &str, name: &str| NameGlob::method(glob).unwrap().matches(name.as_bytes());
        assert!(matches("com.acme.Shop.<init>", "com/acme/Shop/<init>"));
        assert!(matches("**.should buy *", "com/acme/ShopTest/should buy two"));
        assert!(matches("com.acme.**", "com/acme/Shop/<clinit>") && !matches("com.acme.Shop", "com/acme/Shop/buy"));
        for (glob, span) in [("a.B.c(int)", 5..6), ("a.B#c", 3..4), ("a.<B>.c", 2..3), ("<init>", 0..1), ("a..c", 2..3)]
        {
            assert_eq!(NameGlob::method(glob).expect_err(glob).span, span, "{glob}");
        }
    }

    #[test]
    fn everything_is_recognised() {
        for all in ["**", "**.*"] {
            assert!(NameGlob::class(all).unwrap().is_everything(), "{all}");
        }
        assert!(!NameGlob::class("*").unwrap().is_everything());
    }

    #[test]
    fn bad_globs_say_where() {
        for (glob, span, part) in [
            ("", 0..0, "empty"),
            ("com..acme", 4..5, "missing"),
            (".com", 0..1, "missing"),
            ("com.acme.", 8..9, "missing"),
            ("com.***", 4..7, "`***`"),
            ("com.a?me", 5..6, "`?`"),
            ("com.Foo#bar", 7..8, "`#`"),
            ("com.Foo[]", 7..8, "`[`"),
            ("com. Foo", 4..5, "` `"),
            ("!", 0..1, "`!`"),
        ] {
            let error = NameGlob::class(glob).expect_err(glob);
            assert_eq!(error.span, span, "{glob}");
            assert!(error.message.contains(part), "{glob}: {}", error.message);
        }
    }

    /// The definition of the wildcards, tried in every way.
    fn by_definition(parts: &[Part], name: &[u8]) -> bool {
        let Some((part, rest)) = parts.split_first() else { return name.is_empty() };
        (0..=name.len()).any(|length| {
            let (taken, left) = name.split_at(length);
            let fits = match part {
                Part::Literal(text) => taken == text.as_ref(),
                Part::Inside => !taken.contains(&b'/'),
                Part::Across => true,
                Part::Packages => taken.is_empty() || taken.ends_with(b"/"),
            };
            fits && by_definition(rest, left)
        })
    }

    #[test]
    fn agrees_with_the_definition_on_random_globs() {
        let mut state = 7u64;
        let mut random = move |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut hits = 0;
        for _ in 0..60_000 {
            let glob: String =
                (0..1 + random(7)).map(|_| ["a", "b", ".", "*", "**", "ab", ".**."][random(7) as usize]).collect();
            let name: Vec<u8> = (0..random(9)).map(|_| b"ab/"[random(3) as usize]).collect();
            let Ok(glob) = NameGlob::class(&glob) else { continue };
            let expected = by_definition(&glob.parts, &name);
            assert_eq!(glob.matches(&name), expected, "{glob:?} on {}", String::from_utf8_lossy(&name));
            hits += usize::from(expected);
        }
        assert!(hits > 1_000, "the test must try matching names too: {hits}");
    }
}
