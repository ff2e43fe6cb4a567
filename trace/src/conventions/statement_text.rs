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

/// First words of statements in which `PASSWORD` is followed by one, unless they have one of the other words: then it may be a column.
const ABOUT_USERS: &[&str] = &["create", "alter", "set", "grant", "connect"];
const NOT_ABOUT_USERS: &[&str] = &["table", "view", "index", "function", "procedure", "trigger", "select"];

struct Scan<'s> {
    rest: &'s str,
    text: String,
    /// What follows may be values.
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
            '#' if self.is_operator(after) => self.copy(1),
            // MySQL's comment. Elsewhere a sign that few use: a statement of theirs loses the rest of the line.
            '#' => self.skip_to(after_line(after)),
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

    /// A text in quotation marks, after the first of them. One that is doubled does not end it; whether one after `\` does, or one of three, depends on the
    /// database: then the rest of the statement is left out.
    fn quoted(&mut self, after: &'s str, quote: char) {
        let mut rest = after;
        let after_three = after_three_quotes(after, quote);
        loop {
            let Some((text, following)) = rest.split_once(quote) else { return self.value("") };
            let signs = text.len() - text.trim_end_matches('\\').len();
            // `escape '\'` is complete in any database.
            let is_escape_sign = text == "\\" && !following.starts_with(quote) && self.last_word() == "escape";
            if signs % 2 == 1 && !is_escape_sign {
                return self.cut();
            }
            match following.strip_prefix(quote) {
                Some(following) => rest = following,
                None if following.starts_with(is_of_word) => return self.cut(),
                None if after_three.is_some_and(|other| other.len() != following.len()) => return self.cut(),
                None => return self.value(following),
            }
        }
    }

    /// Leaves out the rest.
    fn cut(&mut self) {
        self.is_cut = true;
        self.value("");
    }

    /// Whether `#` begins an operator of PostgreSQL (`#>`, `#>>`, `#-`) or ends that of pgvector (`<#>`).
    fn is_operator(&self, after: &str) -> bool {
        let is_after_operand = |last: char| is_of_word(last) || matches!(last, ')' | ']' | '?' | '"' | '<');
        (after.starts_with('>') || after.starts_with('-') && !after.starts_with("--"))
            && self.text.trim_end().ends_with(is_after_operand)
    }

    /// Whether `"..."` is a name: some databases take it for a text, unless it is a part of a longer name or follows a word that a table follows.
    fn is_name(&self, after: &str) -> bool {
        let Some((name, following)) = after.split_once('"') else { return false };
        let is_of_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.');
        if name.is_empty()
            || !name.chars().all(is_of_name)
            || following.starts_with(|next| next == '"' || is_of_word(next))
        {
            return false;
        }
        self.text.ends_with('.') || following.starts_with('.') || self.text.ends_with(' ') && self.is_before_table()
    }

    fn is_before_table(&self) -> bool {
        let mut words = self.text.split_whitespace().rev().map(str::to_ascii_lowercase);
        let last = words.next().map(|word| last_word_of(&word)).unwrap_or_default();
        BEFORE_TABLES.contains(&last.as_str())
            && words.next().is_none_or(|before| last_word_of(&before) != "distinct")
            && !WITH_FROM.contains(&self.function().as_str())
    }

    /// Whether the next word is a password: after `IDENTIFIED BY`, `REPLACE` in the same statement, and `PASSWORD` in statements about users.
    fn is_before_password(&self, word: &str) -> bool {
        let text = self.text.trim_end_matches([' ', '=']);
        match last_word_of(text).as_str() {
            "by" => last_word_of(text.get(..text.len() - 2).unwrap_or_default()) == "identified",
            "replace" => self.text.to_ascii_lowercase().contains("identified by"),
            "password" => {
                let all = self.text.to_ascii_lowercase();
                let mut words = all.split(|letter: char| !is_of_word(letter)).filter(|word| !word.is_empty());
                !word.eq_ignore_ascii_case("for")
                    && words.next().is_some_and(|first| ABOUT_USERS.contains(&first))
                    && !words.any(|word| NOT_ABOUT_USERS.contains(&word))
            }
            _ => false,
        }
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
            None if self.is_before_password(word) => {
                let ends =
                    |letter: char| letter.is_whitespace() || matches!(letter, '\'' | '"' | ';' | ',' | '(' | ')');
                self.value(following.trim_start_matches(|letter| !ends(letter)));
            }
            None => self.copy(length),
        }
    }
}

