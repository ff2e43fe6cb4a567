//! Methods and contexts as claims name them.

use instrument_core::rules::patterns::NameGlob;
use instrument_core::rules::patterns::pattern_error::PatternError;
use instrument_core::rules::predicates::Condition;

/// Most methods of a context.
const MOST_METHODS: usize = 16;

/// Returns a context as it is compared: written otherwise it may be the same.
pub(super) fn plain_context(text: &str) -> String {
    text.split('>').map(str::trim).collect::<Vec<_>>().join(" > ")
}

/// Reads `package.Class.method` with `*` and `**`.
pub(crate) fn methods(text: &str) -> Result<String, PatternError> {
    NameGlob::method(text)?;
    if !text.contains('.') {
        let error = PatternError::new(0..text.len(), format!("`{text}` names no class"));
        return Err(error.suggest("write `package.Class.method`"));
    }
    Ok(text.to_owned())
}

/// Reads a condition.
pub(super) fn condition(text: &str) -> Result<String, PatternError> {
    Condition::parse(text).map(|condition| condition.text().to_owned())
}

/// Most characters of the name under which a context is sent to other hosts.
const LONGEST_NAME: usize = 64;

/// Reads the name under which a context is sent to other hosts: it is a value of W3C baggage that needs no escapes, nor quotes in a condition.
pub fn name_for_hosts(text: &str) -> Result<String, PatternError> {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if is_plain && (1..=LONGEST_NAME).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    let message =
        format!("the name of a context for other hosts has 1 to {LONGEST_NAME} letters, digits, `-`, `_` and `.`");
    Err(PatternError::new(0..text.len(), message).suggest("choose a name like `slow-orders`"))
}

/// Reads methods with `>` between them.
pub(super) fn context(text: &str) -> Result<String, PatternError> {
    let count = text.split('>').count();
    if count > MOST_METHODS {
        let message = format!("a context of {count} methods; {MOST_METHODS} are allowed");
        return Err(PatternError::new(0..text.len(), message).suggest("leave out some, the others keep their order"));
    }
    let mut begin = 0;
    for part in text.split('>') {
        let (method, span) = (part.trim(), begin..begin + part.len());
        begin = span.end + 1;
        if method.is_empty() {
            let error = PatternError::new(span, "a method of the context is missing");
            return Err(error.suggest("write methods with `>` between them, as `a.B.c > d.E.f`"));
        }
        let inside = |error: PatternError| PatternError { span: span.clone(), ..error };
        methods(method).map_err(inside)?;
    }
    Ok(text.to_owned())
}
