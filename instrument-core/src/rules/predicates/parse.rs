//! Reads conditions, from the text to expressions. `or` binds less than `and`, `and` less than `not`.

use std::cmp::Ordering;

use super::path::Path;
use super::{Expression, Literal, MOST_NODES, Number, Test};
use crate::rules::nearest_name::nearest_name;
use crate::rules::patterns::pattern_error::PatternError;

/// Bytes of a condition.
const LONGEST: usize = 4_096;
/// Characters of a text in it.
const LONGEST_LITERAL: usize = 256;
/// Parentheses and `not` within each other.
const DEEPEST: usize = 32;
/// Values of one `in`.
const MOST_LITERALS: usize = 64;
const OPERATORS: [&str; 4] = ["in", "like", "between", "starts"];

pub(super) fn expression(text: &str) -> Result<Expression, PatternError> {
    if text.len() > LONGEST {
        let message = format!("a condition of {} bytes; {LONGEST} are allowed", text.len());
        return Err(PatternError::new(0..text.len(), message));
    }
    let mut parser = Parser { text, at: 0, nodes: 0, depth: 0 };
    let found = parser.any()?;
    parser.skip_spaces();
    if parser.at < text.len() {
        let rest = parser.rest_word();
        let error = parser.wrong_word(format!("`{rest}` after the end of a comparison"));
        return Err(error.suggest("comparisons are joined by `and` or `or`; texts with spaces need quotes: 'a b'"));
    }
    Ok(found)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    nodes: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    fn any(&mut self) -> Result<Expression, PatternError> {
        self.joined("or", Self::all, Expression::Any)
    }

    fn all(&mut self) -> Result<Expression, PatternError> {
        self.joined("and", Self::single, Expression::All)
    }

    fn joined(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Result<Expression, PatternError>,
        join: fn(Vec<Expression>) -> Expression,
    ) -> Result<Expression, PatternError> {
        let first = part(self)?;
        if !self.take_word(word) {
            return Ok(first);
        }
        self.count_node()?;
        let mut parts = vec![first, part(self)?];
        while self.take_word(word) {
            parts.push(part(self)?);
        }
        Ok(join(parts))
    }

    fn single(&mut self) -> Result<Expression, PatternError> {
        self.count_node()?;
        self.skip_spaces();
        let begin = self.at;
        if self.take_word("not") {
            self.enter(begin)?;
            let inner = self.single()?;
            self.depth -= 1;
            return Ok(Expression::Not(Box::new(inner)));
        }
        if !self.take("(") {
            return self.comparison();
        }
        self.enter(begin)?;
        let inner = self.any()?;
        self.depth -= 1;
        if !self.take(")") {
            let error = PatternError::new(begin..begin + 1, "this `(` is not closed");
            return Err(error.suggest("add `)`"));
        }
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Expression, PatternError> {
        let begin = self.at;
        let word = self.path_word();
        if word.is_empty() {
            let found = self.rest_word();
            let message = match found {
                "" => "the condition ends where a comparison is expected".to_owned(),
                found => format!("`{found}` where a comparison is expected"),
            };
            return Err(self.wrong_word(message).suggest("write for instance `arg.0 = 'card'`"));
        }
        let path = Path::parse(word, begin)?;
        if self.take("!=") || self.take("<>") {
            return Ok(Expression::Not(Box::new(Expression::Test(path, Test::Equals(self.literal()?)))));
        }
        if self.take_word("not") {
            let test = self.word_test(word)?;
            return Ok(Expression::Not(Box::new(Expression::Test(path, test))));
        }
        const LESS_OR_EQUAL: &[Ordering] = &[Ordering::Less, Ordering::Equal];
        const GREATER_OR_EQUAL: &[Ordering] = &[Ordering::Greater, Ordering::Equal];
        let comparisons: [(&str, &[Ordering]); 4] =
            [("<=", LESS_OR_EQUAL), (">=", GREATER_OR_EQUAL), ("<", &[Ordering::Less]), (">", &[Ordering::Greater])];
        for (sign, ways) in comparisons {
            if self.take(sign) {
                return Ok(Expression::Test(path, Test::Compares(ways, self.number()?)));
            }
        }
        let test =
            if self.take("==") || self.take("=") { Test::Equals(self.literal()?) } else { self.word_test(word)? };
        Ok(Expression::Test(path, test))
    }

    /// A test whose operator is a word.
    fn word_test(&mut self, path: &str) -> Result<Test, PatternError> {
        if self.take_word("in") {
            return self.list();
        }
        if self.take_word("like") {
            let pattern: Vec<char> = self.string()?.chars().collect();
            return Ok(Test::Like(pattern));
        }
        if self.take_word("between") {
            let least = self.number()?;
            if !self.take_word("and") {
                let error = self.wrong_word("`between` needs two numbers".to_owned());
                return Err(error.suggest("write for instance `between 1 and 5`"));
            }
            let most = self.number()?;
            return Ok(Test::Between(least, most));
        }
        if self.take_word("starts") {
            if !self.take_word("with") {
                let error = self.wrong_word("`with` is expected after `starts`".to_owned());
                return Err(error.suggest("write for instance `starts with '/api/'`"));
            }
            return Ok(Test::StartsWith(self.string()?));
        }
        self.skip_spaces();
        let found = self.rest_word();
        let message = match found {
            "" => format!("the condition ends where a comparison of `{path}` is expected"),
            found => format!("`{found}` where a comparison of `{path}` is expected"),
        };
        let help = match nearest_name(found, OPERATORS) {
            Some("starts") => "did you mean `starts with`?".to_owned(),
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "known are `=`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `like`, `between`, `starts with` and `not` before a word"
                .to_owned(),
        };
        Err(self.wrong_word(message).suggest(help))
    }

    fn list(&mut self) -> Result<Test, PatternError> {
        self.skip_spaces();
        let begin = self.at;
        if !self.take("(") {
            let error = self.wrong_word("`(` is expected after `in`".to_owned());
            return Err(error.suggest("write for instance `in ('card', 'cash')`"));
        }
        let mut literals = vec![self.literal()?];
        while self.take(",") {
            literals.push(self.literal()?);
        }
        if !self.take(")") {
            return Err(PatternError::new(begin..begin + 1, "this list is not closed").suggest("add `)`"));
        }
        if literals.len() > MOST_LITERALS {
            let message = format!("a list of {} values; {MOST_LITERALS} are allowed", literals.len());
            return Err(PatternError::new(begin..self.at, message));
        }
        Ok(Test::In(literals))
    }

    fn literal(&mut self) -> Result<Literal, PatternError> {
        self.skip_spaces();
        let begin = self.at;
        if let Some(text) = self.quoted()? {
            return Ok(Literal::Text(text));
        }
        let word = self.bare_word();
        if word.is_empty() {
            let error = PatternError::new(begin..begin + 1, "a value is missing");
            return Err(error.suggest("write a text in quotes, a number, `true`, `false` or `null`"));
        }
        Ok(match word {
            "null" => Literal::Null,
            "true" => Literal::Boolean(true),
            "false" => Literal::Boolean(false),
            word => match Number::parse(word) {
                Some(number) => Literal::Number(number),
                None => Literal::Text(self.checked(word.to_owned(), begin)?),
            },
        })
    }

    /// A text, with quotes or without.
    fn string(&mut self) -> Result<String, PatternError> {
        self.skip_spaces();
        let begin = self.at;
        if let Some(text) = self.quoted()? {
            return Ok(text);
        }
        match self.bare_word() {
            "" => Err(PatternError::new(begin..begin + 1, "a text is missing").suggest("write it in quotes: 'a'")),
            word => self.checked(word.to_owned(), begin),
        }
    }

    fn number(&mut self) -> Result<Number, PatternError> {
        self.skip_spaces();
        let begin = self.at;
        let is_quoted = self.text.get(begin..).is_some_and(|rest| rest.starts_with(['\'', '"']));
        let word = if is_quoted { self.rest_word() } else { self.bare_word() };
        Number::parse(word).ok_or_else(|| {
            let message = match word {
                "" => "a number is missing".to_owned(),
                word => format!("{word} where a number is expected"),
            };
            let error = PatternError::new(begin..begin + word.len().max(1), message);
            error.suggest("`<`, `<=`, `>`, `>=` and `between` compare numbers, which have no quotes")
        })
    }

    /// A text in quotes, in which a doubled quote is one quote.
    fn quoted(&mut self) -> Result<Option<String>, PatternError> {
        let begin = self.at;
        let Some(quote) = self.peek().filter(|first| matches!(first, '\'' | '"')) else { return Ok(None) };
        self.at += 1;
        let mut content = String::new();
        while let Some(next) = self.peek() {
            self.at += next.len_utf8();
            if next != quote {
                content.push(next);
            } else if self.peek() == Some(quote) {
                self.at += 1;
                content.push(quote);
            } else {
                return self.checked(content, begin).map(Some);
            }
        }
        let error = PatternError::new(begin..self.text.len(), "this quote is not closed");
        Err(error.suggest(format!("add {quote} after the text; a quote within it is doubled")))
    }

    fn checked(&self, content: String, begin: usize) -> Result<String, PatternError> {
        let length = content.chars().count();
        if length > LONGEST_LITERAL {
            let message = format!("a text of {length} characters; {LONGEST_LITERAL} are allowed");
            return Err(PatternError::new(begin..self.at, message));
        }
        Ok(content)
    }

    fn count_node(&mut self) -> Result<(), PatternError> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            let message = format!("more than {MOST_NODES} comparisons, `and`, `or`, `not` and parentheses");
            return Err(
                PatternError::new(0..self.text.len(), message).suggest("`in` compares with several values at once")
            );
        }
        Ok(())
    }

    fn enter(&mut self, begin: usize) -> Result<(), PatternError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("more than {DEEPEST} parentheses and `not` within each other");
            return Err(PatternError::new(begin..self.at, message));
        }
        Ok(())
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn skip_spaces(&mut self) {
        while let Some(space) = self.peek().filter(|next| next.is_whitespace()) {
            self.at += space.len_utf8();
        }
    }

    fn take(&mut self, sign: &str) -> bool {
        self.skip_spaces();
        let is_there = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(sign));
        self.at += if is_there { sign.len() } else { 0 };
        is_there
    }

    /// Takes a word of the language, in capital letters or not.
    fn take_word(&mut self, word: &str) -> bool {
        self.skip_spaces();
        let Some(rest) = self.text.get(self.at..) else { return false };
        let is_it = rest.get(..word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word));
        let ends = rest.get(word.len()..).is_some_and(|after| !after.starts_with(is_of_path));
        if is_it && ends {
            self.at += word.len();
        }
        is_it && ends
    }

    fn while_is(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.find(|next| !is_part(next)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    /// A path: a word in which `()` may follow names, and `[0]` what comes before.
    fn path_word(&mut self) -> &'t str {
        self.skip_spaces();
        let begin = self.at;
        loop {
            let part = self.while_is(is_of_path);
            let rest = self.text.get(self.at..).unwrap_or_default();
            let appended = match rest.chars().next() {
                Some('(') if !part.is_empty() && rest.starts_with("()") => 2,
                Some('[') if self.at > begin => {
                    let end = rest.find(|next: char| next == ']' || next.is_whitespace()).unwrap_or(rest.len());
                    end + usize::from(rest.get(end..).is_some_and(|end| end.starts_with(']')))
                }
                _ => return self.text.get(begin..self.at).unwrap_or_default(),
            };
            self.at += appended;
        }
    }

    /// A value without quotes: up to a space, a comma or a parenthesis.
    fn bare_word(&mut self) -> &'t str {
        self.while_is(|next| !next.is_whitespace() && !matches!(next, ',' | '(' | ')' | '\'' | '"'))
    }

    /// What is next, for a message.
    fn rest_word(&self) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.split_whitespace().next().unwrap_or_default()
    }

    fn wrong_word(&self, message: String) -> PatternError {
        PatternError::new(self.at..self.at + self.rest_word().len(), message)
    }
}

