//! What is shown while a diagnosis goes on, and what stays at the end.

use std::io::{IsTerminal, Write, stderr, stdout};

use anyhow::Result;
use ratatui::crossterm::terminal::size;
use trace::report::{DiagnosisJson, DiagnosisOptions, diagnosis, diagnosis_json};
use trace::{Diagnosis, DiagnosisOrder};

/// Nothing is shortened where the output is no terminal.
const UNLIMITED: usize = 100_000;
/// Rows of the tree that are shown on the lowest terminal.
const FEWEST_ROWS: usize = 3;

/// Shows a diagnosis again and again.
pub(super) enum Display {
    /// The tree, drawn over itself.
    Tree(LiveTree),
    /// A line for each new state, and for the first reason of one.
    States(String, bool),
}

impl Display {
    /// The tree on a terminal that can move its cursor, unless scripts get JSON there.
    pub(super) fn new(json: bool, order: DiagnosisOrder) -> Display {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if json || is_dumb || !stdout().is_terminal() {
            Display::States(String::new(), false)
        } else {
            Display::Tree(LiveTree { lines: Vec::new(), order })
        }
    }

    /// Shows the present state of the diagnosis, with a hint below it.
    pub(super) fn show(&mut self, seen: &Diagnosis, hint: &str) -> Result<()> {
        match self {
            Display::Tree(tree) => tree.draw(seen, hint),
            Display::States(last, has_reason) => {
                // The reason has figures, which change.
                if *last != seen.state || seen.reason.is_some() && !*has_reason {
                    last.clone_from(&seen.state);
                    *has_reason = seen.reason.is_some();
                    let reason = seen.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                    writeln!(stderr(), "{}{reason}", seen.state)?;
                }
                Ok(())
            }
        }
    }

    /// Takes away what is only there while it goes on.
    pub(super) fn clear(&mut self) -> Result<()> {
        if let Display::Tree(tree) = self {
            let erased = tree.erase(terminal_width());
            stdout().write_all(erased.as_bytes())?;
        }
        Ok(())
    }
}

/// Prints a diagnosis for good: the whole tree, or one JSON object.
pub(super) fn print_result(seen: &Diagnosis, json: bool, listed: DiagnosisJson) -> Result<()> {
    let text = if json {
        diagnosis_json(seen, listed)
    } else {
        diagnosis(seen, &options(terminal_width(), usize::MAX, listed.order)).join("\n")
    };
    writeln!(stdout(), "{text}")?;
    Ok(())
}

/// Returns the columns of the terminal. What is no terminal has no width, unless `COLUMNS` says one.
pub(crate) fn terminal_width() -> usize {
    // Shells rarely export it.
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let of_terminal = || stdout().is_terminal().then(|| size().ok()).flatten().map(|(columns, _)| usize::from(columns));
    columns.or_else(of_terminal).filter(|width| *width > 0).unwrap_or(UNLIMITED)
}

fn options(width: usize, rows: usize, order: DiagnosisOrder) -> DiagnosisOptions {
    let emphasis = stdout().is_terminal();
    let colours = emphasis && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    DiagnosisOptions { width, emphasis, colours, rows, order, result_first: false }
}

/// The tree on a terminal. It is drawn without taking the terminal over, so nothing has to be restored whatever ends this command.
pub(super) struct LiveTree {
    /// The lines that are on the screen.
    lines: Vec<String>,
    order: DiagnosisOrder,
}

impl LiveTree {
    fn draw(&mut self, seen: &Diagnosis, hint: &str) -> Result<()> {
        let height = size().map_or(24, |(_, rows)| usize::from(rows)).max(4);
        let width = terminal_width();
        let mut text = self.erase(width);
        self.lines = fitting(seen, (hint, self.order), (width, height - 1));
        self.lines.iter().for_each(|line| text.extend([line, "\n"]));
        // In one write, so that no half of it is ever seen.
        let mut terminal = stdout();
        terminal.write_all(text.as_bytes())?;
        terminal.flush()?;
        Ok(())
    }

    /// Returns what removes the lines from the screen. On a terminal that has become narrower they take more rows than before.
    fn erase(&mut self, width: usize) -> String {
        let rows: usize = self.lines.iter().map(|line| columns(line).div_ceil(width.max(1)).max(1)).sum();
        self.lines.clear();
        if rows == 0 { String::new() } else { format!("\r\x1b[{rows}A\x1b[J") }
    }
}

/// As many lines as the terminal has room for: of a large tree, the rows that explain most.
fn fitting(figures: &Diagnosis, (hint, order): (&str, DiagnosisOrder), (width, height): (usize, usize)) -> Vec<String> {
    let lines = |rows| {
        let mut lines = diagnosis(figures, &options(width, rows, order));
        lines.push(hint.chars().take(width).collect());
        lines
    };
    let all = lines(usize::MAX);
    if all.len() <= height {
        return all;
    }
    // The line on those that are left out takes a row, too.
    let too_many = all.len() + 1 - height;
    let mut some = lines(figures.nodes.len().saturating_sub(too_many).max(FEWEST_ROWS));
    some.truncate(height);
    some
}

/// Columns of a line, without the codes that make letters bold.
fn columns(line: &str) -> usize {
    line.split('\x1b')
        .enumerate()
        .map(|(at, part)| {
            let text = if at == 0 { part } else { part.split_once('m').map_or("", |(_, text)| text) };
            text.chars().count()
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(nodes: usize) -> trace::Diagnosis {
        let node = |at: usize| trace::DiagnosisNode {
            parent: at.checked_sub(1),
            method: format!("a.B.m{at}()"),
            share: Some(1.0 / (at + 1) as f64),
            ..trace::DiagnosisNode::default()
        };
        trace::Diagnosis {
            method: "a.B.m0()".to_owned(),
            state: "descending".to_owned(),
            nodes: (0..nodes).map(node).collect(),
            ..trace::Diagnosis::default()
        }
    }

    #[test]
    fn a_tree_that_is_higher_than_the_terminal_loses_its_least_rows() {
        assert_eq!(fitting(&tree(3), ("hint", DiagnosisOrder::Share), (80, 23)).len(), 9);
        let lines = fitting(&tree(40), ("hint", DiagnosisOrder::Share), (80, 23));
        assert_eq!(lines.len(), 23);
        let text = lines.join("\n");
        assert!(text.contains("m0()") && !text.contains("m39()") && text.contains("more that explain less"), "{text}");
        assert_eq!(lines.last().unwrap(), "hint");
        assert!(fitting(&tree(40), ("hint", DiagnosisOrder::Share), (80, 3)).len() <= 3);
    }

    #[test]
    fn lines_of_a_terminal_that_has_become_narrower_are_erased_as_well() {
        let mut live = LiveTree {
            lines: vec!["\x1b[1m0123456789\x1b[0m".to_owned(), String::new()],
            order: DiagnosisOrder::Share,
        };
        assert_eq!(live.erase(4), "\r\x1b[4A\x1b[J");
        assert_eq!(live.erase(4), "", "they are gone");
    }
}
