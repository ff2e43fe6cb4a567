//! What a walk has found, as text: each level once, as soon as it is known.

use trace::Walk;
use trace::report::{walk_end, walk_hot_spots, walk_level};

/// Lines are as long as they need to be: names of methods are to be copied.
const COLUMNS: usize = usize::MAX;

/// What has been shown of a walk.
#[derive(Debug, Default)]
pub(super) struct Shown {
    state: String,
    has_hot: bool,
    levels: usize,
}

impl Shown {
    /// What the walk does now, if that is news.
    pub(super) fn state(&mut self, walk: &Walk) -> Option<String> {
        if self.state == walk.state || walk.state == "sampling" {
            return None;
        }
        self.state.clone_from(&walk.state);
        Some(self.state.clone())
    }

    /// What has been found since the last time.
    pub(super) fn news(&mut self, walk: &Walk) -> String {
        let mut lines = Vec::new();
        if !self.has_hot && !walk.sampler.is_empty() {
            self.has_hot = true;
            lines = walk_hot_spots(walk, COLUMNS);
        }
        lines.extend(walk.levels.iter().skip(self.levels).flat_map(|of| walk_level(walk, of, COLUMNS)));
        self.levels = walk.levels.len();
        text(&lines)
    }

    /// All that has not been shown, and how it ended.
    pub(super) fn rest(&mut self, walk: &Walk) -> String {
        self.news(walk) + &text(&walk_end(walk, COLUMNS))
    }
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use trace::{HotSpot, WalkLevel};

    use super::*;

    fn walk() -> Walk {
        let level =
            |level, of: &str| WalkLevel { level, of: of.to_owned(), calls: Some(1_200), ..WalkLevel::default() };
        Walk {
            state: "ended".to_owned(),
            samples: 1_000,
            sampler: "async".to_owned(),
            hot: vec![HotSpot { method: "a.Hot.hot()".to_owned(), share: 0.4, ..HotSpot::default() }],
            levels: vec![level(1, "a.Hot.hot()"), level(2, "b.X.x()")],
            end: Some("a.Hot.hot(): root: the threads begin there".to_owned()),
            ..Walk::default()
        }
    }

    #[test]
    fn all_that_is_known_is_shown_once() {
        let mut shown = Shown::default();
        let begun = Walk { levels: walk().levels[..1].to_vec(), end: None, ..walk() };
        let first = "hot by processor time: 1,000 samples (async)\n  40.0 %         a.Hot.hot()\n\nlevel 1: callers of a.Hot.hot(), 1,200 calls measured\n";
        assert_eq!((shown.news(&begun), shown.news(&begun)), (first.to_owned(), String::new()));
        let rest = shown.rest(&walk());
        let second = "\nlevel 2: callers of b.X.x(), 1,200 calls measured\nended: a.Hot.hot(): root: the threads begin there\n# probes: at most 0 at a time, none is left; ";
        assert!(rest.starts_with(second), "{rest}");
    }

    #[test]
    fn states_are_said_once() {
        let mut shown = Shown::default();
        let state = |state: &str| Walk { state: state.to_owned(), ..walk() };
        let said: Vec<_> =
            ["sampling", "measuring level 1", "measuring level 1"].map(|of| shown.state(&state(of))).into();
        assert_eq!(said, [None, Some("measuring level 1".to_owned()), None]);
    }
}
