//! Tables with columns of numbers and one of text at the right.

use super::text::{Style, width};

/// A cell: its text, and the share of the whole that its colour shows.
pub(super) struct Cell {
    text: String,
    percent: f64,
}

impl Cell {
    pub(super) fn new(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), percent: 0.0 }
    }

    /// A cell in the colour of a share.
    pub(super) fn share(text: impl Into<String>, part: u64, whole: u64) -> Cell {
        let percent = if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 };
        Cell { text: text.into(), percent }
    }
}

/// Rows of numbers, right-aligned, each followed by a text of any length.
pub(super) struct Table {
    titles: Vec<&'static str>,
    last_title: &'static str,
    rows: Vec<(Vec<Cell>, String)>,
}

impl Table {
    pub(super) fn new(titles: Vec<&'static str>, last_title: &'static str) -> Table {
        Table { titles, last_title, rows: Vec::new() }
    }

    pub(super) fn row(&mut self, numbers: Vec<Cell>, text: impl Into<String>) {
        self.rows.push((numbers, text.into()));
    }

    /// The lines of the table; `fit` makes a text of the last column as short as it must be.
    pub(super) fn lines(&self, total_width: usize, style: Style, fit: impl Fn(&str, usize) -> String) -> Vec<String> {
        let mut widths: Vec<usize> = self.titles.iter().map(|title| width(title)).collect();
        for (numbers, _) in &self.rows {
            for (column, cell) in widths.iter_mut().zip(numbers) {
                *column = (*column).max(width(&cell.text));
            }
        }
        let used: usize = widths.iter().map(|width| width + 2).sum();
        let left = total_width.saturating_sub(used + 2).max(16);
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        let titles: String =
            widths.iter().zip(&self.titles).map(|(width, title)| format!("  {title:>width$}")).collect();
        lines.push(style.faint(format!("{titles}  {}", self.last_title).trim_end()));
        for (numbers, text) in &self.rows {
            let numbers = widths.iter().zip(numbers).map(|(column, cell)| {
                let padding = " ".repeat(2 + column.saturating_sub(width(&cell.text)));
                padding + &style.share(cell.percent, &cell.text)
            });
            lines.push(format!("{}  {}", numbers.collect::<String>(), fit(text, left)));
        }
        lines
    }
}
