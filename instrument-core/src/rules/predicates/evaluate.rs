//! Whether a condition holds for the values of one call.

use std::cmp::Ordering;

use super::{Expression, Literal, Number, Path, Root, Test};

/// UTF-16 units of the longest text that is compared as a whole.
pub const LONGEST_VALUE: usize = 1_024;
/// The same for the text of an SQL statement.
pub const LONGEST_STATEMENT: usize = 16_384;
/// Characters that one pattern may compare, however often it begins anew.
const MOST_STEPS: usize = 16_384;
/// The same for each character that the longest text of its kind may have, if that is more.
const STEPS_OF_CHARACTER: usize = 4;

/// A value as it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text. One that is longer than is compared as a whole, of which the beginning is enough, can be compared by its beginning alone.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// Another number.
    Real(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// There is none, or it is null.
    Null,
    /// An object of this class, which can be compared with null alone.
    Object(String),
}

/// Why a value could not be read, or not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable(pub String);

/// The values of one call.
pub trait Values {
    /// Returns the value of a path.
    fn value(&mut self, path: &Path) -> Result<Value, Unreadable>;
}

pub(super) fn holds(expression: &Expression, values: &mut dyn Values) -> Result<bool, Unreadable> {
    match expression {
        Expression::Not(inner) => Ok(!holds(inner, values)?),
        Expression::All(parts) => {
            for part in parts {
                if !holds(part, values)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Expression::Any(parts) => {
            for part in parts {
                if holds(part, values)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Expression::Test(path, test) => test.holds(&values.value(path)?, longest_of(path)),
    }
}

/// UTF-16 units of the longest text that this value may be to be compared as a whole.
fn longest_of(path: &Path) -> usize {
    if path.root == Root::Sql { LONGEST_STATEMENT } else { LONGEST_VALUE }
}

impl Test {
    fn holds(&self, value: &Value, longest: usize) -> Result<bool, Unreadable> {
        match self {
            Test::Equals(literal) => equals(value, literal, longest),
            Test::In(literals) => {
                for literal in literals {
                    if equals(value, literal, longest)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Test::StartsWith(beginning) => Ok(text_of(value)?.is_some_and(|text| text.starts_with(beginning))),
            Test::Like(pattern) => match text_of(value)? {
                Some(text) => {
                    check_length(text, longest, "a text")?;
                    is_like(pattern, &text.chars().collect::<Vec<_>>(), MOST_STEPS.max(longest * STEPS_OF_CHARACTER))
                }
                None => Ok(false),
            },
            Test::Compares(ways, number) => {
                Ok(number_of(value)?.and_then(|value| value.compare(*number)).is_some_and(|way| ways.contains(&way)))
            }
            Test::Between(least, most) => {
                let Some(value) = number_of(value)? else { return Ok(false) };
                let is =
                    |limit, way| value.compare(limit).is_some_and(|found| found == way || found == Ordering::Equal);
                Ok(is(*least, Ordering::Greater) && is(*most, Ordering::Less))
            }
        }
    }
}

/// `Err` if a text has more than this number of UTF-16 units: it may have been cut.
pub(super) fn check_length(text: &str, most: usize, what: &str) -> Result<(), Unreadable> {
    if text.len() > most && text.encode_utf16().nth(most).is_some() {
        return Err(Unreadable(format!("{what} is longer than {most} characters")));
    }
    Ok(())
}

fn equals(value: &Value, literal: &Literal, longest: usize) -> Result<bool, Unreadable> {
    if let (Value::Text(text), Literal::Text(_) | Literal::Number(_) | Literal::Boolean(_)) = (value, literal) {
        check_length(text, longest, "a text")?;
    }
    Ok(match (value, literal) {
        (value, Literal::Null) => *value == Value::Null,
        (Value::Null, _) => false,
        (Value::Text(text), Literal::Text(literal)) => text == literal,
        (Value::Boolean(is), Literal::Boolean(literal)) => is == literal,
        (Value::Boolean(is), Literal::Text(literal)) => literal == if *is { "true" } else { "false" },
        (Value::Text(text), Literal::Boolean(literal)) => text == if *literal { "true" } else { "false" },
        (Value::Boolean(_), Literal::Number(_)) | (Value::Whole(_) | Value::Real(_), Literal::Boolean(_)) => false,
        (value, Literal::Number(literal)) => is_equal(number_of(value)?, Some(*literal)),
        (value, Literal::Text(literal)) => is_equal(number_of(value)?, Number::parse(literal)),
        (Value::Object(class), Literal::Boolean(_)) => return Err(not_comparable(class)),
    })
}

fn is_equal(one: Option<Number>, other: Option<Number>) -> bool {
    one.zip(other).and_then(|(one, other)| one.compare(other)) == Some(Ordering::Equal)
}

/// The number that a value is, or that a text says.
fn number_of(value: &Value) -> Result<Option<Number>, Unreadable> {
    Ok(match value {
        Value::Whole(whole) => Some(Number::Whole(*whole)),
        Value::Real(real) => Some(Number::Real(*real)),
        Value::Text(text) => {
            check_length(text, LONGEST_VALUE, "a text")?;
            Number::parse(text.trim())
        }
        Value::Boolean(_) | Value::Null => None,
        Value::Object(class) => return Err(not_comparable(class)),
    })
}

fn text_of(value: &Value) -> Result<Option<&str>, Unreadable> {
    match value {
        Value::Text(text) => Ok(Some(text)),
        Value::Object(class) => Err(not_comparable(class)),
        _ => Ok(None),
    }
}

fn not_comparable(class: &str) -> Unreadable {
    Unreadable(format!("an object of {class} is neither text nor number: name one of its fields"))
}

/// Returns whether a text is like a pattern in which `*` is any text and `?` any character; not if one of them is too long, or if it takes too long to
/// find out.
pub fn is_text_like(pattern: &str, text: &str) -> bool {
    let is_short = |text: &str| check_length(text, LONGEST_VALUE, "a text").is_ok();
    let characters = |text: &str| text.chars().collect::<Vec<_>>();
    is_short(pattern) && is_short(text) && is_like(&characters(pattern), &characters(text), MOST_STEPS).unwrap_or(false)
}

/// Whether a text is like a pattern in which `*` is any text and `?` any character.
fn is_like(pattern: &[char], text: &[char], most_steps: usize) -> Result<bool, Unreadable> {
    let (mut of_pattern, mut of_text, mut star, mut steps) = (0, 0, None, 0);
    while let Some(letter) = text.get(of_text) {
        steps += 1;
        if steps > most_steps {
            return Err(Unreadable(format!("`like` has compared {most_steps} characters of one value")));
        }
        match pattern.get(of_pattern) {
            Some('*') => {
                star = Some((of_pattern, of_text));
                of_pattern += 1;
            }
            Some(expected) if expected == letter || *expected == '?' => {
                (of_pattern, of_text) = (of_pattern + 1, of_text + 1)
            }
            _ => {
                // The last `*` takes one character more.
                let Some((at, begin)) = star else { return Ok(false) };
                star = Some((at, begin + 1));
                (of_pattern, of_text) = (at + 1, begin + 1);
            }
        }
    }
    Ok(pattern.get(of_pattern..).is_some_and(|rest| rest.iter().all(|letter| *letter == '*')))
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, MemberPath, Root};
    use super::*;

    struct Known(Value);

    impl Values for Known {
        fn value(&mut self, path: &Path) -> Result<Value, Unreadable> {
            match (&path.root, path.members.first()) {
                (Root::Argument(0), None) => Ok(self.0.clone()),
                (Root::Argument(1), _) => Ok(Value::Text("b".to_owned())),
                (Root::Sql, _) => Ok(self.0.clone()),
                (_, Some(MemberPath::Getter(name))) => Err(Unreadable(format!("{name} has thrown"))),
                _ => Ok(Value::Null),
            }
        }
    }

    fn holds(condition: &str, value: Value) -> Result<bool, Unreadable> {
        Condition::parse(condition).unwrap().holds(&mut Known(value))
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn values_are_compared() {
        let cases = [
            ("arg.0 = 'card'", text("card"), true),
            ("arg.0=card", text("card"), true),
            ("arg.0 = \"it's\" or arg.0 = 'it''s'", text("it's"), true),
            ("arg.0 = 'card'", text("cash"), false),
            ("arg.0 != 'card'", text("cash"), true),
            ("arg.0 in ('a', 'b')", text("b"), true),
            ("arg.0 not in ('a', 'b')", text("b"), false),
            ("arg.0 IN (1, 2.5)", Value::Real(2.5), true),
            ("arg.0 starts with '/api/'", text("/api/x"), true),
            ("arg.0 like '*.com.?'", text("a.com.b"), true),
            ("arg.0 like 'a*b*c'", text("aXbYbZ"), false),
            ("arg.0 not like 'a*'", text("b"), true),
            ("arg.0 < 5", Value::Whole(4), true),
            ("arg.0 >= 5", Value::Whole(4), false),
            ("arg.0 > 4.5", Value::Whole(5), true),
            ("arg.0 between 1 and 5", Value::Whole(5), true),
            ("arg.0 between 1 and 5", Value::Real(5.1), false),
            ("arg.0 between 1 and 5 and arg.1 = 'b'", Value::Whole(1), true),
            ("arg.0 = 5", text("5"), true),
            ("arg.0 = '5'", Value::Whole(5), true),
            ("arg.0 < 5", text("x"), false),
            ("arg.0 = -9223372036854775808", Value::Whole(i64::MIN), true),
            ("arg.0 = 9007199254740993", Value::Whole(9_007_199_254_740_992), false),
            ("arg.0 = true", Value::Boolean(true), true),
            ("arg.0 = 'false'", Value::Boolean(false), true),
            ("arg.0 = 1", Value::Boolean(true), false),
            ("arg.0 = null", Value::Null, true),
            ("arg.0 != null", text("a"), true),
            ("arg.0 = 'null'", Value::Null, false),
            ("arg.0 < 5", Value::Null, false),
            ("not (arg.0 = 'a' or arg.0 = 'b') and arg.1 = 'b'", text("c"), true),
            ("not not arg.0 = 'a'", text("a"), true),
            ("arg.0 = 'a' or arg.0 = 'c' and arg.1 = 'x'", text("a"), true),
            ("arg.0 = null", Value::Object("a.B".to_owned()), false),
        ];
        for (condition, value, expected) in cases {
            assert_eq!(holds(condition, value.clone()), Ok(expected), "{condition}: {value:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_ends_the_evaluation_if_it_is_needed() {
        assert_eq!(holds("arg.0.kind() = 'a'", Value::Null), Err(Unreadable("kind has thrown".to_owned())));
        assert_eq!(holds("not arg.0.kind() = 'a'", Value::Null), Err(Unreadable("kind has thrown".to_owned())));
        assert_eq!(holds("arg.1 = 'b' or arg.0.kind() = 'a'", Value::Null), Ok(true));
        assert!(holds("arg.0 = 'a'", Value::Object("a.B".to_owned())).unwrap_err().0.contains("an object of a.B"));
    }

    #[test]
    fn a_text_that_is_too_long_is_compared_by_its_beginning_alone() {
        let long = text(&format!("card{}", "ä".repeat(LONGEST_VALUE - 3)));
        for (condition, expected) in [
            ("arg.0 starts with 'card'", true),
            ("arg.0 starts with 'cash'", false),
            ("arg.0 not starts with 'cash'", true),
            ("arg.0 = null", false),
            ("arg.0 != null", true),
        ] {
            assert_eq!(holds(condition, long.clone()), Ok(expected), "{condition}");
        }
        for condition in [
            "arg.0 = 'ab'",
            "arg.0 != 'ab'",
            "arg.0 in (1, 'ab')",
            "arg.0 = 1",
            "arg.0 = true",
            "arg.0 > 1",
            "arg.0 between 1 and 2",
            "arg.0 like 'card*'",
            "arg.0 not like '*card*'",
            "not arg.0 = 'ab'",
        ] {
            let reason = "a text is longer than 1024 characters".to_owned();
            assert_eq!(holds(condition, long.clone()), Err(Unreadable(reason)), "{condition}");
        }
        let longest = text(&"ä".repeat(LONGEST_VALUE));
        assert_eq!(holds("arg.0 like '*ä'", longest), Ok(true));
        let pairs = text(&"😀".repeat(LONGEST_VALUE / 2 + 1));
        assert!(holds("arg.0 like '*'", pairs).is_err(), "they have two units each");
        assert!(is_text_like("a*", "ab") && !is_text_like("a*", &"a".repeat(LONGEST_VALUE + 1)));
    }

    #[test]
    fn a_statement_may_be_longer_than_other_texts() {
        let long = |length: usize| text(&format!("select o{} from orders", "o".repeat(length - 20)));
        let (longest, longer) = (long(LONGEST_STATEMENT), long(LONGEST_STATEMENT + 1));
        for condition in ["sql like '*from orders'", "sql != 'select 1'", "sql starts with 'select'"] {
            assert_eq!(holds(condition, longest.clone()), Ok(true), "{condition}");
        }
        let reason = Unreadable(format!("a text is longer than {LONGEST_STATEMENT} characters"));
        assert_eq!(holds("sql like '*orders'", longer.clone()), Err(reason));
        assert_eq!(holds("sql starts with 'select'", longer), Ok(true));
    }

    #[test]
    fn patterns_are_bounded() {
        let long = text(&"a".repeat(LONGEST_VALUE));
        assert_eq!(holds("arg.0 like '*a'", long.clone()), Ok(true));
        let slow = format!("arg.0 like '*{}b'", "a".repeat(200));
        assert!(holds(&slow, long).unwrap_err().0.contains("has compared"));
    }
}
