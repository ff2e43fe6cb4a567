//! A report as text for a terminal.

mod allocations;
mod comparison;
mod diagnoses;
mod moved;
mod samples;
mod table;
mod text;
mod transactions;
mod tree;
mod views;
mod walks;

pub use allocations::allocated;
pub use comparison::comparison;
use diagnoses::in_one_line;
pub use diagnoses::{DiagnosisOptions, class_and_method, diagnosis};
pub use moved::moved;
pub use transactions::transactions;
pub use views::{View, view};
pub use walks::{walk_end, walk_hot_spots, walk_level};

use super::advice::{NO_CALLS, what_to_check};
use super::units::{bytes, count, counted, date, duration, percent};
use crate::analysis::{DetailRow, Frame, FrameId, Measure, ProbeTime, Relation};
use crate::{Analysis, DiagnosisOrder};
use table::{Cell, Table};
use text::{Style, cut_end, printable, shorten_name};
use tree::TreeView;

/// How a report for a terminal looks.
#[derive(Debug, Clone, Copy)]
pub struct TerminalOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether to use colours.
    pub colours: bool,
    /// Rows of each table.
    pub rows: usize,
    /// By what the methods are sorted.
    pub by: Measure,
    /// Calls with a smaller share of the time, in percent, are not shown in the tree.
    pub smallest_share: f64,
    /// Calls shown in the tree, at most.
    pub tree_lines: usize,
    /// Show the lines of the source at which samples were taken.
    pub lines: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        TerminalOptions {
            width: 120,
            colours: false,
            rows: 25,
            by: Measure::Own,
            smallest_share: 1.0,
            tree_lines: 150,
            lines: false,
        }
    }
}

/// The whole report: the recording, diagnoses, walks, methods by own time, call tree, threads, the same from samples, who allocates, statements, requests, peers.
#[must_use]
pub fn terminal(analysis: &Analysis, options: &TerminalOptions) -> String {
    let mut report = Report { style: Style { colours: options.colours }, options, lines: Vec::new() };
    report.probe_advice(analysis);
    report.head(analysis);
    report.diagnoses(analysis);
    report.walks(analysis);
    if analysis.calls > 0 {
        report.methods(analysis);
        report.title("Call tree");
        let (tree, frames, root) = (&analysis.tree, &analysis.frames, "all threads");
        let view = TreeView { tree, frames, unit: duration, root, calls: Some("calls") };
        report.lines.extend(tree::lines(&view, options));
        report.threads(analysis);
    }
    match &analysis.samples {
        Some(profile) => samples::sections(&mut report, profile),
        None if has_nothing(analysis) => report.nothing(analysis),
        None => {}
    }
    report.slowest_calls(analysis);
    if let Some(profile) = &analysis.allocations {
        allocations::sections(&mut report, profile);
    }
    report.details("Statements", &analysis.statements);
    report.details("HTTP requests", &analysis.http_requests);
    report.details("Socket peers", &analysis.sockets);
    report.input_output(analysis);
    report.notes(analysis);
    report.lines.join("\n") + "\n"
}

fn has_nothing(analysis: &Analysis) -> bool {
    let has_results = !analysis.diagnoses.is_empty() || !analysis.walks.is_empty();
    analysis.calls == 0 && analysis.allocations.is_none() && !has_results
}

/// Callers and callees of all methods whose name contains `pattern` (`Handler.handle`), as text for a terminal.
#[must_use]
pub fn method(analysis: &Analysis, pattern: &str, options: &TerminalOptions) -> String {
    let mut report = Report { style: Style { colours: options.colours }, options, lines: Vec::new() };
    let is_meant = |id: &FrameId| analysis.frame(*id).is_some_and(|frame| frame.distinct_name().contains(pattern));
    for id in analysis.frames_by_own_time().into_iter().filter(is_meant).take(options.rows) {
        report.relations(analysis, id);
    }
    if report.lines.is_empty() {
        report.lines.push(format!("No recorded method has a name with `{}`.", printable(pattern)));
    }
    report.lines.join("\n") + "\n"
}

const WATCH_LEGEND: &str = "  level watch: ≥ only calls that met a tick are counted, ~ times are estimates from ticks";

