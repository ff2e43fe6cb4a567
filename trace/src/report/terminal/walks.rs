//! A walk as text: what is hot, who calls it, level by level, and how it ended. `instr walk` prints each part as soon as it is known, a report all of them.

use super::diagnoses::method_name;
use super::text::{cut_end, printable, width, wrapped};
use crate::report::units::{count, counted};
use crate::{HotSpot, Walk, WalkCaller, WalkHooks, WalkLevel, WithoutCaller};

/// The titles of a level, where calls are measured by this.
fn titles(metric: Option<&str>) -> String {
    let sampled = if metric == Some("allocated") { "  sampled" } else { "processor" };
    format!("   calls    {:>12}         {sampled}        caller", metric.unwrap_or("time"))
}

/// Returns the lines with the hot methods of a walk. Lines have at most `columns` columns.
#[must_use]
pub fn walk_hot_spots(walk: &Walk, columns: usize) -> Vec<String> {
    let samples = counted(walk.samples, "sample");
    let by = if walk.metric.as_deref() == Some("allocated") { "allocated bytes" } else { "processor time" };
    let title = format!("hot by {by}: {samples} ({})", printable(&walk.sampler));
    let line = |HotSpot { method, share, margin, .. }: &HotSpot| {
        let before = format!("{:>8}  {:<6} ", percent(*share), in_points(*margin));
        with_method(&before, method, "", columns)
    };
    wrapped(&title, columns).into_iter().chain(walk.hot.iter().map(line)).collect()
}

/// Returns the lines of a level, the first of which is empty.
#[must_use]
pub fn walk_level(walk: &Walk, level: &WalkLevel, columns: usize) -> Vec<String> {
    let WalkLevel { of, callers, without_caller, reason, .. } = level;
    // Levels of several hot methods follow each other.
    let names_hot = walk.hot.len() > 1 && level.hot != *of;
    let hot = if names_hot { format!(", above {}", printable(&level.hot)) } else { String::new() };
    let how = if level.source == "finder" { "counted by a hook" } else { "measured" };
    let calls = level.calls.map(|calls| format!(", {} {how}", counted(calls, "call"))).unwrap_or_default();
    let mut lines = vec![String::new()];
    lines.push(with_method(&format!("level {}: callers of ", level.level), of, &(hot + &calls), columns));
    lines.extend((!callers.is_empty()).then(|| cut_end(&titles(walk.metric.as_deref()), columns)));
    lines.extend(callers.iter().map(|caller| caller_line(caller, columns)));
    let none = |WithoutCaller { reason, share }: &WithoutCaller| {
        cut_end(&format!("{:>40}         (none: {})", percent(*share), printable(reason)), columns)
    };
    lines.extend(without_caller.iter().map(none));
    lines.extend(reason.iter().flat_map(|reason| wrapped(&printable(&format!("# {reason}")), columns)));
    lines
}

/// Returns the last lines of a walk: what should be known about its figures, why it has ended, what its probes have cost.
#[must_use]
pub fn walk_end(walk: &Walk, columns: usize) -> Vec<String> {
    let bias = walk.bias.iter().filter(|_| walk.samples > 0).map(|bias| format!("# {}: {bias}", walk.sampler));
    let mut texts: Vec<String> = walk.notices.iter().map(|notice| format!("# {notice}")).chain(bias).collect();
    match &walk.end {
        Some(end) => texts.extend(end.split("; ").map(|end| format!("ended: {end}"))),
        None if walk.state.is_empty() => {}
        None => texts.push(walk.state.clone()),
    }
    let WalkHooks { now, most, calls, late, changes, longest_stop_nanos } = walk.hooks;
    let left = if now == 0 { "none is left".to_owned() } else { format!("{now} at present") };
    // A recording that was cut may not have them.
    if !walk.state.is_empty() {
        texts.push(format!(
            "# probes: at most {most} at a time, {left}; {}, {} had begun before their level was measured; classes changed {}, longest stop {:.1} ms",
            counted(calls, "recorded call"),
            counted(late, "call"),
            times(changes),
            longest_stop_nanos as f64 / 1e6
        ));
    }
    texts.iter().flat_map(|text| wrapped(&printable(text), columns)).collect()
}

/// Returns all lines of a walk.
pub(super) fn walk(walk: &Walk, columns: usize) -> Vec<String> {
    let mut lines = walk_hot_spots(walk, columns);
    lines.extend(walk.levels.iter().flat_map(|level| walk_level(walk, level, columns)));
    lines.extend(walk_end(walk, columns));
    lines
}

