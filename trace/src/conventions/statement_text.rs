//! The text of a statement of SQL without its values: they may be secrets, and make equal statements look different.

/// Words that may stand before a text in quotation marks, and belong to it.
const PREFIXES: &[&str] = &["n", "e", "x", "b", "r", "u&", "q", "nq"];
/// Words after which a name in quotation marks is that of a table.
const BEFORE_TABLES: &[&str] = &["from", "join", "into", "update", "table", "only"];

/// Returns the statement with `?` in the place of texts and numbers, `?, ..` in that of several, without comments and line breaks, and no more than this many
/// characters of it. Where databases disagree on what is a text, it is one.
#[must_use]
pub fn statement_without_values(sql: &str, most_characters: usize) -> String {
    let mut scan = Scan { rest: sql, text: String::with_capacity(sql.len().min(4 * most_characters)), is_cut: false };
    while !scan.rest.is_empty() && !scan.is_cut {
        scan.step();
    }
    let Scan { mut text, is_cut, .. } = scan;
    text.truncate(text.trim_end().len());
    let end = text.char_indices().nth(most_characters).map(|(end, _)| end);
    if let Some(end) = end {
        text.truncate(end);
    }
    if end.is_some() || is_cut {
        text.push_str("...");
    }
    text
}

/// Functions with a `from` that a text may follow.
const WITH_FROM: &[&str] = &["trim", "extract", "substring", "substr", "overlay", "position"];

struct Scan<'s> {
    rest: &'s str,
    text: String,
    /// What follows cannot be told from values.
    is_cut: bool,
}

impl<'s> Scan<'s> {
    fn step(&mut self) {
        let rest = self.rest;
        let Some(first) = rest.chars().next() else { return };
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        match first {
            _ if first.is_whitespace() => self.skip_to(after),
            '-' if after.starts_with('-') => self.skip_to(after_line(after)),
            // MySQL's comment; elsewhere a sign that few use.
            '#' if after.starts_with(char::is_whitespace) => self.skip_to(after_line(after)),
            '/' if after.starts_with('*') => self.skip_to(after_comment(rest)),
            '\'' => self.quoted(after, '\''),
            '"' if !self.is_name(after) => self.quoted(after, '"'),
            '"' | '`' => self.copy_name(after, first),
            '$' => self.dollar(rest),
            '?' => {
                let digits = after.len() - after.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
                // A parameter may have a number.
                if digits == 0 { self.value(after) } else { self.copy(1 + digits) }
            }
            _ if first.is_ascii_digit() || first == '.' && after.starts_with(|next: char| next.is_ascii_digit()) => {
                self.value(after_number(rest));
            }
            _ if is_of_word(first) || first == ':' || first == '@' => self.word(rest, first),
            _ => self.copy(first.len_utf8()),
        }
    }

    /// Goes on there, with one space in between.
    fn skip_to(&mut self, rest: &'s str) {
        self.rest = rest;
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }

