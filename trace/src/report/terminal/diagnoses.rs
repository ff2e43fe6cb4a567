//! A diagnosis as text: the tree with its figures, what it cost, its result. `instr diagnose` draws it again and again, a report once.

use super::table::{Cell, Table};
use super::text::{cut_end, printable, shorten_name, width, wrapped};
use crate::report::units::{count, counted, duration};
use crate::{Diagnosis, DiagnosisNode, DiagnosisOrder, SlowCall, SlowCallStep};

/// Narrower terminals show short titles and no bars.
const ROOM_FOR_BARS: usize = 120;
/// Narrower terminals show neither calls nor what the stacks were doing.
const ROOM_FOR_STACKS: usize = 64;
const BAR: usize = 10;
/// Columns that a name keeps beside the reason why the descent ends there.
const LEAST_OF_NAME: usize = 14;
/// Slow calls that are listed.
const MOST_SLOW_CALLS: usize = 3;
/// Lines of the source that are named.
const MOST_LINES: usize = 3;
/// The separators of a text of the last column: after the guides, and before what must not be shortened.
const NAME: char = '\u{1}';
const TAIL: char = '\u{2}';

/// How a diagnosis looks.
#[derive(Debug, Clone, Copy)]
pub struct DiagnosisOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether the output can show bold and italic letters.
    pub emphasis: bool,
    /// Whether it may have colours.
    pub colours: bool,
    /// Rows of the tree, at most. Of more, those are left out that explain least.
    pub rows: usize,
    /// Which of the methods that are called at the same place come first. By their calls, there is a column that says how many.
    pub order: DiagnosisOrder,
    /// Whether the result is the first line, for readers from the top; otherwise it is the last one, above the prompt.
    pub result_first: bool,
}

/// Returns the lines of a diagnosis: what is diagnosed, the tree, the cost, the state, and before or after these the result if there is one.
#[must_use]
pub fn diagnosis(diagnosis: &Diagnosis, options: &DiagnosisOptions) -> Vec<String> {
    let mut drawing = Drawing { diagnosis, options, lines: Vec::new() };
    if options.result_first {
        drawing.result();
    }
    drawing.head();
    drawing.tree();
    drawing.slow_calls();
    drawing.foot();
    if !options.result_first {
        drawing.result();
    }
    drawing.lines
}

/// Returns the result of a diagnosis, or why it has none.
pub(super) fn in_one_line(diagnosis: &Diagnosis) -> String {
    diagnosis.sentence.clone().unwrap_or_else(|| {
        let reason = diagnosis.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{} has no result{reason}", class_and_method(&diagnosis.method))
    })
}

/// How a line is to be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    /// A part of the path that was followed.
    Followed,
    /// Nothing was measured.
    Unmeasured,
    Titles,
    Result,
}

impl Look {
    fn of(node: &DiagnosisNode) -> Look {
        match node {
            _ if !node.is_measured() => Look::Unmeasured,
            _ if node.followed => Look::Followed,
            _ => Look::Plain,
        }
    }

    fn code(self, colours: bool) -> Option<&'static str> {
        match self {
            Look::Plain => None,
            Look::Followed => Some("1"),
            Look::Unmeasured => Some("3"),
            Look::Titles => Some("4"),
            Look::Result => Some(if colours { "1;32" } else { "1" }),
        }
    }
}

struct Drawing<'a> {
    diagnosis: &'a Diagnosis,
    options: &'a DiagnosisOptions,
    lines: Vec<String>,
}

