//! What a condition looks at: `arg.0.kind`, `http.header.X-Tenant`.

use std::ops::Range;

use crate::rules::nearest_name::{nearest_name, quoted_list};
use crate::rules::patterns::pattern_error::PatternError;

/// Most fields, getters and elements after each other.
const MOST_MEMBERS: usize = 8;
const ROOTS: [&str; 6] = ["http", "arg", "this", "mdc", "baggage", "sql"];
const OF_HTTP: [&str; 4] = ["path", "method", "header", "query"];

/// A value of a call, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Where it begins.
    pub root: Root,
    /// From there on: fields, getters and elements.
    pub members: Vec<MemberPath>,
    /// Where each of these begins in the text of the condition.
    pub places: Vec<usize>,
    /// Where it is in the text of the condition.
    pub span: Range<usize>,
}

/// Where a path begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// `http.path`: the path of the request as it was sent.
    HttpPath,
    /// `http.method`
    HttpMethod,
    /// `http.header.NAME`
    HttpHeader(String),
    /// `http.query.NAME`: the first parameter of this name in the query string.
    HttpQuery(String),
    /// `arg.N`: an argument, from 0.
    Argument(u16),
    /// `this`: the receiver.
    Receiver,
    /// `mdc.KEY`: the mapped diagnostic context of SLF4J.
    Mdc(String),
    /// `baggage.KEY`: the W3C baggage of the request.
    Baggage(String),
    /// `sql`: the text of the statement.
    Sql,
}

/// A step from an object to a value in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MemberPath {
    /// `.name`
    Field(String),
    /// `.name()`
    Getter(String),
    /// `[0]`
    Element(u32),
}

/// Members after each other, and where each begins.
type Members = (Vec<MemberPath>, Vec<usize>);

impl Path {
    /// Whether it is something of an HTTP request.
    pub fn is_of_request(&self) -> bool {
        matches!(
            self.root,
            Root::HttpPath | Root::HttpMethod | Root::HttpHeader(_) | Root::HttpQuery(_) | Root::Baggage(_)
        )
    }

    /// Reads the path that a word of a condition is, which begins at `offset`.
    pub(super) fn parse(word: &str, offset: usize) -> Result<Path, PatternError> {
        let span = offset..offset + word.len();
        let wrong = |message: String| PatternError::new(span.clone(), message);
        let (first, after) = up_to_member(word);
        let rest = after.strip_prefix('.');
        let root_of = |root| Ok(Path { root, members: Vec::new(), places: Vec::new(), span: span.clone() });
        let named = |what: &str, example: &str| {
            let name = rest.filter(|name| !name.is_empty() && !name.contains(['(', ')']));
            let missing = wrong(format!("`{what}` needs a name"));
            name.map(str::to_owned).ok_or_else(|| missing.suggest(format!("write for instance `{example}`")))
        };
        match first {
            "http" => Self::of_http(rest.unwrap_or_default(), &span),
            "mdc" => root_of(Root::Mdc(named("mdc", "mdc.tenant")?)),
            "baggage" => root_of(Root::Baggage(named("baggage", "baggage.tenant")?)),
            "sql" if after.is_empty() => root_of(Root::Sql),
            "sql" => Err(wrong("`sql` is a text and has no parts".to_owned())),
            "this" => {
                let (members, places) = members(after, offset + first.len(), &span)?;
                Ok(Path { root: Root::Receiver, members, places, span })
            }
            "arg" => {
                let (number, after) = up_to_member(rest.unwrap_or_default());
                let index = number.parse().ok().filter(|index| *index < 255);
                let index = index.ok_or_else(|| {
                    wrong(format!("`{number}` is no number of an argument"))
                        .suggest("arguments are counted from 0: `arg.0`")
                })?;
                let (members, places) = members(after, offset + word.len() - after.len(), &span)?;
                Ok(Path { root: Root::Argument(index), members, places, span })
            }
            other => {
                let error = wrong(format!("`{other}` is nothing that a condition can look at"));
                let index =
                    other.strip_prefix("arg").map(|rest| rest.trim_start_matches('s')).filter(|rest| is_number(rest));
                Err(error.suggest(match index {
                    Some(index) => format!("did you mean `arg.{index}{after}`?"),
                    None => nearest(other, &ROOTS),
                }))
            }
        }
    }

