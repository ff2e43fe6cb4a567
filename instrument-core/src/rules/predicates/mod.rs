//! Conditions on the data of a call: `http.path = '/pay' and (arg.0.kind in ('card', 'cash') or not mdc.tenant like 'test-*')`.
//!
//! `parse` reads them, `path` has what they look at, `evaluate` asks whether one holds, `sent_text` takes query strings and baggage apart. Who
//! evaluates a condition hands in the values; nothing here knows a JVM. There are no regular expressions, and everything is bounded: a condition by
//! [`MOST_NODES`], the texts that it compares by [`LONGEST_VALUE`], patterns by steps.

mod evaluate;
mod parse;
mod path;
mod sent_text;

pub use evaluate::{LONGEST_STATEMENT, LONGEST_VALUE, Unreadable, Value, Values, is_text_like};
pub use path::{MemberPath, Path, Root};
pub use sent_text::{LONGEST_SENT, baggage_entry, query_parameter};

use std::cmp::Ordering;

use crate::rules::patterns::pattern_error::PatternError;

/// Most comparisons, `not`, `and` and `or` of a condition.
pub const MOST_NODES: usize = 64;

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    expression: Expression,
}

/// What a comparison expects of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A text: strings, characters, enum constants.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Nothing in particular: it is compared with null.
    Anything,
}

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Not(Box<Expression>),
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Test(Path, Test),
}

/// How a value is compared.
#[derive(Clone, Debug, PartialEq)]
enum Test {
    Equals(Literal),
    /// Equal to one of these.
    In(Vec<Literal>),
    StartsWith(String),
    Like(Vec<char>),
    /// Compares to the number in one of these ways.
    Compares(&'static [Ordering], Number),
    Between(Number, Number),
}

/// A value that is written in a condition.
#[derive(Clone, Debug, PartialEq)]
enum Literal {
    Text(String),
    Number(Number),
    Boolean(bool),
    Null,
}

/// A number, exact if it is a whole one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Whole(i64),
    Real(f64),
}

impl Condition {
    /// Reads a condition.
    pub fn parse(text: &str) -> Result<Condition, PatternError> {
        let expression = parse::expression(text)?;
        Ok(Condition { text: text.trim().to_owned(), expression })
    }

    /// Returns the condition as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether it holds for these values; the first value that is needed and cannot be read ends that.
    pub fn holds(&self, values: &mut dyn Values) -> Result<bool, Unreadable> {
        evaluate::holds(&self.expression, values)
    }

    /// Returns all that it looks at, with what it expects there, in the order in which it is written.
    pub fn paths(&self) -> Vec<(&Path, Expected)> {
        let mut paths = Vec::new();
        self.expression.collect_paths(&mut paths);
        paths
    }

    /// Returns two conditions that hold together if and only if this one does: what looks at the request alone, and what does not. `Err` with a path of
    /// a part that needs both.
    pub fn split(&self, is_of_request: impl Fn(&Path) -> bool) -> Result<[Option<Condition>; 2], Box<Path>> {
        let (mut of_requests, mut others) = (Vec::new(), Vec::new());
        let whole = std::slice::from_ref(&self.expression);
        for part in if let Expression::All(parts) = &self.expression { parts } else { whole } {
            let mut paths = Vec::new();
            part.collect_paths(&mut paths);
            let other = paths.iter().find(|(path, _)| !is_of_request(path));
            match (other, paths.iter().any(|(path, _)| is_of_request(path))) {
                (None, _) => of_requests.push(part.clone()),
                (Some(_), false) => others.push(part.clone()),
                (Some((path, _)), true) => return Err(Box::new((*path).clone())),
            }
        }
        let condition = |mut parts: Vec<Expression>| {
            let expression = if parts.len() > 1 { Some(Expression::All(parts)) } else { parts.pop() };
            Some(Condition { text: self.text.clone(), expression: expression? })
        };
        Ok([of_requests, others].map(condition))
    }

    /// Returns what is wrong with a path, with its place in the condition.
    pub fn problem(&self, path: &Path, message: &str) -> String {
        format!("column {} of the condition: {message}", column(&self.text, path.span.start))
    }

    /// Returns what is wrong with a member of a path, with the member's place in the condition.
    pub fn problem_of_member(&self, path: &Path, member: usize, message: &str) -> String {
        let at = path.places.get(member).copied().unwrap_or(path.span.start);
        format!("column {} of the condition: {message}", column(&self.text, at))
    }
}

/// Returns a problem of a condition's text in one sentence.
pub fn explained(text: &str, error: &PatternError) -> String {
    let help = error.suggestion.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("column {} of the condition: {}{help}", column(text, error.span.start), error.message)
}

fn column(text: &str, offset: usize) -> usize {
    1 + text.get(..offset).map_or(0, |before| before.chars().count())
}

impl Expression {
    fn collect_paths<'e>(&'e self, paths: &mut Vec<(&'e Path, Expected)>) {
        match self {
            Expression::Not(inner) => inner.collect_paths(paths),
            Expression::All(parts) | Expression::Any(parts) => {
                parts.iter().for_each(|part| part.collect_paths(paths));
            }
            Expression::Test(path, test) => paths.push((path, test.expected())),
        }
    }
}

impl Test {
    fn expected(&self) -> Expected {
        let of_literal = |literal: &Literal| match literal {
            Literal::Text(_) => Expected::Text,
            Literal::Number(_) => Expected::Number,
            Literal::Boolean(_) => Expected::Boolean,
            Literal::Null => Expected::Anything,
        };
        match self {
            Test::Equals(literal) => of_literal(literal),
            Test::In(literals) => {
                let mut all = literals.iter().map(of_literal);
                let first = all.next().unwrap_or(Expected::Anything);
                if all.all(|other| other == first) { first } else { Expected::Anything }
            }
            Test::StartsWith(_) | Test::Like(_) => Expected::Text,
            Test::Compares(..) | Test::Between(..) => Expected::Number,
        }
    }
}

impl Number {
    /// Reads a number; `None` if the text is something else.
    fn parse(text: &str) -> Option<Number> {
        let begins = text.strip_prefix('-').unwrap_or(text).starts_with(|first: char| first.is_ascii_digit());
        if !begins {
            return None;
        }
        let real = || text.parse().ok().filter(|real: &f64| real.is_finite()).map(Number::Real);
        text.parse().ok().map(Number::Whole).or_else(real)
    }

    fn compare(self, other: Number) -> Option<Ordering> {
        let real = |number| match number {
            Number::Whole(whole) => whole as f64,
            Number::Real(real) => real,
        };
        match (self, other) {
            (Number::Whole(one), Number::Whole(other)) => Some(one.cmp(&other)),
            (one, other) => real(one).partial_cmp(&real(other)),
        }
    }
}