fn last_word_of(text: &str) -> String {
    let word = text.trim_end().rsplit(|letter: char| !is_of_word(letter)).next();
    word.unwrap_or_default().to_ascii_lowercase()
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}

/// What follows a text in three quotation marks, after the first of them; `None` if it is not one in any database.
fn after_three_quotes(after: &str, quote: char) -> Option<&str> {
    let three = String::from_iter([quote; 3]);
    let inner = after.strip_prefix([quote])?.strip_prefix([quote])?;
    inner.split_once(three.as_str()).map(|(_, following)| following)
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

    #[test]
    fn quotation_marks_that_databases_read_differently_show_nothing() {
        for (sql, expected) in [
            ("where mail is distinct from \"bob@x\"", "where mail is distinct from ?"),
            ("where mail is not distinct  from \"bob\" and a = 1", "where mail is not distinct from ? and a = ?"),
            ("select * from \"bob@x\", \"a b\".c", "select * from ?, ...c"),
            (
                "select a from \"s\".\"t_1\" join \"A$b\" on x.\"id\" = 1",
                "select a from \"s\".\"t_1\" join \"A$b\" on x.\"id\" = ?",
            ),
            ("from \"a\"\"b secret\" x", "from ? x"),
            (r#"select """it"s secret""" from t"#, "select ?..."),
            (r#"select """it" s secret""" from t"#, "select ?..."),
            (r#"select * from """it"s secret""""#, "select * from ?..."),
            ("select '''it' secret''' from t", "select ?..."),
            ("select '''quoted''', '''' from t", "select ?, .. from t"),
            ("select 'a'secret", "select ?..."),
            ("from \"a\"secret", "from ?..."),
            ("select 'a'::text, 'b'||c", "select ?::text, ?||c"),
        ] {
            assert_eq!(statement_without_values(sql, 1_000), expected, "{sql}");
        }
    }

    #[test]
    fn comments_of_mysql_are_left_out_and_operators_of_postgresql_are_not() {
        for (sql, expected) in [
            ("select a #secret\nfrom t", "select a from t"),
            ("select a#it's secret\nfrom t where b = 5#secret", "select a from t where b = ?"),
            ("#secret\nselect a, #- secret\nb #-- secret", "select a, b"),
            ("select a #> '{b}', c#>>'{d}', (e) #- $1 from t", "select a #> ?, c#>>?, (e) #- $1 from t"),
            ("order by v <#> '[1, 2]'", "order by v <#> ?"),
        ] {
            assert_eq!(statement_without_values(sql, 1_000), expected, "{sql}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        for (sql, expected) in [
            ("ALTER USER scott IDENTIFIED BY tiger", "ALTER USER scott IDENTIFIED BY ?"),
            ("alter user a identified\n by ti$g#er-1 replace lion;", "alter user a identified by ? replace ?;"),
            ("create user a identified by values 'x'", "create user a identified by ? ?"),
            ("create user a password 'x y'", "create user a password ?"),
            ("create user a password tiger admin", "create user a password ? admin"),
            ("alter login a with password = tiger, b = c", "alter login a with password = ?, b = c"),
            ("alter role a password N'x y'", "alter role a password ?"),
            ("set password for bob = 'x'", "set password for bob = ?"),
            ("select password from users where password = ?", "select password from users where password = ?"),
            ("create table u (password varchar(20))", "create table u (password varchar(?))"),
            ("select a from t order by b", "select a from t order by b"),
        ] {
            assert_eq!(statement_without_values(sql, 1_000), expected, "{sql}");
        }
    }

    /// Any text is accepted, and no letter between quotation marks of one kind is shown.
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