    fn of_http(rest: &str, span: &Range<usize>) -> Result<Path, PatternError> {
        let (part, name) = match rest.split_once('.') {
            Some((part, name)) => (part, Some(name).filter(|name| !name.is_empty())),
            None => (rest, None),
        };
        let wrong = |message: String| PatternError::new(span.clone(), message);
        let root = match (part, name) {
            ("path", None) => Root::HttpPath,
            ("method", None) => Root::HttpMethod,
            ("header", Some(name)) => Root::HttpHeader(name.to_owned()),
            ("query", Some(name)) => Root::HttpQuery(name.to_owned()),
            ("path" | "method", Some(_)) => return Err(wrong(format!("`http.{part}` is a text and has no parts"))),
            ("header" | "query", None) => {
                let example = if part == "header" { "http.header.X-Tenant" } else { "http.query.kind" };
                return Err(
                    wrong(format!("`http.{part}` needs a name")).suggest(format!("write for instance `{example}`"))
                );
            }
            (other, _) => {
                let message = format!("`http.{other}` is nothing that a condition can look at");
                return Err(wrong(message).suggest(nearest(other, &OF_HTTP)));
            }
        };
        Ok(Path { root, members: Vec::new(), places: Vec::new(), span: span.clone() })
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn nearest(name: &str, known: &[&str]) -> String {
    match nearest_name(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known are {}", quoted_list(known, "and")),
    }
}

/// Splits a text where its first member begins.
fn up_to_member(text: &str) -> (&str, &str) {
    text.split_at_checked(text.find(['.', '[']).unwrap_or(text.len())).unwrap_or((text, ""))
}

/// Reads the members that a text is, which begins at `at`.
fn members(text: &str, mut at: usize, span: &Range<usize>) -> Result<Members, PatternError> {
    let (mut members, mut places) = (Vec::new(), Vec::new());
    let mut left = text;
    while let Some(first) = left.chars().next() {
        let after = left.get(first.len_utf8()..).unwrap_or_default();
        let (member, length) = match first {
            '.' => {
                let (part, _) = up_to_member(after);
                places.push(at + 1);
                (named(part, at + 1)?, 1 + part.len())
            }
            '[' => {
                let Some(end) = after.find(']') else {
                    return Err(PatternError::new(at..at + 1, "this `[` is not closed").suggest("add `]`"));
                };
                let index = after.get(..end).unwrap_or_default();
                places.push(at);
                (element(index, at + 1)?, end + 2)
            }
            _ => {
                let error = PatternError::new(at..at + left.len(), format!("`{left}` after an element"));
                return Err(error.suggest("write `.` before the name of a field"));
            }
        };
        members.push(member);
        at += length;
        left = left.get(length..).unwrap_or_default();
    }
    if members.len() > MOST_MEMBERS {
        let message =
            format!("{} fields, getters and elements after each other; {MOST_MEMBERS} are allowed", members.len());
        return Err(PatternError::new(span.clone(), message));
    }
    Ok((members, places))
}

fn named(part: &str, at: usize) -> Result<MemberPath, PatternError> {
    let (name, is_getter) = match part.strip_suffix("()") {
        Some(name) => (name, true),
        None => (part, false),
    };
    if name.is_empty() || name.contains(['(', ')', '-']) || name.starts_with(|first: char| first.is_ascii_digit()) {
        let error = PatternError::new(at..at + part.len().max(1), format!("`{part}` is no name of a field or getter"));
        return Err(error.suggest("write `arg.0.field` or `arg.0.getter()`; a getter has no arguments"));
    }
    let name = name.to_owned();
    Ok(if is_getter { MemberPath::Getter(name) } else { MemberPath::Field(name) })
}

fn element(index: &str, at: usize) -> Result<MemberPath, PatternError> {
    let number = Some(index).filter(|index| index.starts_with(|first: char| first.is_ascii_digit()));
    let number = number.and_then(|index| index.parse().ok()).filter(|number| i32::try_from(*number).is_ok());
    number.map(MemberPath::Element).ok_or_else(|| {
        let error = PatternError::new(at..at + index.len().max(1), format!("`{index}` is no index of an element"));
        error.suggest("elements of arrays are counted from 0: `arg.0[0]`")
    })
}