impl Drawing<'_> {
    fn add(&mut self, look: Look, line: &str) {
        let line = cut_end(line, self.options.width);
        let code = look.code(self.options.colours).filter(|_| self.options.emphasis);
        self.lines.push(code.map_or(line.clone(), |code| format!("\x1b[{code}m{line}\x1b[0m")));
    }

    /// A sentence on as many lines as it needs.
    fn say(&mut self, look: Look, text: &str) {
        for line in wrapped(&printable(text), self.options.width) {
            self.add(look, &line);
        }
    }

    fn head(&mut self) {
        let Diagnosis { method, context, condition, calls, slow, learnt, slower_than_nanos, .. } = self.diagnosis;
        let context = context.as_ref().map(|context| format!(" under {context}")).unwrap_or_default();
        let condition = condition.as_ref().map(|condition| format!(" when {condition}")).unwrap_or_default();
        self.say(Look::Followed, &format!("Diagnosis of {method}{context}{condition}"));
        if !self.diagnosis.has_result() {
            return;
        }
        self.say(
            Look::Plain,
            &match slower_than_nanos {
                Some(0) => format!("all {} count: no limit was given", counted(*calls, "call")),
                Some(nanos) => format!(
                    "{} of {} took longer than {}{}",
                    count(*slow),
                    counted(*calls, "call"),
                    duration(*nanos),
                    if *learnt { " (learnt)" } else { "" }
                ),
                None => format!("{}; which of them are slow is not known yet", counted(*calls, "call")),
            },
        );
    }

    fn tree(&mut self) {
        let mut rows = Vec::new();
        collect(&self.diagnosis.nodes, &self.diagnosis.children(self.options.order), 0, ("", ""), &mut rows);
        if rows.is_empty() {
            return;
        }
        let hidden = hide(&mut rows, self.options.rows, self.options.order);
        let is_wide = self.options.width >= ROOM_FOR_BARS;
        let mut table = Table::new(self.titles(), "method");
        for (_, node, guides) in &rows {
            let jvm = self.jvm_before(node);
            let text = format!("{guides}{jvm}{NAME}{}{TAIL}{}", name(node), tail(node, is_wide));
            table.row(self.cells(node), text);
        }
        let style = super::Style { colours: false };
        let lines = table.lines(self.options.width, style, fit).into_iter();
        let looks = [Look::Titles].into_iter().chain(rows.iter().map(|(_, node, _)| Look::of(node)));
        for (line, look) in lines.zip(looks) {
            self.add(look, line.trim_end().strip_prefix("  ").unwrap_or(&line));
        }
        if hidden > 0 {
            let less = if self.is_by_calls() { "are called less" } else { "explain less" };
            self.add(Look::Plain, &format!("... {} more that {less}", count(hidden as u64)));
        }
    }

    /// Returns what the first node of another JVM has before its name.
    fn jvm_before(&self, node: &DiagnosisNode) -> String {
        let above = node.parent.and_then(|parent| self.diagnosis.nodes.get(parent)).and_then(|parent| parent.jvm);
        node.jvm.filter(|_| node.jvm != above).map(|jvm| format!("JVM {jvm}: ")).unwrap_or_default()
    }

    fn is_by_calls(&self) -> bool {
        self.options.order == DiagnosisOrder::Calls
    }

    fn titles(&self) -> Vec<&'static str> {
        let mut titles = self.titles_by_share();
        if self.is_by_calls() {
            titles.insert(1, "per call");
        }
        titles
    }

    fn titles_by_share(&self) -> Vec<&'static str> {
        match self.options.width {
            ROOM_FOR_STACKS.. if self.diagnosis.counts_all_calls() => {
                vec!["level", "calls", "time", "share", "running", "waiting"]
            }
            _ if self.diagnosis.counts_all_calls() => vec!["lv", "calls", "time", "share"],
            ROOM_FOR_BARS.. => vec!["level", "calls", "slow", "time in slow", "share", "running", "waiting"],
            ROOM_FOR_STACKS.. => vec!["lv", "calls", "slow", "time", "share", "run", "wait"],
            _ => vec!["lv", "slow", "time", "share"],
        }
    }

    fn cells(&self, node: &DiagnosisNode) -> Vec<Cell> {
        let number = |number: Option<u64>| number.map(count).unwrap_or_default();
        let level = node.level.to_string();
        let (calls, slow) = (number(node.calls), number(node.slow_calls));
        let time = node.slow_nanos.map(duration).unwrap_or_default();
        let share = percent(node.share);
        let [running, waiting] = [node.running, node.waiting].map(percent);
        let mut texts = match self.options.width {
            _ if self.diagnosis.counts_all_calls() => vec![level, calls, time, share, running, waiting],
            ROOM_FOR_BARS.. => vec![level, calls, slow, time, with_bar(node.share, &share), running, waiting],
            ROOM_FOR_STACKS.. => vec![level, calls, slow, time, share, running, waiting],
            _ => vec![level, slow, time, share],
        };
        if self.is_by_calls() {
            texts.insert(1, node.per_call.map(frequency).unwrap_or_default());
        }
        texts.into_iter().map(Cell::new).collect()
    }

    /// The slowest of the calls that were recorded one by one, and where their time went.
    fn slow_calls(&mut self) {
        let Diagnosis { slow_calls, recorded_slow_calls, .. } = self.diagnosis;
        let shown = slow_calls.len().min(MOST_SLOW_CALLS);
        if shown == 0 {
            return;
        }
        let of = counted(*recorded_slow_calls, "slow call");
        self.say(Look::Followed, &format!("{of} recorded one by one, the slowest that show where their time went:"));
        for call in slow_calls.iter().take(shown) {
            self.say(Look::Plain, &slow_call(call));
        }
    }

    fn foot(&mut self) {
        let Diagnosis { cost, state, reason, notices, ended_after_nanos, .. } = self.diagnosis;
        if self.diagnosis.has_result() {
            self.say(
                Look::Plain,
                &format!(
                    "{}, {}, longest stop {}, agent's CPU {}",
                    counted(cost.classes, "class"),
                    counted(cost.retransforms, "retransformation"),
                    duration(cost.longest_stop_nanos),
                    duration(cost.cpu_nanos)
                ),
            );
        }
        for notice in notices {
            self.say(Look::Plain, &format!("note: {notice}"));
        }
        if self.diagnosis.has_result() {
            let after = ended_after_nanos.map(|nanos| format!(" after {} of the recording", duration(nanos)));
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            self.say(Look::Plain, &format!("{state}{}{reason}", after.unwrap_or_default()));
        }
    }

    fn result(&mut self) {
        let Diagnosis { explained, sentence, .. } = self.diagnosis;
        if let Some(sentence) = sentence {
            self.say(Look::Result, sentence);
        } else if explained.is_some() {
            let part = percent(*explained);
            let of = if self.diagnosis.counts_all_calls() { "time" } else { "additional time of slow calls" };
            self.say(Look::Plain, &format!("{part} of the {of} is explained"));
        }
    }
}