    fn copy(&mut self, bytes: usize) {
        let (copied, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.text.push_str(copied);
        self.rest = rest;
    }

    /// Puts `?` there, or `?, ..` if it is one of several.
    fn value(&mut self, rest: &'s str) {
        self.rest = rest;
        let before = self.text.trim_end().strip_suffix(',').map(str::trim_end);
        match before {
            Some(before) if before.ends_with("?, ..") => self.text.truncate(before.len()),
            Some(before) if before.ends_with('?') => {
                self.text.truncate(before.len());
                self.text.push_str(", ..");
            }
            _ => self.text.push('?'),
        }
    }

    /// A text in quotation marks, after the first of them. One that is doubled does not end it; whether one after `\` does depends on the database.
    fn quoted(&mut self, after: &'s str, quote: char) {
        let mut rest = after;
        loop {
            let Some((text, following)) = rest.split_once(quote) else { return self.value("") };
            let signs = text.len() - text.trim_end_matches('\\').len();
            // `escape '\'` is complete in any database.
            let is_escape_sign = text == "\\" && !following.starts_with(quote) && self.last_word() == "escape";
            if signs % 2 == 1 && !is_escape_sign {
                self.is_cut = true;
                return self.value("");
            }
            match following.strip_prefix(quote) {
                Some(following) => rest = following,
                None => return self.value(following),
            }
        }
    }

    /// Whether `"..."` is a name: some databases take it for a text, unless it is a part of a longer name or follows a word that a table follows.
    fn is_name(&self, after: &str) -> bool {
        let following = after.split_once('"').map(|(_, following)| following);
        self.text.ends_with('.')
            || following.is_some_and(|following| following.starts_with('.'))
            || self.text.ends_with(' ')
                && BEFORE_TABLES.contains(&self.last_word().as_str())
                && !WITH_FROM.contains(&self.function().as_str())
    }

    /// The last word up to here, in lower case.
    fn last_word(&self) -> String {
        last_word_of(&self.text)
    }

    /// The word before the parenthesis that is open here, in lower case.
    fn function(&self) -> String {
        let mut open = 0_i32;
        let found = self.text.char_indices().rev().find(|(_, letter)| {
            open += i32::from(*letter == '(') - i32::from(*letter == ')');
            open > 0
        });
        last_word_of(found.and_then(|(at, _)| self.text.get(..at)).unwrap_or_default())
    }

    fn copy_name(&mut self, after: &str, quote: char) {
        match after.find(quote) {
            Some(end) => self.copy(end + 2),
            None => self.value(""),
        }
    }

    /// `$1` is a parameter, `$tag$...$tag$` a text.
    fn dollar(&mut self, rest: &'s str) {
        let after = rest.get(1..).unwrap_or_default();
        let tag =
            after.len() - after.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_').len();
        let is_parameter = after.starts_with(|letter: char| letter.is_ascii_digit());
        let opening = rest.get(..tag + 2).filter(|opening| opening.ends_with('$') && !is_parameter);
        match opening {
            Some(opening) => {
                let text = rest.get(opening.len()..).unwrap_or_default();
                self.value(text.split_once(opening).map_or("", |(_, following)| following));
            }
            None => self.copy(1 + tag),
        }
    }

    fn word(&mut self, rest: &'s str, first: char) {
        let tail = rest.get(first.len_utf8()..).unwrap_or_default();
        let length = rest.len() - tail.trim_start_matches(is_of_word).len();
        let (word, following) = rest.split_at_checked(length).unwrap_or((rest, ""));
        let with_sign = following.strip_prefix('&').filter(|_| word.eq_ignore_ascii_case("u"));
        let text = with_sign.unwrap_or(following).strip_prefix('\'');
        let is_prefix = PREFIXES.iter().any(|known| word.eq_ignore_ascii_case(known.trim_end_matches('&')));
        match text.filter(|_| is_prefix) {
            Some(text) if word.ends_with(['q', 'Q']) => self.value(after_own_quotes(text)),
            Some(text) => self.quoted(text, '\''),
            None => self.copy(length),
        }
    }
}

fn last_word_of(text: &str) -> String {
    let word = text.trim_end().rsplit(|letter: char| !is_of_word(letter)).next();
    word.unwrap_or_default().to_ascii_lowercase()
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '#')
}

fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// What follows `/* ... */`, which may contain another one.
fn after_comment(text: &str) -> &str {
    let (mut rest, mut depth) = (text, 0_u32);
    loop {
        if let Some(inner) = rest.strip_prefix("/*") {
            (rest, depth) = (inner, depth + 1);
        } else if let Some(outer) = rest.strip_prefix("*/") {
            (rest, depth) = (outer, depth.saturating_sub(1));
            if depth == 0 {
                return rest;
            }
        } else {
            let mut letters = rest.chars();
            if letters.next().is_none() {
                return "";
            }
            rest = letters.as_str();
        }
    }
}

/// Oracle's `q'[it's]'`, after the quotation mark.
fn after_own_quotes(text: &str) -> &str {
    let Some(opening) = text.chars().next() else { return "" };
    let closing = match opening {
        '[' => ']',
        '(' => ')',
        '{' => '}',
        '<' => '>',
        other => other,
    };
    let end = format!("{closing}'");
    let inner = text.get(opening.len_utf8()..).unwrap_or_default();
    inner.split_once(end.as_str()).map_or("", |(_, following)| following)
}

