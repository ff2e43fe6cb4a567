//! What a condition looks at: `arg.0.kind`, `http.header.X-Tenant`.

use std::ops::Range;

use crate::rules::nearest_name::{nearest_name, quoted_list};
use crate::rules::patterns::pattern_error::PatternError;

/// Most fields and getters after each other.
const MOST_MEMBERS: usize = 8;
const ROOTS: [&str; 6] = ["http", "arg", "this", "mdc", "baggage", "sql"];
const OF_HTTP: [&str; 4] = ["path", "method", "header", "query"];

/// A value of a call, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Where it begins.
    pub root: Root,
    /// From there on: fields and getters.
    pub members: Vec<MemberPath>,
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
}

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
        let (first, rest) = match word.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (word, None),
        };
        let root_of = |root| Ok(Path { root, members: Vec::new(), span: span.clone() });
        let named = |what: &str, example: &str| {
            let name = rest.filter(|name| !name.is_empty() && !name.contains(['(', ')']));
            let missing = wrong(format!("`{what}` needs a name"));
            name.map(str::to_owned).ok_or_else(|| missing.suggest(format!("write for instance `{example}`")))
        };
        match first {
            "http" => Self::of_http(rest.unwrap_or_default(), &span),
            "mdc" => root_of(Root::Mdc(named("mdc", "mdc.tenant")?)),
            "baggage" => root_of(Root::Baggage(named("baggage", "baggage.tenant")?)),
            "sql" if rest.is_none() => root_of(Root::Sql),
            "sql" => Err(wrong("`sql` is a text and has no parts".to_owned())),
            "this" => Ok(Path { root: Root::Receiver, members: members(rest, &span)?, span }),
            "arg" => {
                let (number, rest) = match rest.and_then(|rest| rest.split_once('.')) {
                    Some((number, rest)) => (number, Some(rest)),
                    None => (rest.unwrap_or_default(), None),
                };
                let index = number.parse().ok().filter(|index| *index < 255);
                let index = index.ok_or_else(|| {
                    wrong(format!("`{number}` is no number of an argument"))
                        .suggest("arguments are counted from 0: `arg.0`")
                })?;
                Ok(Path { root: Root::Argument(index), members: members(rest, &span)?, span })
            }
            other => {
                let error = wrong(format!("`{other}` is nothing that a condition can look at"));
                Err(error.suggest(nearest(other, &ROOTS)))
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
        Ok(Path { root, members: Vec::new(), span: span.clone() })
    }
}

fn nearest(name: &str, known: &[&str]) -> String {
    match nearest_name(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known are {}", quoted_list(known, "and")),
    }
}

fn members(text: Option<&str>, span: &Range<usize>) -> Result<Vec<MemberPath>, PatternError> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let wrong = |message: String| PatternError::new(span.clone(), message);
    let member = |part: &str| {
        let (name, is_getter) = match part.strip_suffix("()") {
            Some(name) => (name, true),
            None => (part, false),
        };
        if name.is_empty() || name.contains(['(', ')', '-']) || name.starts_with(|first: char| first.is_ascii_digit()) {
            let error = wrong(format!("`{part}` is no name of a field or getter"));
            return Err(error.suggest("write `arg.0.field` or `arg.0.getter()`; a getter has no arguments"));
        }
        let name = name.to_owned();
        Ok(if is_getter { MemberPath::Getter(name) } else { MemberPath::Field(name) })
    };
    let members = text.split('.').map(member).collect::<Result<Vec<_>, _>>()?;
    if members.len() > MOST_MEMBERS {
        return Err(wrong(format!(
            "{} fields and getters after each other; {MOST_MEMBERS} are allowed",
            members.len()
        )));
    }
    Ok(members)
}
