//! One entry of a rule's `module`, `jar` or `loader`.

use super::name_glob::NameGlob;
use super::pattern_error::PatternError;

/// A glob in which `*` is any text, with `!` in front if it excludes what it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPattern {
    /// True for `!glob`.
    pub negated: bool,
    /// The glob without `!`.
    pub glob: NameGlob,
}

impl TextPattern {
    /// Reads the name of a module, such as `java.sql` or `com.acme.*`.
    pub fn module(text: &str) -> Result<TextPattern, PatternError> {
        let pattern = TextPattern::parse(text, "a module name")?;
        let illegal = |character: char| !(character.is_alphanumeric() || "._$*".contains(character));
        let offset = usize::from(pattern.negated);
        match pattern.glob.text().char_indices().find(|(_, character)| illegal(*character)) {
            None => Ok(pattern),
            Some((at, character)) => {
                let span = offset + at..offset + at + character.len_utf8();
                Err(PatternError::new(span, format!("no module name contains `{}`", character.escape_default()))
                    .suggest("write the name as `module-info.java` declares it; `*` is any text"))
            }
        }
    }

    /// Reads the file name of a jar, such as `ojdbc*.jar`.
    pub fn jar(text: &str) -> Result<TextPattern, PatternError> {
        let pattern = TextPattern::parse(text, "a file name")?;
        let offset = usize::from(pattern.negated);
        match pattern.glob.text().rfind(['/', '\\']) {
            None => Ok(pattern),
            Some(at) => {
                let name = pattern.glob.text().get(at + 1..).unwrap_or_default();
                let error = PatternError::new(offset + at..offset + at + 1, "a jar is named without its directory");
                Err(if name.is_empty() { error } else { error.suggest(format!("write `{name}`")) })
            }
        }
    }

    /// Reads the name of a class loader, such as `app`, or its class, such as `org.apache.catalina.loader.*`.
    pub fn loader(text: &str) -> Result<TextPattern, PatternError> {
        TextPattern::parse(text, "a loader")
    }

    fn parse(text: &str, what: &str) -> Result<TextPattern, PatternError> {
        let (negated, glob) = text.strip_prefix('!').map_or((false, text), |glob| (true, glob));
        let offset = usize::from(negated);
        if glob.is_empty() {
            return Err(PatternError::new(offset..offset, format!("{what} is missing")).suggest("`*` is any text"));
        }
        if glob.starts_with('!') {
            return Err(PatternError::new(1..2, "`!` is allowed only at the beginning of a pattern"));
        }
        Ok(TextPattern { negated, glob: NameGlob::of_text(glob) })
    }
}

/// Returns the pattern that lets the text pass, or the `!` pattern that excludes it; `None` if no pattern matches.
pub fn first_match<'p>(patterns: &'p [TextPattern], text: &str) -> Option<&'p TextPattern> {
    let matching = |negated: bool| {
        patterns.iter().find(|pattern| pattern.negated == negated && pattern.glob.matches(text.as_bytes()))
    };
    matching(true).or_else(|| matching(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exclusions_win_and_a_star_is_any_text() {
        let patterns = ["com.acme.*", "!com.acme.test*"].map(|text| TextPattern::module(text).unwrap());
        let passes = |text: &str| first_match(&patterns, text).map(|pattern| !pattern.negated);
        assert_eq!(passes("com.acme.shop.web"), Some(true));
        assert_eq!(passes("com.acme.testkit"), Some(false));
        assert_eq!(passes("com.acme"), None);
        let jars = [TextPattern::jar("ojdbc*.jar").unwrap()];
        assert!(first_match(&jars, "ojdbc11.jar").is_some() && first_match(&jars, "ojdbc11.jar.bak").is_none());
        let loaders = [TextPattern::loader("org.springframework.*").unwrap()];
        assert!(first_match(&loaders, "org.springframework.boot.loader.LaunchedURLClassLoader").is_some());
    }

    #[test]
    fn bad_patterns_say_where() {
        for (read, text, span) in [
            (TextPattern::module as fn(&str) -> _, "", 0..0),
            (TextPattern::module, "com/acme", 3..4),
            (TextPattern::module, "!a b", 2..3),
            (TextPattern::jar, "!", 1..1),
            (TextPattern::jar, "lib/x.jar", 3..4),
            (TextPattern::jar, "!/x/y.jar", 3..4),
            (TextPattern::loader, "!!app", 1..2),
        ] {
            let error: PatternError = read(text).expect_err(text);
            assert_eq!(error.span, span, "{text}: {}", error.message);
        }
    }
}