/// Marks a figure that is an estimate.
fn estimated(is_estimated: bool, text: String) -> String {
    if is_estimated { format!("~{text}") } else { text }
}

/// Marks a number of calls of which some were counted at level watch, which counts only those that a tick met.
fn at_least(is_estimated: bool, calls: u64) -> String {
    if is_estimated { format!("≥{}", count(calls)) } else { count(calls) }
}

/// The latest diagnoses are shown with their trees, others in a line.
const MOST_TREES: usize = 3;
/// The latest walks are shown.
const MOST_WALKS: usize = 3;
/// Columns before the lines of a diagnosis and of a walk.
const DIAGNOSIS_INDENT: usize = 2;
/// Columns in front of the values of a call.
const VALUES_INDENT: usize = 6;

struct Report<'a> {
    style: Style,
    options: &'a TerminalOptions,
    lines: Vec<String>,
}

impl Report<'_> {
    fn title(&mut self, title: &str) {
        if !self.lines.is_empty() {
            self.lines.push(String::new());
        }
        self.lines.push(self.style.title(title));
    }

    fn nothing(&mut self, analysis: &Analysis) {
        self.title(NO_CALLS);
        self.lines.extend(what_to_check(analysis).iter().map(|line| format!("  - {line}")));
    }

    /// What to do if probes took much of the time: said before any figure.
    fn probe_advice(&mut self, analysis: &Analysis) {
        if let Some(advice) = analysis.probe_time.as_ref().and_then(ProbeTime::advice) {
            self.lines.push(self.style.warning(&format!("warning: {}", printable(&advice))));
        }
    }

    fn head(&mut self, analysis: &Analysis) {
        let recording = &analysis.recording;
        self.title(&format!("Recording {}", printable(&recording.path.display().to_string())));
        let mut fact = |name: &str, value: String| {
            if !value.is_empty() {
                let value = cut_end(&printable(&value), self.options.width.saturating_sub(12).max(20));
                self.lines.push(format!("  {} {value}", self.style.faint(&format!("{name:<9}"))));
            }
        };
        let pid = if recording.pid > 0 { format!(", pid {}", recording.pid) } else { String::new() };
        fact("started", date(recording.start_epoch_nanos));
        let full =
            recording.full_after_nanos.map(|nanos| format!(", of which the first {} are recorded", duration(nanos)));
        fact("duration", duration(recording.duration_nanos) + &full.unwrap_or_default());
        fact("start-up", recording.start_up_nanos.map(duration).unwrap_or_default());
        fact("ended by", recording.end_reason.clone());
        fact("command", recording.command_line.clone());
        fact("JVM", format!("{}{pid}", recording.jvm));
        fact(
            "calls",
            format!(
                "{} of {}, {}{} lost; {}, {} in {}",
                at_least(analysis.is_estimated(), analysis.calls),
                counted(analysis.frames.len() as u64, "method"),
                count(analysis.lost),
                // How many were lost last is written at the end.
                if recording.is_finished { "" } else { " or more" },
                counted(analysis.events, "event"),
                bytes(recording.file_bytes),
                counted(recording.chunks as u64, "chunk"),
            ),
        );
        let probe_time = analysis.probe_time.as_ref().filter(|time| time.advice().is_none());
        fact("probes", probe_time.map(ProbeTime::text).unwrap_or_default());
        for warning in &analysis.warnings {
            self.lines.push(format!("  {}", self.style.warning(&format!("warning: {}", printable(warning)))));
        }
    }

    fn diagnoses(&mut self, analysis: &Analysis) {
        if analysis.diagnoses.is_empty() {
            return;
        }
        self.title("Diagnoses");
        let TerminalOptions { colours, rows, width, .. } = *self.options;
        let options = DiagnosisOptions {
            width: width.saturating_sub(DIAGNOSIS_INDENT),
            emphasis: colours,
            colours,
            rows,
            order: DiagnosisOrder::Share,
            result_first: true,
        };
        let (earlier, latest) = analysis.diagnoses.split_at(analysis.diagnoses.len().saturating_sub(MOST_TREES));
        if !earlier.is_empty() {
            let things = if earlier.len() == 1 { "diagnosis, whose tree is" } else { "diagnoses, whose trees are" };
            self.lines.push(format!(
                "{:DIAGNOSIS_INDENT$}{} earlier {things} in --html and --json:",
                "",
                earlier.len()
            ));
            self.more(earlier.len());
        }
        for diagnosed in earlier.iter().skip(earlier.len().saturating_sub(rows)) {
            let result = cut_end(&printable(&in_one_line(diagnosed)), options.width);
            self.lines.push(format!("{:DIAGNOSIS_INDENT$}{result}", ""));
        }
        for (number, diagnosed) in latest.iter().enumerate() {
            self.lines.extend((number > 0 || !earlier.is_empty()).then(String::new));
            let lines = diagnosis(diagnosed, &options);
            self.lines.extend(lines.into_iter().map(|line| format!("{:DIAGNOSIS_INDENT$}{line}", "")));
        }
    }

    fn walks(&mut self, analysis: &Analysis) {
        if analysis.walks.is_empty() {
            return;
        }
        self.title("Walks");
        let width = self.options.width.saturating_sub(DIAGNOSIS_INDENT);
        let earlier = analysis.walks.len().saturating_sub(MOST_WALKS);
        if earlier > 0 {
            self.lines.push(format!("{:DIAGNOSIS_INDENT$}{earlier} earlier in --html and --json", ""));
        }
        for walk in analysis.walks.iter().skip(earlier) {
            let after = duration(walk.ended_after_nanos.unwrap_or(0));
            let title = format!("walk {}, ended after {after} of the recording", walk.number);
            let indented =
                |line: String| if line.is_empty() { line } else { format!("{:DIAGNOSIS_INDENT$}{line}", "") };
            self.lines.push(indented(cut_end(&title, width)));
            self.lines.extend(walks::walk(walk, width).into_iter().map(indented));
        }
    }

    fn methods(&mut self, analysis: &Analysis) {
        let by = self.options.by;
        let ids = analysis.frames_by(by);
        let total = analysis.tree.total();
        self.title(&format!("Methods by {}, in {} of calls", comparison::name_of(by), duration(total)));
        let columns =
            MethodColumns::fitting(self.options.width, analysis.frames.iter().any(|frame| frame.own_is_estimated));
        let mut table = Table::new(columns.titles(), "method");
        for frame in ids.iter().take(self.options.rows).filter_map(|id| analysis.frame(*id)) {
            table.row(columns.cells(frame, total), printable(&frame_name(frame)));
        }
        self.lines.extend(table.lines(self.options.width, self.style, shorten_name));
        self.more(ids.len());
        if analysis.is_estimated() {
            let legend = WATCH_LEGEND;
            let lengths = match analysis.shortest_length {
                Some(shortest) => format!(
                    "    average, percentiles and max only where all calls seen took {} (two ticks) or more, right to a tick",
                    duration(shortest)
                ),
                None => {
                    "    average, percentiles and max are blank: the recording does not say how long its ticks were"
                        .to_owned()
                }
            };
            let margins = "  ± the true time is not farther off in 19 cases of 20 (docs/governor.md)";
            self.lines.extend([legend, &lengths, margins].map(|line| self.style.faint(line)));
        } else if analysis.frames.iter().any(|frame| frame.own_is_estimated) {
            let legend =
                "  ~ calls that these made are missing (see the warnings): the true time is shorter by up to ±";
            self.lines.push(self.style.faint(legend));
        }
        if analysis.frames.iter().any(|frame| frame.part.is_some()) {
            let legend = "  [..] the calls are those of this part of the time (docs/reports.md)";
            self.lines.push(self.style.faint(legend));
        }
    }

    fn more(&mut self, rows: usize) {
        let hidden = rows.saturating_sub(self.options.rows);
        if hidden > 0 {
            self.lines.push(self.style.faint(&format!("  ... {} more", count(hidden as u64))));
        }
    }

    fn threads(&mut self, analysis: &Analysis) {
        self.title("Threads");
        let total = analysis.recorded_total();
        let mut titles = vec!["total", "%", "calls"];
        titles.extend((analysis.lost > 0).then_some("lost"));
        let mut table = Table::new(titles, "thread");
        for row in analysis.threads.iter().take(self.options.rows) {
            let mut numbers = vec![
                Cell::new(duration(row.total)),
                Cell::share(percent(row.total, total), row.total, total),
                Cell::new(at_least(analysis.is_estimated(), row.calls)),
            ];
            numbers.extend((analysis.lost > 0).then(|| Cell::new(count(row.lost))));
            let id = if row.is_virtual || row.id == 0 { String::new() } else { format!(" (id {})", row.id) };
            table.row(numbers, printable(&format!("{}{id}", row.name)));
        }
        self.lines.extend(table.lines(self.options.width, self.style, cut_end));
        self.more(analysis.threads.len());
    }

    /// The longest calls of those that were recorded with values.
    fn slowest_calls(&mut self, analysis: &Analysis) {
        if analysis.slowest_calls.is_empty() {
            return;
        }
        self.title("Slowest calls with their arguments");
        let mut table = Table::new(vec!["duration", "at"], "method, and the values below it");
        for call in analysis.slowest_calls.iter().take(self.options.rows) {
            let at = call.start.saturating_sub(analysis.recording.start_epoch_nanos);
            let cells = [estimated(!call.exact, duration(call.duration)), duration(at)];
            table.row(cells.map(Cell::new).into(), printable(&call.method));
        }
        let mut lines = table.lines(self.options.width, self.style, shorten_name).into_iter();
        self.lines.extend(lines.next());
        let room = self.options.width.saturating_sub(VALUES_INDENT).max(20);
        for (line, call) in lines.zip(&analysis.slowest_calls) {
            let values = cut_end(&printable(&call.arguments), room);
            self.lines.extend([line, format!("{:VALUES_INDENT$}{values}", "")]);
        }
        self.more(analysis.slowest_calls.len());
    }

    fn details(&mut self, title: &'static str, rows: &[DetailRow]) {
        if rows.is_empty() {
            return;
        }
        self.title(title);
        let has_bytes = rows.iter().any(|row| row.bytes > 0);
        let has_errors = rows.iter().any(|row| row.client_errors + row.server_errors > 0);
        let mut titles = vec!["total", "calls", "average", "p95", "max"];
        titles.extend(has_bytes.then_some("bytes"));
        titles.extend(has_errors.then_some(["4xx", "5xx"]).into_iter().flatten());
        let mut table = Table::new(titles, "");
        for row in rows.iter().take(self.options.rows) {
            let time = |nanos: u64| Cell::new(estimated(row.times.estimated_calls > 0, duration(nanos)));
            let calls = at_least(row.times.estimated_calls > 0, row.calls);
            let mut numbers = vec![time(row.times.sum), Cell::new(calls)];
            let length = |nanos: Option<u64>| nanos.map_or(Cell::new(""), time);
            numbers.extend([row.times.average(), row.times.percentile(95.0), row.times.longest()].map(length));
            numbers.extend(has_bytes.then(|| Cell::new(bytes(row.bytes))));
            if has_errors {
                numbers.extend([row.client_errors, row.server_errors].map(|errors| Cell::new(count(errors))));
            }
            table.row(numbers, printable(&row.text));
        }
        self.lines.extend(table.lines(self.options.width, self.style, cut_end));
        self.more(rows.len());
    }

    fn input_output(&mut self, analysis: &Analysis) {
        if analysis.input_output.is_empty() {
            return;
        }
        self.title("Methods by input and output");
        let mut table = Table::new(vec!["total", "statements", "requests", "transfers", "bytes"], "method");
        for row in analysis.input_output.iter().take(self.options.rows) {
            let counts = [row.statements, row.requests, row.transfers].map(count);
            let cells = [vec![duration(row.total)], counts.into(), vec![bytes(row.bytes)]].concat();
            table.row(cells.into_iter().map(Cell::new).collect(), printable(&row.method));
        }
        self.lines.extend(table.lines(self.options.width, self.style, shorten_name));
        self.more(analysis.input_output.len());
    }

    fn notes(&mut self, analysis: &Analysis) {
        let notes = &analysis.recording.notes;
        if notes.is_empty() {
            return;
        }
        self.title("Notes");
        for (at, kind, message) in notes.iter().take(self.options.rows) {
            let line = format!("{:>9}  {}: {}", duration(*at), printable(kind), printable(message));
            self.lines.push(format!("  {}", cut_end(&line, self.options.width.saturating_sub(2).max(20))));
        }
        self.more(notes.len());
    }

    fn relations(&mut self, analysis: &Analysis, id: FrameId) {
        let Some(frame) = analysis.frame(id) else { return };
        self.title(&printable(&frame_name(frame)));
        let is_estimated = frame.is_estimated();
        let time = |nanos| estimated(is_estimated, duration(nanos));
        let sign = if is_estimated { "≥" } else { "" };
        let (calls, total, own) = (counted(frame.calls, "call"), time(frame.total), time(frame.own));
        self.lines.push(format!("  {sign}{calls}, {total} in total, {own} of its own"));
        for (title, relations) in [("called by", analysis.callers(id)), ("calls", analysis.callees(id))] {
            if relations.is_empty() {
                continue;
            }
            let mut table = Table::new(vec!["total", "calls"], title);
            for Relation { frame, calls, total } in relations.iter().take(self.options.rows) {
                let other = frame.and_then(|id| analysis.frame(id));
                let name = other.map_or("(outermost)".to_owned(), frame_name);
                // The figures are those of the called method.
                let called = if title == "calls" { other } else { analysis.frame(id) };
                let is_estimated = called.is_some_and(Frame::is_estimated);
                let cells = [estimated(is_estimated, duration(*total)), at_least(is_estimated, *calls)];
                table.row(cells.map(Cell::new).into(), printable(&name));
            }
            self.lines.extend(table.lines(self.options.width, self.style, shorten_name));
            self.more(relations.len());
        }
    }
}