/// `12`, `1.5e-3`, `0xff`.
fn after_number(text: &str) -> &str {
    let mut rest = text;
    loop {
        let after =
            rest.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '.' || letter == '_');
        let taken = text.get(..text.len() - after.len()).unwrap_or_default();
        let is_exponent = taken.ends_with(['e', 'E']) && !taken.starts_with("0x") && !taken.starts_with("0X");
        match after
            .strip_prefix(['+', '-'])
            .filter(|power| is_exponent && power.starts_with(|of: char| of.is_ascii_digit()))
        {
            Some(power) => rest = power,
            None => return after,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out_and_all_else_stays() {
        for (sql, expected) in [
            ("SELECT *\n  FROM orders\tWHERE customer = ?", "SELECT * FROM orders WHERE customer = ?"),
            ("select 'it''s' || x from t1 where a='b' and c = ''", "select ? || x from t1 where a=? and c = ?"),
            ("select 1, -2.5e-3, .5, 0xFF, 1e+6, a1, t.c2", "select ?, -?, .., a1, t.c2"),
            ("where a in (1, 2,'three' , ?) and b = 4", "where a in (?, ..) and b = ?"),
            ("insert into t values (?, ?, ?), (1, 'x', null)", "insert into t values (?, ..), (?, .., null)"),
            ("select /* 'hint' /* inner */ still */ a -- it's\nfrom t -- end", "select a from t"),
            ("select a # don't\nfrom t", "select a from t"),
            (
                "select $1, ?2, :name, @var from x where b = $$it's$$ or c = $t$ $x$ $t$",
                "select $1, ?2, :name, @var from x where b = ? or c = ?",
            ),
            ("select N'x', E'y', U&'z', x'ff', q'[it's]', DATE '2020-01-01'", "select ?, .., DATE ?"),
            (
                "select o.\"id\" from \"orders\" o where o.name = \"Smith\"",
                "select o.\"id\" from \"orders\" o where o.name = ?",
            ),
            ("select `a b` from `t` where [c] = 5", "select `a b` from `t` where [c] = ?"),
            (r"a like ? escape '\' and b = 'x'", "a like ? escape ? and b = ?"),
            (r"select 'c:\\', 'd' from t", "select ?, .. from t"),
            ("select trim(both 'x' from \"Smith\") from \"t\"", "select trim(both ? from ?) from \"t\""),
            ("select (select max(id) from \"u\") from \"t\"", "select (select max(id) from \"u\") from \"t\""),
            ("  ", ""),
            ("where a = 'open", "where a = ?"),
            ("where a = \"open", "where a = ?"),
            ("from \"open", "from ?"),
            ("where a = $$open", "where a = ?"),
            ("where a = q'[open'", "where a = ?"),
            ("/* open", ""),
            ("größe = 'ä' und ü = 5", "größe = ? und ü = ?"),
        ] {
            assert_eq!(statement_without_values(sql, 1_000), expected, "{sql}");
        }
    }

    #[test]
    fn what_may_be_a_value_in_some_database_is_not_shown() {
        // MySQL: one text. Others: the text `a\`, then the text `, `, then a word.
        let cut = statement_without_values(r"select 'a\', secret, 'b' from t", 1_000);
        assert_eq!(cut, "select ?...");
        assert_eq!(statement_without_values(r"select 'it\'s secret', 2", 1_000), "select ?...");
        assert!(!statement_without_values("where a = \"secret\" and b = 'x'", 1_000).contains("secret"));
    }

    /// Whatever of which signs: it does not fail, and no letter of a value is shown that stands between quotation marks of one kind.
    #[test]
    fn any_text_can_be_read() {
        let signs: Vec<char> = "'\"`$?-/*#\\()[],. \n:@=qeE1xäa_&".chars().collect();
        let mut seed = 1_u64;
        for _ in 0..20_000 {
            let mut next = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) as usize
            };
            let text: String = (0..next() % 24).map(|_| signs[next() % signs.len()]).collect();
            _ = statement_without_values(&text, 1 + next() % 30);
            let quoted = format!("select 'SECRET{}SECRET' from t", text.replace(['\'', '\\'], ""));
            assert_eq!(statement_without_values(&quoted, 1_000), "select ? from t", "{quoted}");
        }
    }

    #[test]
    fn long_statements_are_cut() {
        let long = format!("select {} from t", "ä, ".repeat(600));
        let cut = statement_without_values(&long, 100);
        assert_eq!(cut.chars().count(), 103);
        assert!(cut.starts_with("select ä, ä") && cut.ends_with("..."));
    }
}
