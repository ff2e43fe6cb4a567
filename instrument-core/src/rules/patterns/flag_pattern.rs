//! One entry of a rule's `flags`.

use classfile::access;

use super::pattern_error::PatternError;
use crate::rules::nearest_name::{nearest_name, quoted_list};

/// The words for the flags of methods with bytecode.
const WORDS: [(&str, u16); 10] = [
    ("public", access::PUBLIC),
    ("protected", access::PROTECTED),
    ("private", access::PRIVATE),
    ("static", access::STATIC),
    ("final", access::FINAL),
    ("synchronized", access::SYNCHRONIZED),
    ("bridge", access::BRIDGE),
    ("varargs", access::VARARGS),
    ("strictfp", access::STRICT),
    ("synthetic", access::SYNTHETIC),
];

/// A flag that a method must have, or with `!` in front must not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagPattern {
    /// True for `!flag`.
    pub negated: bool,
    /// The bit in the class file.
    pub bit: u16,
    word: &'static str,
}

impl FlagPattern {
    /// Reads e.g. `public` or `!static`.
    pub fn parse(text: &str) -> Result<FlagPattern, PatternError> {
        let (negated, wanted) = text.strip_prefix('!').map_or((false, text), |flag| (true, flag));
        if let Some((word, bit)) = WORDS.iter().find(|(word, _)| *word == wanted) {
            return Ok(FlagPattern { negated, bit: *bit, word });
        }
        let span = usize::from(negated)..text.len();
        let error = PatternError::new(span, format!("unknown flag `{wanted}`"));
        if matches!(wanted, "native" | "abstract") {
            return Err(error.suggest("leave it out: only methods with bytecode are instrumented"));
        }
        let known: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
        Err(match nearest_name(wanted, known.iter().copied()) {
            Some(nearest) => error.suggest(format!("did you mean `{nearest}`?")),
            None => error.suggest(format!("flags are {}", quoted_list(&known, "and"))),
        })
    }

    /// Says that a method does not fulfil it.
    pub fn opposite(&self) -> String {
        format!("the method is {}`{}`", if self.negated { "" } else { "not " }, self.word)
    }

    /// Everything that [`FlagPattern::parse`] reads.
    pub fn words() -> Vec<String> {
        WORDS.iter().flat_map(|(word, _)| [(*word).to_owned(), format!("!{word}")]).collect()
    }

    /// The flag as it is written.
    pub fn text(&self) -> String {
        format!("{}{}", if self.negated { "!" } else { "" }, self.word)
    }

    /// Whether it takes bridge methods, which rules do not take otherwise.
    pub fn asks_for_bridges(&self) -> bool {
        !self.negated && self.bit == access::BRIDGE
    }

    /// Whether a method with these flags fulfils it.
    pub fn matches(&self, flags: u16) -> bool {
        (flags & self.bit != 0) != self.negated
    }

    /// The first two of the flags that no method fulfils together.
    pub fn contradiction(flags: &[&FlagPattern]) -> Option<(usize, usize)> {
        const ACCESS: u16 = access::PUBLIC | access::PROTECTED | access::PRIVATE;
        let excludes = |one: &FlagPattern, other: &FlagPattern| match (one.negated, other.negated) {
            (false, false) => one.bit != other.bit && ACCESS & one.bit != 0 && ACCESS & other.bit != 0,
            (true, true) => false,
            _ => one.bit == other.bit,
        };
        let pairs = flags.iter().enumerate().flat_map(|(at, one)| {
            let others = flags.iter().enumerate().take(at);
            others.map(move |(earlier, other)| (earlier, at, *other, *one))
        });
        pairs.filter(|(_, _, one, other)| excludes(one, other)).map(|(earlier, at, ..)| (earlier, at)).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_the_words_of_the_language() {
        let matches = |text: &str, flags: u16| FlagPattern::parse(text).unwrap().matches(flags);
        assert!(matches("public", access::PUBLIC | access::STATIC) && !matches("!static", access::STATIC));
        assert!(matches("!static", 0) && !matches("synthetic", 0));
        assert_eq!(FlagPattern::parse("!statik").unwrap_err().suggestion.unwrap(), "did you mean `static`?");
        assert!(FlagPattern::parse("native").unwrap_err().suggestion.unwrap().starts_with("leave it out"));
        for word in FlagPattern::words() {
            assert_eq!(FlagPattern::parse(&word).unwrap().text(), word);
        }
    }

    #[test]
    fn contradictions_are_found() {
        let found = |texts: &[&str]| {
            let flags: Vec<_> = texts.iter().map(|text| FlagPattern::parse(text).unwrap()).collect();
            FlagPattern::contradiction(&flags.iter().collect::<Vec<_>>())
        };
        assert_eq!(found(&["static", "public", "private"]), Some((1, 2)));
        assert_eq!(found(&["static", "!static"]), Some((0, 1)));
        assert_eq!(found(&["!public", "!protected", "!private", "static", "static"]), None);
    }
}
