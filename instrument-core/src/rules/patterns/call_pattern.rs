//! One entry of a rule's `calls`.

use super::name_glob::NameGlob;
use super::pattern_error::PatternError;

/// The methods that a body calls, as `package.Class.method`, with `!` in front if a call of them does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallPattern {
    /// True for `!glob`.
    pub negated: bool,
    /// The glob without `!`: it matches internal name of the class, `/` and the name of the method.
    glob: NameGlob,
}

impl CallPattern {
    /// Reads e.g. `java.sql.Statement.execute*`.
    pub fn parse(text: &str) -> Result<CallPattern, PatternError> {
        let (negated, glob) = text.strip_prefix('!').map_or((false, text), |glob| (true, glob));
        let offset = usize::from(negated);
        let read = NameGlob::method(glob).map_err(|error| error.shifted(offset))?;
        if !glob.contains(['.', '/']) && glob != "**" {
            let error = PatternError::new(offset..text.len(), "the class of the called method is missing");
            return Err(error.suggest(format!("write `package.Class.{glob}`, or `**.{glob}` for any class")));
        }
        Ok(CallPattern { negated, glob: read })
    }

    /// The glob as it was written, without `!`.
    pub fn text(&self) -> &str {
        self.glob.text()
    }

    fn matches(&self, call: &[u8]) -> bool {
        self.glob.matches(call)
    }
}

/// Whether a call of this method counts: some pattern matches, and no `!` pattern does. `memory` is for the joined name.
pub fn is_called(patterns: &[CallPattern], owner: &[u8], name: &[u8], memory: &mut Vec<u8>) -> bool {
    memory.clear();
    memory.extend_from_slice(owner);
    memory.push(b'/');
    memory.extend_from_slice(name);
    let mut counts = false;
    for pattern in patterns.iter().filter(|pattern| pattern.matches(memory)) {
        if pattern.negated {
            return false;
        }
        counts = true;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(patterns: &[&str], call: &str) -> bool {
        let patterns: Vec<_> = patterns.iter().map(|text| CallPattern::parse(text).unwrap()).collect();
        let (owner, name) = call.rsplit_once('/').unwrap();
        is_called(&patterns, owner.as_bytes(), name.as_bytes(), &mut Vec::new())
    }

    #[test]
    fn a_call_is_a_class_and_a_method() {
        assert!(called(&["java.sql.Statement.execute*"], "java/sql/Statement/executeQuery"));
        assert!(!called(&["java.sql.Statement.execute*"], "java/sql/PreparedStatement/execute"));
        assert!(called(&["java.sql.*.execute*"], "java/sql/PreparedStatement/execute"));
        assert!(called(&["**.lock"], "java/util/concurrent/locks/Lock/lock"));
        assert!(!called(&["java.sql.*"], "java/sql/Statement/close"), "one star is one name");
        assert!(called(&["java.sql.**"], "java/sql/Statement/close"));
        assert!(called(&["java.net.Socket.<init>"], "java/net/Socket/<init>"));
        assert!(!called(&["java.sql.**", "!java.sql.Date.*"], "java/sql/Date/getTime"));
    }

    #[test]
    fn bad_patterns_say_where() {
        for (text, span) in [("", 0..0), ("execute", 0..7), ("!execute", 1..8), ("a.B.c()", 5..6), ("!a..b", 3..4)] {
            assert_eq!(CallPattern::parse(text).expect_err(text).span, span, "{text}");
        }
    }
}
