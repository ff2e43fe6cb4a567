//! What the screen shows at the moment, and what keys change in it.

use instrument_core::level::Level;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::widgets::TableState;

use super::background::LevelChange;
use super::figures::{Column, Interval, Row};

/// What a key asks for that the screen cannot do itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Quit,
    Change(LevelChange),
}

/// The state of the screen.
#[derive(Debug)]
pub(crate) struct Screen {
    pub(crate) pid: u32,
    pub(crate) interval: Option<Interval>,
    pub(crate) sort: Column,
    pub(crate) reversed: bool,
    pub(crate) filter: String,
    /// Whether keys are letters of the filter.
    pub(crate) typing: bool,
    pub(crate) paused: bool,
    /// The answer to the last change.
    pub(crate) message: Option<String>,
    pub(crate) colours: bool,
    /// Name and level of the marked row, which stays marked wherever it moves to.
    selected: Option<(String, String)>,
    pub(crate) table: TableState,
}

impl Screen {
    pub(crate) fn new(pid: u32, colours: bool) -> Screen {
        Screen {
            pid,
            interval: None,
            sort: Column::Time,
            reversed: false,
            filter: String::new(),
            typing: false,
            paused: false,
            message: None,
            colours,
            selected: None,
            table: TableState::default(),
        }
    }

    /// Shows new figures, unless the screen is paused.
    pub(crate) fn take(&mut self, interval: Interval) {
        if !self.paused || self.interval.is_none() {
            self.interval = Some(interval);
        }
    }

    /// The rows that pass the filter, in their order.
    pub(crate) fn rows(&self) -> Vec<&Row> {
        let wanted = self.filter.to_lowercase();
        let all = self.interval.iter().flat_map(|interval| &interval.rows);
        let mut rows: Vec<&Row> =
            all.filter(|row| wanted.is_empty() || row.method.to_lowercase().contains(&wanted)).collect();
        rows.sort_by(|a, b| self.sort.compare(a, b));
        if self.reversed {
            rows.reverse();
        }
        rows
    }

    /// Position of the marked row among [`Screen::rows`].
    pub(crate) fn position(&self, rows: &[&Row]) -> Option<usize> {
        let (name, level) = self.selected.as_ref()?;
        let exact = rows.iter().position(|row| row.name() == *name && row.level == *level);
        // Its level may have been changed.
        exact.or_else(|| rows.iter().position(|row| row.name() == *name))
    }

    /// What a key does.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Option<Wish> {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Some(Wish::Quit);
        }
        if self.typing {
            self.type_key(key.code);
            return None;
        }
        match key.code {
            KeyCode::Char('q') => return Some(Wish::Quit),
            KeyCode::Esc if self.filter.is_empty() && self.selected.is_none() => return Some(Wish::Quit),
            KeyCode::Esc => (self.filter, self.selected) = (String::new(), None),
            KeyCode::Char('/') => self.typing = true,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('r') => self.reversed = !self.reversed,
            KeyCode::Char('o') => return self.change(Level::Off),
            KeyCode::Char('w') => return self.change(Level::Watch),
            KeyCode::Char('t') => return self.change(Level::Time),
            KeyCode::Char(digit @ '1'..='8') => self.sort_by(digit as usize - '1' as usize),
            code => self.move_key(code),
        }
        None
    }

    fn type_key(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.typing = false,
            KeyCode::Esc => (self.typing, self.filter) = (false, String::new()),
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) => self.filter.push(letter),
            _ => {}
        }
    }

    fn move_key(&mut self, code: KeyCode) {
        let rows = self.rows();
        let last = rows.len().saturating_sub(1);
        let at = self.position(&rows);
        let next = match code {
            KeyCode::Down | KeyCode::Char('j') => at.map_or(0, |at| at + 1),
            KeyCode::Up | KeyCode::Char('k') => at.map_or(0, |at| at.saturating_sub(1)),
            KeyCode::PageDown => at.map_or(0, |at| at + 10),
            KeyCode::PageUp => at.map_or(0, |at| at.saturating_sub(10)),
            KeyCode::Home => 0,
            KeyCode::End => last,
            KeyCode::Left | KeyCode::Right => return self.next_column(code == KeyCode::Right),
            _ => return,
        };
        let marked = rows.get(next.min(last)).map(|row| (row.name(), row.level.clone()));
        self.selected = marked;
    }

    fn next_column(&mut self, to_the_right: bool) {
        let at = Column::ALL.iter().position(|column| *column == self.sort).unwrap_or(0);
        self.sort_by(if to_the_right { at + 1 } else { at.saturating_sub(1) });
    }

    fn sort_by(&mut self, column: usize) {
        if let Some(column) = Column::ALL.get(column) {
            self.sort = *column;
            self.reversed = false;
        }
    }

    fn change(&mut self, level: Level) -> Option<Wish> {
        let rows = self.rows();
        let Some(row) = self.position(&rows).and_then(|at| rows.get(at)) else {
            self.message = Some("mark a method with the arrow keys first".to_owned());
            return None;
        };
        Some(Wish::Change(LevelChange { method: row.method.clone(), level }))
    }
}
