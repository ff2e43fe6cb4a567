//! What a walk has found, as text: each level once, as soon as it is known.

use std::fmt::Write as _;

use control::{Walk, WalkCaller, WalkLevel};
use trace::report::counted;

use super::super::{margin, percent, remarks};

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
        let mut text = String::new();
        if !self.has_hot && !walk.sampler.is_empty() {
            self.has_hot = true;
            text += &hot(walk);
        }
        walk.levels.iter().skip(self.levels).for_each(|of| text += &level(of));
        self.levels = walk.levels.len();
        text
    }

    /// All that has not been shown, and how it ended.
    pub(super) fn rest(&mut self, walk: &Walk) -> String {
        let mut text = self.news(walk);
        text += &remarks(&walk.notices, &walk.sampler, walk.bias.as_ref().filter(|_| walk.samples > 0));
        match &walk.end {
            Some(end) => end.split("; ").for_each(|end| _ = writeln!(text, "ended at {end}")),
            None => _ = writeln!(text, "{}", walk.state),
        }
        let hooks = &walk.hooks;
        let removed = if hooks.now == 0 { "none is left".to_owned() } else { format!("{} at present", hooks.now) };
        let _ = writeln!(
            text,
            "# probes: at most {} at a time, {removed}; {}, {} that began before; classes changed {}, longest stop {:.1} ms",
            hooks.most,
            counted(hooks.calls, "recorded call"),
            counted(hooks.late, "call"),
            times(hooks.changes),
            hooks.longest_stop_ms
        );
        text
    }
}

fn times(number: usize) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        number => format!("{number} times"),
    }
}

fn hot(walk: &Walk) -> String {
    let mut text = format!("hot by processor time: {} ({})\n", counted(walk.samples, "sample"), walk.sampler);
    for spot in &walk.hot {
        let _ = writeln!(text, "{:>8}  {:<6} {}", percent(spot.share), margin(spot.margin), spot.method);
    }
    text
}

fn level(of: &WalkLevel) -> String {
    let calls = of.calls.map(|calls| format!(", {} measured", counted(calls, "call"))).unwrap_or_default();
    let mut text = format!("\nlevel {}: callers of {}{calls}\n", of.level, of.of);
    if !of.callers.is_empty() {
        text += "   calls            time  processor        caller\n";
    }
    of.callers.iter().for_each(|caller| text += &line(caller));
    for without in &of.without_caller {
        let _ = writeln!(text, "{:>33}         (none: {})", percent(without.share), without.reason);
    }
    if let Some(reason) = &of.reason {
        let _ = writeln!(text, "# {reason}");
    }
    text
}

fn line(caller: &WalkCaller) -> String {
    let share = |share: Option<f64>| share.map_or_else(String::new, percent);
    let (calls, time, processor) = (share(caller.calls_share), share(caller.time_share), share(caller.cpu_share));
    let via = caller.via.as_ref().map(|via| format!("  via {via}")).unwrap_or_default();
    let (of_calls, of_processor) = (margin(caller.calls_margin), margin(caller.margin));
    format!("{calls:>8} {of_calls:<6} {time:>8} {processor:>8} {of_processor:<6}  {}{via}\n", caller.method)
}

#[cfg(test)]
mod tests {
    use control::{HotSpot, WalkHooks, WithoutMethod};

    use super::*;

    fn walk() -> Walk {
        let caller = |method: &str, calls_share, time_share, cpu_share| WalkCaller {
            method: method.to_owned(),
            via: None,
            calls: None,
            calls_share,
            calls_margin: calls_share.map(|_| 0.011),
            time_ms: None,
            time_share,
            cpu_share,
            margin: cpu_share.map(|_| 0.021),
            followed: true,
        };
        let level = |level, of: &str, callers| WalkLevel {
            level,
            hot: "a.Hot.hot()".to_owned(),
            of: of.to_owned(),
            source: "measured".to_owned(),
            calls: Some(1_200),
            covered: Some(0.99),
            share: 1.0,
            callers,
            without_caller: vec![WithoutMethod { reason: "the thread begins there".to_owned(), share: 0.1 }],
            reason: None,
        };
        let spot = HotSpot {
            method: "a.Hot.hot()".to_owned(),
            kind: None,
            share: 0.4,
            margin: Some(0.012),
            waiting: None,
            samples: 400,
        };
        Walk {
            state: "ended".to_owned(),
            samples: 1_000,
            sampler: "async".to_owned(),
            bias: Some("at any instruction".to_owned()),
            hot: vec![spot],
            levels: vec![
                level(
                    1,
                    "a.Hot.hot()",
                    vec![caller("b.X.x()", Some(0.7), Some(0.25), Some(0.3)), caller("b.Y.y()", Some(0.3), None, None)],
                ),
                level(2, "b.X.x()", Vec::new()),
            ],
            hooks: WalkHooks { now: 0, most: 3, calls: 1_300, late: 1, changes: 4, longest_stop_ms: 2.25 },
            end: Some("a.Hot.hot(): root: the threads begin there".to_owned()),
            notices: vec!["n".to_owned()],
        }
    }

    #[test]
    fn all_that_is_known_is_shown_once() {
        let mut shown = Shown::default();
        let begun = Walk { levels: walk().levels[..1].to_vec(), end: None, ..walk() };
        let first = "hot by processor time: 1,000 samples (async)\n  \
            40.0 %  ±1.2   a.Hot.hot()\n\
            \nlevel 1: callers of a.Hot.hot(), 1,200 calls measured\n   \
            calls            time  processor        caller\n  \
            70.0 % ±1.1     25.0 %   30.0 % ±2.1    b.X.x()\n  \
            30.0 % ±1.1                             b.Y.y()\n                           \
            10.0 %         (none: the thread begins there)\n";
        assert_eq!((shown.news(&begun), shown.news(&begun)), (first.to_owned(), String::new()));
        let rest = shown.rest(&walk());
        assert!(rest.starts_with("\nlevel 2: callers of b.X.x(), 1,200 calls measured\n"), "{rest}");
        assert!(
            rest.contains("# n\n# async: at any instruction\nended at a.Hot.hot(): root: the threads begin there\n"),
            "{rest}"
        );
        let last = "# probes: at most 3 at a time, none is left; 1,300 recorded calls, 1 call that began before; classes changed 4 times, longest stop 2.2 ms\n";
        assert!(rest.ends_with(last), "{rest}");
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