fn is_of_path(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.' | '-')
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, Expected, MemberPath, Root, explained};

    fn problem(text: &str) -> String {
        explained(text, &Condition::parse(text).unwrap_err())
    }

    #[test]
    fn what_is_wrong_has_a_column_and_a_help() {
        let cases = [
            ("htp.path = 'a'", "column 1", "did you mean `http`?"),
            ("http.pth = 'a'", "column 1", "did you mean `path`?"),
            ("arg0 = 'a'", "column 1", "did you mean `arg.0`?"),
            ("args12[3].kind = 'a'", "column 1", "did you mean `arg.12[3].kind`?"),
            ("argx = 'a'", "column 1", "did you mean `arg`?"),
            ("arg.0 = 'card", "column 9", "this quote is not closed"),
            ("arg.0 = 'a' and arg.x = 1", "column 17", "`x` is no number of an argument"),
            ("arg.0 > 'a'", "column 9", "'a' where a number is expected"),
            ("arg.0 lik 'a*'", "column 7", "did you mean `like`?"),
            ("arg.0", "column 6", "ends where a comparison of `arg.0` is expected"),
            ("", "column 1", "ends where a comparison is expected"),
            ("arg.0 =", "column 8", "a value is missing"),
            ("(arg.0 = 1", "column 1", "this `(` is not closed"),
            ("arg.0 in ('a', 'b'", "column 10", "this list is not closed"),
            ("arg.0 in 'a'", "column 10", "`(` is expected"),
            ("arg.0 = 1 arg.1 = 2", "column 11", "joined by `and` or `or`"),
            ("arg.0.get(1) = 2", "column 10", "`(1)` where a comparison"),
            ("http.header = 'a'", "column 1", "http.header.X-Tenant"),
            ("http.path.x = 'a'", "column 1", "has no parts"),
            ("mdc = 'a'", "column 1", "`mdc` needs a name"),
            ("arg.0.1st = 'a'", "column 7", "no name of a field or getter"),
            ("arg.0.kind. = 'a'", "column 12", "no name of a field or getter"),
            ("arg.0[x] = 1", "column 7", "`x` is no index of an element; elements of arrays are counted from 0"),
            ("arg.0.items[-1] = 1", "column 13", "`-1` is no index"),
            ("arg.0[2147483648] = 1", "column 7", "is no index"),
            ("arg.0[] = 1", "column 7", "`` is no index"),
            ("arg.0[1 = 1", "column 6", "this `[` is not closed"),
            ("arg.0[1]kind = 1", "column 9", "`kind` after an element; write `.`"),
            ("[1] = 1", "column 1", "`[1]` where a comparison"),
            ("sql[1] = 'a'", "column 1", "`sql` is a text and has no parts"),
            ("sql.text = 'a'", "column 1", "`sql` is a text and has no parts"),
            ("arg.0 between 1", "column 16", "two numbers"),
            ("arg.0 starts 'a'", "column 14", "`with` is expected"),
            ("größe = 1 or ä", "column 1", "nothing that a condition can look at"),
        ];
        for (text, column, reason) in cases {
            let found = problem(text);
            assert!(found.starts_with(&format!("{column} of")) && found.contains(reason), "{text}: {found}");
        }
    }

    #[test]
    fn conditions_are_bounded() {
        let many = vec!["arg.0 = 1"; 40].join(" or ");
        assert!(Condition::parse(&many).is_ok());
        assert!(problem(&vec!["arg.0 = 1"; 64].join(" or ")).contains("more than 64"));
        assert!(problem(&format!("{}arg.0 = 1", "(".repeat(33))).contains("within each other"));
        assert!(problem(&format!("arg.0 = '{}'", "a".repeat(257))).contains("256 are allowed"));
        assert!(problem(&format!("arg.0 = 1{}", " ".repeat(5_000))).contains("4096 are allowed"));
        assert!(problem(&format!("arg.0{} = 1", ".a".repeat(9))).contains("8 are allowed"));
        assert!(problem(&format!("arg.0{} = 1", "[0]".repeat(9))).contains("8 are allowed"));
        assert!(problem(&format!("arg.0 in ({})", vec!["1"; 65].join(","))).contains("64 are allowed"));
    }

    #[test]
    fn members_have_their_places() {
        let members = |text: &str| {
            let condition = Condition::parse(text).unwrap();
            let path = condition.paths()[0].0.clone();
            let columns: Vec<usize> = path.places.iter().map(|at| at + 1).collect();
            let problem = condition.problem_of_member(&path, path.members.len() - 1, "x");
            assert_eq!(problem, format!("column {} of the condition: x", columns.last().unwrap()));
            (path.members, columns)
        };
        let field = |name: &str| MemberPath::Field(name.to_owned());
        let getter = |name: &str| MemberPath::Getter(name.to_owned());
        assert_eq!(members("arg.0[1] = 1"), (vec![MemberPath::Element(1)], vec![6]));
        let items = vec![field("items"), MemberPath::Element(0), MemberPath::Element(12), field("name")];
        assert_eq!(members("arg.10.items[0][12].name = 'a'"), (items, vec![8, 13, 16, 21]));
        assert_eq!(members("this.all()[2]=5"), (vec![getter("all"), MemberPath::Element(2)], vec![6, 11]));
        assert_eq!(members("arg.0.length > 5").0, [field("length")]);
        let query = Condition::parse("http.query.items[0] = 'a'").unwrap();
        assert_eq!(query.paths()[0].0.root, Root::HttpQuery("items[0]".to_owned()));
    }

    #[test]
    fn a_condition_says_what_it_looks_at() {
        let text = "http.path=/pay and not (arg.0.kind() like 'a*' or this.size >= 5) and arg.1 in (true, 'x')";
        let condition = Condition::parse(text).unwrap();
        let paths: Vec<_> =
            condition.paths().into_iter().map(|(path, expected)| (&text[path.span.clone()], expected)).collect();
        assert_eq!(
            paths,
            [
                ("http.path", Expected::Text),
                ("arg.0.kind()", Expected::Text),
                ("this.size", Expected::Number),
                ("arg.1", Expected::Anything)
            ]
        );
        let path = condition.paths()[1].0;
        assert!(condition.problem(path, "it is missing").starts_with("column 25 of the condition: it is missing"));
    }
}
