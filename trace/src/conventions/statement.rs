//! What a statement of SQL does and to which table, without its values: a name of few values.

/// Words that begin a statement.
const OPERATIONS: &[&str] = &[
    "ALTER",
    "BEGIN",
    "CALL",
    "COMMIT",
    "CREATE",
    "DELETE",
    "DROP",
    "EXEC",
    "EXECUTE",
    "EXPLAIN",
    "GRANT",
    "INSERT",
    "LOCK",
    "MERGE",
    "REPLACE",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "TRUNCATE",
    "UPDATE",
    "VALUES",
    "WITH",
];
/// Letters of a statement that are looked at.
const MOST_LETTERS: usize = 4_000;

/// The operation of a statement, and its first table if it names one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementSummary {
    /// `SELECT`, in upper case.
    pub operation: &'static str,
    /// The table as the statement writes it, without quotation marks.
    pub table: Option<String>,
}

impl StatementSummary {
    /// Returns `SELECT members`, or the operation alone.
    #[must_use]
    pub fn text(&self) -> String {
        self.table.as_ref().map_or_else(|| self.operation.to_owned(), |table| format!("{} {table}", self.operation))
    }
}

/// Returns what a statement does; `None` if it begins with no known word.
#[must_use]
pub fn summary_of_statement(sql: &str) -> Option<StatementSummary> {
    let end = sql.char_indices().nth(MOST_LETTERS).map_or(sql.len(), |(end, _)| end);
    let mut words = Words { rest: sql.get(..end).unwrap_or_default() };
    let first = words.find(|word| *word != "(" && *word != "{")?;
    let operation = OPERATIONS.iter().find(|known| first.eq_ignore_ascii_case(known))?;
    let is = |word: &str, wanted: &[&str]| wanted.iter().any(|one| word.eq_ignore_ascii_case(one));
    let table = match *operation {
        "SELECT" | "DELETE" => words.find(|word| is(word, &["FROM"])).and_then(|_| words.next()),
        "INSERT" | "MERGE" | "REPLACE" => words.find(|word| is(word, &["INTO"])).and_then(|_| words.next()),
        "ALTER" | "CREATE" | "DROP" => words
            .find(|word| is(word, &["TABLE", "AS", "VIEW", "INDEX"]))
            .filter(|word| is(word, &["TABLE"]))
            .and_then(|_| words.find(|word| !is(word, &["IF", "NOT", "EXISTS", "ONLY"]))),
        "UPDATE" | "CALL" => words.find(|word| !is(word, &["ONLY"])),
        "TRUNCATE" => words.find(|word| !is(word, &["TABLE", "ONLY"])),
        _ => None,
    };
    let table = table.map(|name| name.replace(['"', '`', '[', ']'], ""));
    Some(StatementSummary {
        operation,
        table: table.filter(|name| name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')),
    })
}

/// Words, names and single signs, without comments and without texts in quotation marks.
struct Words<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let rest = self.rest.trim_start();
            if let Some(comment) = rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else if let Some(comment) = rest.strip_prefix("--") {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(text) = rest.strip_prefix('\'') {
                self.rest = text.split_once('\'').map_or("", |(_, rest)| rest);
            } else {
                let of_name = |letter: char| letter.is_alphanumeric() || "_.$#\"`[]".contains(letter);
                let first = rest.chars().next()?;
                let end = rest.find(|letter| !of_name(letter)).unwrap_or(rest.len()).max(first.len_utf8());
                let (word, after) = rest.split_at_checked(end)?;
                self.rest = after;
                return Some(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_named_by_its_operation_and_table() {
        for (sql, summary) in [
            ("select m.name from members m where m.id = 17", Some("SELECT members")),
            ("SELECT 'from x' AS a /* from y */ FROM \"shop\".\"Order\" o", Some("SELECT shop.Order")),
            ("-- loans\ninsert into loan (book, member) values (?, 'into x')", Some("INSERT loan")),
            ("update only book set title = 'x' where id = 1", Some("UPDATE book")),
            ("DELETE FROM `loan`", Some("DELETE loan")),
            ("create table if not exists book (isbn varchar)", Some("CREATE book")),
            ("create index book_title on book(title)", Some("CREATE")),
            ("merge into [dbo].[book] using x on 1 = 1", Some("MERGE dbo.book")),
            ("select count(*) from (select 1 from t) x", Some("SELECT")),
            ("{call total(?)}", Some("CALL total")),
            ("select 1", Some("SELECT")),
            ("commit", Some("COMMIT")),
            ("find me", None),
            ("", None),
            ("'", None),
        ] {
            assert_eq!(summary_of_statement(sql).map(|summary| summary.text()).as_deref(), summary, "{sql}");
        }
    }
}
