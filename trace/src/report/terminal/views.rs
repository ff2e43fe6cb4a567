//! One way of looking at a recording, whole: a table whose last line is the sum, which is the same in each view.

use super::comparison::name_of;
use super::table::{Cell, Table};
use super::text::{Style, cut_end, printable, shorten_name};
use super::tree::{self, TreeView};
use super::{Report, TerminalOptions, WATCH_LEGEND, at_least, estimated};
use super::{allocations, samples};
use crate::Analysis;
use crate::analysis::{CallTree, Frame, GroupRow, Grouping, InputOutputRow, Measure, groups, package_of, stacks};
use crate::report::units::{bytes, count, counted, duration, percent};

/// By what the figures of a recording are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// The process that was recorded.
    Process,
    /// Threads.
    Thread,
    /// Modules, packages or classes.
    Groups(Grouping),
    /// Methods.
    Method,
    /// Call paths, each with the time at its end.
    Stack,
    /// The call tree.
    Tree,
}

impl View {
    fn title(self) -> &'static str {
        match self {
            View::Process => "Process",
            View::Thread => "Threads",
            View::Groups(Grouping::Module) => "Modules",
            View::Groups(Grouping::Package) => "Packages",
            View::Groups(Grouping::Class) => "Classes",
            View::Method => "Methods",
            View::Stack => "Stacks",
            View::Tree => "Call tree",
        }
    }
}

/// Calls, samples or allocations: what they are counted in, and all of them.
struct Source<'a> {
    tree: &'a CallTree,
    frames: &'a [Frame],
    unit: fn(u64) -> String,
    /// What the figures are, where there is only one column of them.
    amount: &'static str,
    /// Title of the column of counts; none if the figures are counts themselves.
    calls: Option<&'static str>,
    all_calls: u64,
}

/// A line of a view. `total` is missing where only one figure makes sense.
struct Line {
    own: u64,
    total: Option<u64>,
    calls: u64,
    is_estimated: bool,
    name: String,
}

/// One view of a recording, of its calls, its samples and its allocations, as text for a terminal.
#[must_use]
pub fn view(analysis: &Analysis, view: View, options: &TerminalOptions) -> String {
    let mut report = Report { style: Style { colours: options.colours }, options, lines: Vec::new() };
    report.probe_advice(analysis);
    report.head(analysis);
    if analysis.calls > 0 {
        let (tree, frames, all_calls) = (&analysis.tree, analysis.frames.as_slice(), analysis.calls);
        let source = Source { tree, frames, unit: duration, amount: "time", calls: Some("calls"), all_calls };
        let by = if matches!(view, View::Groups(_) | View::Method) { name_of(options.by) } else { "time" };
        let total = if view == View::Thread { analysis.recorded_total() } else { tree.total() };
        let title = format!("{} by {by}, in {} of calls", view.title(), duration(total));
        let threads = analysis.threads.iter().map(|row| (row.name.clone(), row.id, row.calls, row.total));
        section(&mut report, &title, view, &source, &lines(analysis, view, &source, threads));
    }
    if let Some(profile) = &analysis.samples {
        let (tree, frames, all_calls) = (&profile.tree, profile.frames.as_slice(), profile.ticks);
        let source = Source { tree, frames, unit: count, amount: "samples", calls: None, all_calls };
        let title = format!("{} by samples", view.title());
        samples::head(&mut report, profile, &title);
        let threads = profile.threads.iter().map(|row| (row.name.clone(), row.id, row.ticks, row.ticks));
        section(&mut report, "", view, &source, &lines(analysis, view, &source, threads));
    }
    if let Some(profile) = &analysis.allocations {
        let (tree, frames, all_calls) = (&profile.stacks.tree, profile.stacks.frames.as_slice(), profile.samples);
        let source = Source { tree, frames, unit: bytes, amount: "bytes", calls: None, all_calls };
        allocations::head(&mut report, profile, &format!("{} by allocated memory", view.title()));
        let threads = profile.stacks.threads.iter().map(|row| (row.name.clone(), row.id, row.ticks, row.ticks));
        section(&mut report, "", view, &source, &lines(analysis, view, &source, threads));
    }
    if analysis.calls == 0 && analysis.samples.is_none() && analysis.allocations.is_none() {
        report.nothing(analysis);
    }
    if let View::Groups(grouping) = view {
        input_output(&mut report, &analysis.input_output, grouping);
    }
    report.lines.join("\n") + "\n"
}