/// `412 ms after 12.3 s on http-1: Cart.total 400 ms > Dao.find 398 ms`.
fn slow_call(call: &SlowCall) -> String {
    let SlowCall { thread, duration_nanos, began_after_nanos, path, .. } = call;
    let step = |SlowCallStep { method, calls, nanos }: &SlowCallStep| {
        let times = if *calls > 1 { format!(" in {} calls", count(*calls)) } else { String::new() };
        format!("{} {}{times}", without_package(method), duration(*nanos))
    };
    let path: Vec<String> = path.iter().map(step).collect();
    let path = if path.is_empty() { "no call took a tenth of it".to_owned() } else { path.join(" > ") };
    let on = if thread.is_empty() { String::new() } else { format!(" on {thread}") };
    format!("{} after {}{on}: {path}", duration(*duration_nanos), duration(*began_after_nanos))
}

/// `Cart.total` of `com.acme.Cart.total(Order)`.
fn without_package(method: &str) -> &str {
    let name = method.split('(').next().unwrap_or(method);
    let before_method = name.rfind('.').unwrap_or(0);
    name.get(..before_method).and_then(|class| name.get(class.rfind('.')? + 1..)).unwrap_or(name)
}

/// A row of the tree: the place of the node, the node, the guides before its name.
type Row<'n> = (usize, &'n DiagnosisNode, String);

/// Adds a node and what is below it.
fn collect<'n>(
    nodes: &'n [DiagnosisNode],
    children: &[Vec<usize>],
    at: usize,
    guides: (&str, &str),
    rows: &mut Vec<Row<'n>>,
) {
    let Some(node) = nodes.get(at) else { return };
    let (above, branch) = guides;
    rows.push((at, node, format!("{above}{branch}")));
    let below = match branch {
        "" => above.to_owned(),
        "└" => format!("{above} "),
        _ => format!("{above}│"),
    };
    let siblings = children.get(at).map_or(&[][..], Vec::as_slice);
    for (number, child) in siblings.iter().enumerate() {
        let branch = if number + 1 == siblings.len() { "└" } else { "├" };
        collect(nodes, children, *child, (&below, branch), rows);
    }
}

/// Leaves out the rows that say least if there are more than `most`. Returns how many.
fn hide(rows: &mut Vec<Row<'_>>, most: usize, order: DiagnosisOrder) -> usize {
    let hidden = rows.len().saturating_sub(most.max(1));
    let figure = |node: &DiagnosisNode| match order {
        DiagnosisOrder::Share => node.share,
        DiagnosisOrder::Calls => node.per_call,
    };
    let weight = |node: &DiagnosisNode| (node.followed, figure(node).unwrap_or(f64::NEG_INFINITY));
    let mut by_weight: Vec<_> = rows.iter().map(|(at, node, _)| (weight(node), *at)).collect();
    by_weight.sort_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let left_out: Vec<usize> = by_weight.into_iter().take(hidden).map(|(_, at)| at).collect();
    rows.retain(|(at, ..)| !left_out.contains(at));
    hidden
}

