//! One entry of a rule's `class`, `exclude`, `extends` or `annotated`.

use super::method_pattern::MethodPattern;
use super::name_glob::NameGlob;
use super::pattern_error::PatternError;
use crate::internal_name::to_internal;

/// An entry of `class`: a glob, with `!` in front if it takes classes away again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassPattern {
    /// True for `!glob`.
    pub negated: bool,
    /// The glob without `!`.
    pub glob: NameGlob,
}

impl ClassPattern {
    /// Reads e.g. `com.acme.**` or `!com.acme.generated.*`.
    pub fn parse(text: &str) -> Result<ClassPattern, PatternError> {
        let (negated, offset, glob) = match text.strip_prefix('!') {
            Some(glob) => (true, 1, glob),
            None => (false, 0, text),
        };
        let glob = NameGlob::class(glob).map_err(|error| error.shifted(offset))?;
        Ok(ClassPattern { negated, glob })
    }
}

/// An entry of `exclude`: a class glob, optionally with `#` and a method pattern (`com.acme.**#toString()`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludePattern {
    /// Which classes.
    pub class: NameGlob,
    /// Which of their methods; `None` means all.
    pub method: Option<MethodPattern>,
    text: String,
}

impl ExcludePattern {
    /// Reads e.g. `com.acme.dto.**` or `com.acme.Shop#get*`.
    pub fn parse(text: &str) -> Result<ExcludePattern, PatternError> {
        if text.starts_with('!') {
            return Err(PatternError::new(0..1, "`exclude` excludes by itself").suggest("leave the `!` out"));
        }
        let (class, method) = match text.split_once('#') {
            None => (text, None),
            Some((class, method)) => {
                let read = MethodPattern::parse(method).map_err(|error| error.shifted(class.len() + 1))?;
                if read.negated {
                    let at = class.len() + 1;
                    return Err(PatternError::new(at..at + 1, "`!` cannot stand here").suggest("leave the `!` out"));
                }
                (class, Some(read))
            }
        };
        Ok(ExcludePattern { class: NameGlob::class(class)?, method, text: text.to_owned() })
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// An entry of `extends`, `annotated` or `method-annotated`: the full name of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    text: String,
    internal: Vec<u8>,
}

impl TypeName {
    /// Reads e.g. `jakarta.servlet.http.HttpServlet`; a leading `@` is allowed and ignored.
    pub fn parse(text: &str) -> Result<TypeName, PatternError> {
        let name = text.strip_prefix('@').unwrap_or(text);
        let offset = text.len() - name.len();
        if let Some(at) = name.find('*') {
            let error =
                PatternError::new(offset + at..offset + at + 1, "a type is named in full here, without wildcards");
            return Err(error.suggest("several types can be given as a list"));
        }
        if name.starts_with('!') {
            return Err(PatternError::new(offset..offset + 1, "`!` cannot stand here")
                .suggest("take classes away with `class = \"!...\"` or `exclude`"));
        }
        let glob = NameGlob::class(name).map_err(|error| error.shifted(offset))?;
        Ok(TypeName { text: glob.text().to_owned(), internal: to_internal(name) })
    }

    /// The name in source form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The internal name.
    pub fn internal(&self) -> &[u8] {
        &self.internal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_entries_may_be_negated() {
        let pattern = ClassPattern::parse("!com.acme.generated.**").unwrap();
        assert!(pattern.negated && pattern.glob.matches(b"com/acme/generated/A"));
        assert_eq!(ClassPattern::parse("!com..x").unwrap_err().span, 5..6);
        assert!(ClassPattern::parse("!!a").is_err());
    }

    #[test]
    fn exclude_entries_may_name_methods() {
        let pattern = ExcludePattern::parse("com.acme.**#get*(..)").unwrap();
        assert!(pattern.class.matches(b"com/acme/Shop"));
        assert!(pattern.method.unwrap().matches(b"getName", b"()I"));
        assert!(ExcludePattern::parse("com.acme.Dto").unwrap().method.is_none());
        for (bad, span) in
            [("!com.A", 0..1), ("com.A#!x", 6..7), ("com.A#", 6..6), ("#x", 0..0), ("a.B#x(boolan)", 6..12)]
        {
            assert_eq!(ExcludePattern::parse(bad).unwrap_err().span, span, "{bad}");
        }
    }

    #[test]
    fn types_are_named_in_full() {
        assert_eq!(TypeName::parse("@a.b.C$D").unwrap().internal(), b"a/b/C$D");
        assert_eq!(TypeName::parse("a.*").unwrap_err().span, 2..3);
        assert_eq!(TypeName::parse("!a.B").unwrap_err().span, 0..1);
        assert!(TypeName::parse("").is_err());
    }
}