fn caller_line(caller: &WalkCaller, columns: usize) -> String {
    let share = |share: Option<f64>| share.map_or_else(String::new, percent);
    let (calls, time, processor) = (share(caller.calls_share), share(caller.time_share), share(caller.cpu_share));
    let via = caller.via.as_ref().map(|via| format!("  via {}", printable(via))).unwrap_or_default();
    let [of_calls, of_time, of_processor] = [caller.calls_margin, caller.time_margin, caller.margin].map(in_points);
    let before = format!("{calls:>8} {of_calls:<6} {time:>8} {of_time:<6} {processor:>8} {of_processor:<6}  ");
    with_method(&before, &caller.method, &via, columns)
}

/// The name of a method is shortened if there is no room for it, then what follows it is cut.
fn with_method(before: &str, method: &str, after: &str, columns: usize) -> String {
    let method = printable(method);
    let room = columns.saturating_sub(width(before) + width(after)).max(LEAST_OF_NAME);
    cut_end(&format!("{before}{}{after}", method_name(&method, room)), columns)
}

/// Columns that a name keeps beside what follows it.
const LEAST_OF_NAME: usize = 30;

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn in_points(margin: Option<f64>) -> String {
    margin.map_or_else(String::new, |margin| format!("±{:.1}", margin * 100.0))
}

fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        number => format!("{} times", count(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk_of(method: &str) -> Walk {
        let caller = |method: &str, calls_share, time_share, cpu_share| WalkCaller {
            method: method.to_owned(),
            calls_share,
            calls_margin: calls_share.map(|_| 0.011),
            time_share,
            time_margin: time_share.map(|_| 0.031),
            cpu_share,
            margin: cpu_share.map(|_| 0.021),
            followed: true,
            ..WalkCaller::default()
        };
        let level = WalkLevel {
            level: 1,
            hot: method.to_owned(),
            of: method.to_owned(),
            source: "measured".to_owned(),
            calls: Some(1_200),
            covered: Some(0.99),
            share: 1.0,
            callers: vec![
                WalkCaller { via: Some("x.Y.z()".to_owned()), ..caller("b.X.x()", Some(0.7), Some(0.25), Some(0.3)) },
                caller("b.Y.y()", Some(0.3), None, None),
            ],
            without_caller: vec![WithoutCaller { reason: "the thread begins there".to_owned(), share: 0.1 }],
            reason: None,
        };
        let not_measured =
            WalkLevel { level: 2, of: "b.X.x()".to_owned(), reason: Some("r".to_owned()), ..WalkLevel::default() };
        Walk {
            state: "ended".to_owned(),
            samples: 1_000,
            sampler: "async".to_owned(),
            bias: Some("at any instruction".to_owned()),
            hot: vec![HotSpot { method: method.to_owned(), share: 0.4, margin: Some(0.012), samples: 400, kind: None }],
            levels: vec![level, not_measured],
            hooks: WalkHooks { now: 0, most: 3, calls: 1_300, late: 1, changes: 4, longest_stop_nanos: 2_250_000 },
            end: Some("a.Hot.hot(): root: the threads begin there; b: c".to_owned()),
            notices: vec!["n".to_owned()],
            ..Walk::default()
        }
    }

    #[test]
    fn a_walk_is_shown_level_by_level() {
        let expected = "hot by processor time: 1,000 samples (async)\n  \
            40.0 %  ±1.2   a.Hot.hot()\n\
            \nlevel 1: callers of a.Hot.hot(), 1,200 calls measured\n   \
            calls            time         processor        caller\n  \
            70.0 % ±1.1     25.0 % ±3.1     30.0 % ±2.1    b.X.x()  via x.Y.z()\n  \
            30.0 % ±1.1                                    b.Y.y()\n                                  \
            10.0 %         (none: the thread begins there)\n\
            \nlevel 2: callers of b.X.x()\n# r\n\
            # n\n# async: at any instruction\n\
            ended: a.Hot.hot(): root: the threads begin there\nended: b: c\n\
            # probes: at most 3 at a time, none is left; 1,300 recorded calls, 1 call had begun before their level was measured; classes changed 4 times, longest stop 2.2 ms";
        assert_eq!(walk(&walk_of("a.Hot.hot()"), usize::MAX).join("\n"), expected);
    }

    #[test]
    fn lines_fit_and_long_names_lose_their_packages_first() {
        let long = walk_of("com.acme.shop.web.checkout.Prices.discountOf(com.acme.shop.Order, com.acme.shop.Customer)");
        for columns in [40, 78, 118] {
            let lines = walk(&long, columns);
            assert!(lines.iter().all(|line| width(line) <= columns), "{columns}: {}", lines.join("\n"));
        }
        assert!(walk(&long, 78).join("\n").contains("Prices.discountOf("), "{}", walk(&long, 78).join("\n"));
    }
}