/// Calls for each call of another method: `2,000`, `70`, `0.25`, `<0.01`.
fn frequency(calls: f64) -> String {
    match calls {
        10.0.. => count(calls.round() as u64),
        0.01.. => format!("{calls:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ if calls > 0.0 => "<0.01".to_owned(),
        _ => "0".to_owned(),
    }
}

/// `82 %`; nothing if it was not measured.
fn percent(share: Option<f64>) -> String {
    match share.map(|share| share * 100.0).filter(|percent| percent.is_finite()) {
        None => String::new(),
        Some(percent) if percent > 0.0 && percent < 0.5 => "<1 %".to_owned(),
        // Without `-0 %`.
        Some(percent) => format!("{:.0} %", percent.round() + 0.0),
    }
}

/// `########    82 %`: the longer the bar, the larger the share.
fn with_bar(share: Option<f64>, percent: &str) -> String {
    let marks = share.map_or(0, |share| (share.clamp(0.0, 1.0) * BAR as f64).round() as usize);
    format!("{:<BAR$} {percent:>5}", "█".repeat(marks))
}

fn name(node: &DiagnosisNode) -> String {
    if node.kind == "own-code" { "own code".to_owned() } else { printable(&node.method) }
}

/// Through which methods it was called, why the descent ends here, and where slow calls were seen.
fn tail(node: &DiagnosisNode, is_wide: bool) -> String {
    let kind = matches!(node.kind.as_str(), "native" | "waiting").then_some(&node.kind);
    let reason = node.reason.as_ref().or(kind).filter(|reason| **reason != name(node));
    let mut parts: Vec<String> = via(&node.via, is_wide).into_iter().collect();
    parts.extend(reason.map(|reason| printable(reason)));
    let lines: Vec<String> = node.lines.iter().take(MOST_LINES).map(u32::to_string).collect();
    // Of own code they are all that is known.
    if (is_wide || node.kind == "own-code") && !lines.is_empty() {
        parts.push(format!("{} {}", if lines.len() == 1 { "line" } else { "lines" }, lines.join(" ")));
    }
    if parts.is_empty() { String::new() } else { format!(" [{}]", parts.join(", ")) }
}

/// `via 24 methods: JdkDynamicAopProxy.invoke ... JpaRepository.search`.
fn via(methods: &[String], is_wide: bool) -> Option<String> {
    let number = counted(methods.len() as u64, "method");
    let shown = |method: &str| printable(&class_and_method(method));
    match methods {
        [] => None,
        [only] if is_wide => Some(format!("via {}", shown(only))),
        [first, .., last] if is_wide => Some(format!("via {number}: {} ... {}", shown(first), shown(last))),
        _ => Some(format!("via {number}")),
    }
}

/// Returns `Class.method` of `package.Class.method(Types)`.
#[must_use]
pub fn class_and_method(text: &str) -> String {
    let named = text.split('(').next().unwrap_or(text);
    let mut parts: Vec<&str> = named.rsplitn(3, '.').take(2).collect();
    parts.reverse();
    parts.join(".")
}

/// Shortens the name, and only if there is no room for it at all what follows it.
fn fit(text: &str, limit: usize) -> String {
    let (guides, rest) = text.split_once(NAME).unwrap_or(("", text));
    let (name, tail) = rest.split_once(TAIL).unwrap_or((rest, ""));
    let room = limit.saturating_sub(width(guides));
    let tail = cut_end(tail, room.saturating_sub(LEAST_OF_NAME.min(width(name))).max(1));
    let tail = if tail == "…" { "" } else { &tail };
    format!("{guides}{}{tail}", method_name(name, room.saturating_sub(width(tail)).max(1)))
}

/// A name of at most `limit` columns: packages are abbreviated first, then the types of parameters are left out, then the start of the name is.
pub(super) fn method_name(name: &str, limit: usize) -> String {
    let Some((method, types)) = name.split_once('(').filter(|_| width(name) > limit) else {
        return shorten_name(name, limit);
    };
    for types in [&format!("({types}"), "(…)"] {
        let short = shorten_name(method, limit.saturating_sub(width(types)));
        if !short.starts_with('…') {
            return short + types;
        }
    }
    shorten_name(method, limit)
}

#[cfg(test)]
mod tests;
