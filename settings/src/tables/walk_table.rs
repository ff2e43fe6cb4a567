//! `[walk]`: walks up from hot methods that nobody has asked for.

use core::time::Duration;

use instrument_core::config::{Boolean, list, number, time};
use instrument_core::declare_table;
use instrument_core::rules::patterns::NameGlob;
use serde_spanned::Spanned;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(86_400);
const LONGEST_SAMPLING: Duration = Duration::from_secs(240);

declare_table! {
    /// Walks up from hot methods again and again, as `instr walk` does, without being asked (docs/hot-spots.md). The results are in the recording and its reports, and
    /// `instr walk PID --show` shows the last one.
    pub struct WalkConfig = "walk" {
        /// A walk begins so long after the one before has begun, the first one half a minute after the start, or after this time if it is shorter. Later, if the thread of the last one took more than half a
        /// percent of this time.
        every: Duration = key("every", time(SECOND * 10..=LONGEST), MINUTE * 10),
        /// For how long samples are taken first, to find the hot methods.
        sampling: Duration = key("sampling", time(SECOND..=LONGEST_SAMPLING), SECOND * 10),
        /// From so many hot methods.
        top: u32 = key("top", number(1..=8), 3),
        /// Up to so many levels.
        levels: u32 = key("levels", number(1..=64), 8),
        /// Most probes at a time.
        hooks: u32 = key("hooks", number(2..=64), 16),
        /// The part of one processor that recording calls may take, in percent. Methods that are called more often are recorded in short windows.
        budget: u32 = key("budget-percent", number(1..=100), 2),
        /// Classes whose methods are passed through, with `*` and `**`.
        through: Vec<Spanned<NameGlob>> = key("through", list(NameGlob::class), Vec::new()),
        /// Classes at whose methods a walk ends, with `*` and `**`.
        boundary: Vec<Spanned<NameGlob>> = key("boundary", list(NameGlob::class), Vec::new()),
        /// Whether walks go on from tasks of pools and from threads to who hands them over.
        across_threads: bool = key("across-threads", Boolean, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn read(lines: &str) -> Result<Option<WalkConfig>, String> {
        let config = parse(lines, "instr.toml").map_err(|errors| errors[0].to_string())?.0;
        Ok(config.walk)
    }

    #[test]
    fn a_walk_needs_no_rule_and_is_made_only_where_it_is_stated() {
        assert_eq!(read("[[rule]]\nclass = 'a.B'").unwrap(), None);
        assert_eq!(read("[walk]").unwrap(), Some(WalkConfig::default()));
        let walk = read("[walk]\nevery = '1 min'\nboundary = ['com.acme.web.**']").unwrap().unwrap();
        assert_eq!((walk.every, walk.boundary.len()), (MINUTE, 1));
        for (wrong, said) in [
            ("every = '1 s'", "every"),
            ("top = 9", "top"),
            ("boundary = ['a..b']", "a..b"),
            ("evry = '1 min'", "evry"),
        ] {
            let error = read(&format!("[walk]\n{wrong}")).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