fn lines(
    analysis: &Analysis,
    view: View,
    source: &Source<'_>,
    threads: impl Iterator<Item = (String, u64, u64, u64)>,
) -> Vec<Line> {
    let whole = source.tree.total();
    match view {
        View::Process => {
            let recording = &analysis.recording;
            let name = format!("{} {}", recording.pid, recording.command_line);
            let is_estimated = source.frames.iter().any(Frame::is_estimated);
            vec![Line { own: whole, total: None, calls: source.all_calls, is_estimated, name }]
        }
        View::Thread => {
            let is_estimated = source.frames.iter().any(Frame::is_estimated);
            let line = |(name, id, calls, own)| {
                let name = if id == 0 { name } else { format!("{name} (id {id})") };
                Line { own, total: None, calls, is_estimated, name }
            };
            threads.map(line).collect()
        }
        View::Groups(grouping) => {
            groups(source.tree, source.frames, grouping).into_iter().map(Line::of_group).collect()
        }
        View::Method => source.frames.iter().filter(|frame| frame.calls > 0).map(Line::of_method).collect(),
        View::Stack => {
            let frame = |id: &crate::analysis::FrameId| source.frames.get(id.index());
            let row = |row: crate::analysis::StackRow| Line {
                own: row.own,
                total: None,
                calls: row.calls,
                is_estimated: row.estimated_calls > 0,
                name: row.frames.iter().filter_map(frame).map(short_name).collect::<Vec<_>>().join(" ← "),
            };
            stacks(source.tree, usize::MAX).0.into_iter().map(row).collect()
        }
        View::Tree => Vec::new(),
    }
}

impl Line {
    fn of_group(row: GroupRow) -> Line {
        // What is in brackets is no method: samples without a stack.
        let name = match row.methods {
            _ if row.name.starts_with('[') => row.name,
            methods => format!("{} ({})", row.name, counted(methods, "method")),
        };
        let is_estimated = row.estimated_calls > 0;
        Line { own: row.own, total: Some(row.total), calls: row.calls, is_estimated, name }
    }

    fn of_method(frame: &Frame) -> Line {
        let (own, total) = (frame.own, Some(frame.total));
        Line { own, total, calls: frame.calls, is_estimated: frame.is_estimated(), name: frame.distinct_name() }
    }

    fn value(&self, by: Measure) -> u64 {
        match by {
            Measure::Own => self.own,
            Measure::Total => self.total.unwrap_or(self.own),
            Measure::Average => self.own.checked_div(self.calls).unwrap_or(0),
            Measure::Calls => self.calls,
        }
    }
}

/// `Handler.handle`: a stack of whole names would not fit a line.
fn short_name(frame: &Frame) -> String {
    let package = package_of(&frame.class);
    let class = frame.class.strip_prefix(package).map_or(frame.class.as_str(), |rest| rest.trim_start_matches('.'));
    let dot = if class.is_empty() { "" } else { "." };
    let parameters = frame.parameters.as_ref().map_or_else(String::new, |parameters| format!("({parameters})"));
    format!("{class}{dot}{}{parameters}", frame.method)
}

fn section(report: &mut Report<'_>, title: &str, view: View, source: &Source<'_>, lines: &[Line]) {
    if !title.is_empty() {
        report.title(title);
    }
    if view == View::Tree {
        let (tree, frames, unit, calls) = (source.tree, source.frames, source.unit, source.calls);
        let view = TreeView { tree, frames, unit, root: "all threads", calls };
        report.lines.extend(tree::lines(&view, report.options));
    } else {
        table(report, view, source, lines);
    }
}

