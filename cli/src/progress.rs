//! How far long work is: a line on the terminal that goes when the work is done.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use trace::TraceReader;

/// Work that takes less shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
const BETWEEN_LINES: Duration = Duration::from_millis(100);
const WIDTH: usize = 30;

/// Shows on standard error how much of the recording has been read; only on a terminal.
pub(crate) fn show_progress(reader: &mut TraceReader) {
    if !stderr().is_terminal() {
        return;
    }
    let began = Instant::now();
    let mut next = began + PATIENCE;
    let mut is_shown = false;
    reader.on_progress(move |done, whole| {
        let now = Instant::now();
        if done >= whole && is_shown {
            clear();
        } else if now >= next && done < whole {
            next = now + BETWEEN_LINES;
            is_shown = true;
            let _ = write!(stderr(), "\r{}\x1b[K", line(done, whole, now - began));
        }
    });
}

/// Counts work whose end is not known, on standard error; only on a terminal, and only if it takes long.
#[derive(Debug)]
pub(crate) struct Counting {
    next: Instant,
    is_visible: bool,
    is_shown: bool,
}

impl Counting {
    pub(crate) fn start() -> Counting {
        Counting { next: Instant::now() + PATIENCE, is_visible: stderr().is_terminal(), is_shown: false }
    }

    /// So much has been done by now.
    pub(crate) fn done(&mut self, number: u64, what: &str) {
        // The clock is asked now and then only.
        if self.is_visible && number.is_multiple_of(64) && Instant::now() >= self.next {
            self.next = Instant::now() + BETWEEN_LINES;
            self.is_shown = true;
            let _ = write!(stderr(), "\r{number} {what}\x1b[K");
        }
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            clear();
        }
    }
}

fn clear() {
    let _ = write!(stderr(), "\r\x1b[K");
}

/// `reading [#####     ] 50 %, 3 s left`
fn line(done: u64, whole: u64, elapsed: Duration) -> String {
    let share = done as f64 / whole.max(1) as f64;
    let marks = (share * WIDTH as f64) as usize;
    let left = if share > 0.0 { elapsed.as_secs_f64() * (1.0 - share) / share } else { 0.0 };
    format!("reading [{:<WIDTH$}] {:.0} %, {:.0} s left", "#".repeat(marks.min(WIDTH)), share * 100.0, left.ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_share_and_time_left() {
        let text = line(500, 1_000, Duration::from_secs(3));
        assert_eq!(text, format!("reading [{:<30}] 50 %, 3 s left", "#".repeat(15)));
        assert!(line(0, 0, Duration::ZERO).contains("0 %"));
    }
}