fn frame_name(frame: &Frame) -> String {
    frame.marked_name()
}

/// The columns of the table of methods: narrow terminals show fewer.
struct MethodColumns {
    averages: bool,
    percentiles: bool,
    extremes: bool,
    /// How far estimates may be off.
    margins: bool,
}

impl MethodColumns {
    fn fitting(width: usize, has_estimates: bool) -> MethodColumns {
        let (averages, extremes, percentiles) = (width >= 80, width >= 100, width >= 130);
        MethodColumns { averages, percentiles, extremes, margins: has_estimates }
    }

    fn titles(&self) -> Vec<&'static str> {
        let margin = self.margins.then_some("±");
        let mut titles: Vec<_> = ["own"].into_iter().chain(margin).chain(["%", "total"]).chain(margin).collect();
        titles.extend(["%", "calls"]);
        titles.extend(self.averages.then_some("average"));
        titles.extend(self.percentiles.then_some("p50"));
        titles.extend(self.extremes.then_some("p95"));
        titles.extend(self.percentiles.then_some("p99"));
        titles.extend(self.extremes.then_some("max"));
        titles
    }

    fn cells(&self, frame: &Frame, total: u64) -> Vec<Cell> {
        let time = |nanos: u64| Cell::new(estimated(frame.is_estimated(), duration(nanos)));
        let length = |nanos: Option<u64>| nanos.map_or(Cell::new(""), time);
        let percentile = |percent: f64| length(frame.times.percentile(percent));
        let margin = |is_estimated: bool, nanos: u64| {
            let text = if is_estimated { duration(nanos) } else { String::new() };
            self.margins.then(|| Cell::new(text))
        };
        let mut cells = vec![Cell::new(estimated(frame.own_is_estimated, duration(frame.own)))];
        cells.extend(margin(frame.own_is_estimated, frame.own_margin));
        cells.extend([Cell::share(percent(frame.own, total), frame.own, total), time(frame.total)]);
        cells.extend(margin(frame.is_estimated(), frame.total_margin));
        cells.extend([Cell::share(percent(frame.total, total), frame.total, total)]);
        cells.push(Cell::new(at_least(frame.is_estimated(), frame.calls)));
        cells.extend(self.averages.then(|| length(frame.times.average())));
        cells.extend(self.percentiles.then(|| percentile(50.0)));
        cells.extend(self.extremes.then(|| percentile(95.0)));
        cells.extend(self.percentiles.then(|| percentile(99.0)));
        cells.extend(self.extremes.then(|| length(frame.times.longest())));
        cells
    }
}