fn table(report: &mut Report<'_>, view: View, source: &Source<'_>, lines: &[Line]) {
    let options = report.options;
    // Not the total of the tree: the times of threads are recorded ones, with the time of probes, and estimates of callees may be more
    // than that of their caller.
    let whole = lines.iter().map(|line| line.own).fold(0, u64::saturating_add);
    let of_calls = source.tree.total();
    let mut order: Vec<&Line> = lines.iter().collect();
    order.sort_by(|a, b| b.value(options.by).cmp(&a.value(options.by)).then_with(|| a.name.cmp(&b.name)));
    let has_total = lines.iter().any(|line| line.total.is_some());
    let mut titles = vec![if has_total { "own" } else { source.amount }, "%"];
    titles.extend(has_total.then_some(["total", "%"]).into_iter().flatten());
    titles.extend(source.calls);
    let mut table = Table::new(titles, last_title(view));
    let (shown, hidden) = order.split_at_checked(options.rows).unwrap_or((&order, &[]));
    let mut row = |figures: Figures, name: String| {
        let value = |value: u64| estimated(figures.is_estimated, (source.unit)(value));
        let mut cells =
            vec![Cell::new(value(figures.own)), Cell::share(percent(figures.own, whole), figures.own, whole)];
        if has_total {
            let [text, share] =
                figures.total.map_or_else(Default::default, |total| [value(total), percent(total, of_calls)]);
            cells.extend([Cell::new(text), Cell::share(share, figures.total.unwrap_or(0), of_calls)]);
        }
        cells.extend(source.calls.map(|_| Cell::new(at_least(figures.is_estimated, figures.calls))));
        table.row(cells, name);
    };
    for line in shown {
        row(Figures::of(line), printable(&line.name));
    }
    if !hidden.is_empty() {
        row(Figures::sum(hidden), format!("... {} more", count(hidden.len() as u64)));
    }
    row(Figures::sum(&order), "= sum of all".to_owned());
    let fit = |name: &str, limit: usize| match view {
        View::Groups(_) | View::Process | View::Stack | View::Thread => cut_end(name, limit),
        View::Method | View::Tree => shorten_name(name, limit),
    };
    report.lines.extend(table.lines(options.width, report.style, fit));
    if lines.iter().any(|line| line.is_estimated) {
        report.lines.push(report.style.faint(WATCH_LEGEND));
        if view != View::Thread && whole > of_calls {
            let legend = format!(
                "  the sum is more than the {} of all calls: estimates of callees exceed those of their callers",
                duration(of_calls)
            );
            report.lines.push(report.style.faint(&legend));
        }
    }
    if view == View::Groups(Grouping::Module) && source.frames.iter().any(|frame| frame.module.is_empty()) {
        let legend =
            "  the recording names the modules of the JDK; classes of the class path stand under their package";
        report.lines.push(report.style.faint(legend));
    }
}

/// Figures of a line, or of several together. A sum has no total: calls inside of each other would count twice.
struct Figures {
    own: u64,
    total: Option<u64>,
    calls: u64,
    is_estimated: bool,
}

impl Figures {
    fn of(line: &Line) -> Figures {
        Figures { own: line.own, total: line.total, calls: line.calls, is_estimated: line.is_estimated }
    }

    fn sum(lines: &[&Line]) -> Figures {
        let own = lines.iter().fold(0_u64, |sum, line| sum.saturating_add(line.own));
        let calls = lines.iter().map(|line| line.calls).sum();
        Figures { own, total: None, calls, is_estimated: lines.iter().any(|line| line.is_estimated) }
    }
}

fn last_title(view: View) -> &'static str {
    match view {
        View::Process => "process",
        View::Thread => "thread",
        View::Groups(Grouping::Module) => "module",
        View::Groups(Grouping::Package) => "package",
        View::Groups(Grouping::Class) => "class",
        View::Method => "method",
        View::Stack => "stack, the innermost method first",
        View::Tree => "call tree",
    }
}

/// Which modules, packages or classes do the input and output.
fn input_output(report: &mut Report<'_>, rows: &[InputOutputRow], grouping: Grouping) {
    if rows.is_empty() {
        return;
    }
    let mut merged: Vec<InputOutputRow> = Vec::new();
    for row in rows {
        let class = row.method.rsplit_once('.').map_or("", |(class, _)| class);
        // Details are of calls that templates measure, which are the application's: no module is known of them.
        let name = if grouping == Grouping::Class { class } else { package_of(class) };
        match merged.iter_mut().find(|known| known.method == name) {
            Some(known) => known.add(row),
            None => merged.push(InputOutputRow { method: name.to_owned(), ..row.clone() }),
        }
    }
    merged.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.method.cmp(&b.method)));
    report.title(match grouping {
        Grouping::Class => "Input and output by class",
        Grouping::Module | Grouping::Package => "Input and output by package",
    });
    let mut table =
        Table::new(vec!["time", "statements", "requests", "transfers", "bytes"], last_title(View::Groups(grouping)));
    for row in merged.iter().take(report.options.rows) {
        let counts = [row.statements, row.requests, row.transfers].map(count);
        let cells = [vec![duration(row.total)], counts.into(), vec![bytes(row.bytes)]].concat();
        table.row(cells.into_iter().map(Cell::new).collect(), printable(&row.method));
    }
    report.lines.extend(table.lines(report.options.width, report.style, cut_end));
    report.more(merged.len());
}
