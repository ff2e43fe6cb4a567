//! A report as JSON: the data of the HTML page, and a form for programs.

use serde::Serialize;

use super::advice::what_to_check;
use super::diagnosis_data::{DiagnosisData, DiagnosisJson};
use super::group_data::Views;
use super::time_line::TimeLineData;
use crate::analysis::{
    AllocationProfile, AllocationRow, CallTree, DetailRow, Frame, InputOutputRow, Node, ProbeTime, RecordedPart,
    RecordingInfo, SampleProfile, SampledThread, SlowCall, TimeLine,
};
use crate::{Analysis, Walk};

/// Nodes of the call tree in a report; of larger trees the nodes with the least time are left out.
const MOST_NODES: usize = 40_000;
/// Statements, requests and peers in a report: how many of each, and how many letters of each.
const MOST_DETAILS: usize = 2_000;
const LONGEST_TEXT: usize = 4_000;

/// The analysis as JSON. Times are nanoseconds, except those of diagnoses and walks. The nodes of the call tree are columns (`parent`, `frame`, ...) in which
/// parents stand before their children, node 0 is the root, and `frame` is a position in `frames` (-1 for the root).
#[must_use]
pub fn json(analysis: &Analysis) -> String {
    page_json(analysis, None)
}

/// The data of the page; the time line is only there.
pub(super) fn page_json(analysis: &Analysis, time_line: Option<&TimeLine>) -> String {
    let page = Page { time_line: time_line.map(TimeLineData::of), ..Page::of(analysis) };
    // Numbers and text only: nothing that could fail to be written as JSON.
    serde_json::to_string(&page).unwrap_or_default()
}

#[derive(Serialize)]
struct Page<'a> {
    recording: Recording<'a>,
    /// As `instr diagnose --json` prints them; their times are milliseconds.
    diagnoses: Vec<DiagnosisData<'a>>,
    /// As `instr walk --json` prints them; their times are milliseconds.
    walks: &'a [Walk],
    calls: u64,
    events: u64,
    lost: u64,
    /// Time of all outermost calls, without `probes`.
    total: u64,
    /// The time of probes that was left out of own and total times. `null` if the recording does not have their prices or has no calls with
    /// exact times.
    probes: Option<Probes>,
    /// At level watch, shorter recorded lengths do not say how long a call took; `null` if none does.
    shortest_length: Option<u64>,
    frames: Vec<FrameData<'a>>,
    nodes: Nodes,
    /// Nodes of the whole tree; `nodes` has the largest.
    paths: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_line: Option<TimeLineData<'a>>,
    threads: Vec<ThreadData<'a>>,
    /// The same by module, package and class.
    views: Views,
    /// The same from samples of running threads: figures are ticks. `null` if there are none.
    samples: Option<Samples<'a>>,
    /// The longest calls of those with values.
    slowest_calls: Vec<SlowCallData<'a>>,
    /// Who allocates how much, from samples: figures are bytes, `calls` are samples. `null` if there are none.
    allocations: Option<Allocations<'a>>,
    statements: Vec<Detail<'a>>,
    http: Vec<Detail<'a>>,
    sockets: Vec<Detail<'a>>,
    input_output: Vec<InputOutputData<'a>>,
    warnings: &'a [String],
    check: Vec<&'static str>,
}

/// What there is to know of a recording itself.
#[derive(Serialize)]
pub(super) struct Recording<'a> {
    file: String,
    file_bytes: u64,
    chunks: usize,
    start_epoch_millis: u64,
    duration: u64,
    start_up: Option<u64>,
    /// When the file had the size that it may have; later calls are counted as lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_after: Option<u64>,
    finished: bool,
    pid: u64,
    jvm: &'a str,
    jvm_options: &'a str,
    command_line: &'a str,
    configuration: &'a [(String, String)],
    notes: &'a [(u64, String, String)],
}

#[derive(Serialize)]
struct Probes {
    nanos: u64,
    /// Of the recorded time of all outermost calls.
    percent: f64,
    text: String,
    /// What to do if it is much, else `null`.
    advice: Option<String>,
}

impl Probes {
    fn of(time: &ProbeTime) -> Probes {
        Probes { nanos: time.nanos, percent: time.percent, text: time.text(), advice: time.advice() }
    }
}

#[derive(Serialize)]
struct FrameData<'a> {
    class: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    module: &'a str,
    method: &'a str,
    descriptor: &'a str,
    /// The types of the parameters of an overloaded method.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a str>,
    template: &'a str,
    /// The part of the time in which every call was recorded, if the level was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<PartData<'a>>,
    estimated: bool,
    /// `own` is an estimate, perhaps only because calls that it made are.
    own_estimated: bool,
    calls: u64,
    own: u64,
    total: u64,
    /// In 19 cases of 20 the true figures are not farther off; 0 where times are exact.
    own_margin: u64,
    total_margin: u64,
    /// `null` here and below where level watch does not carry the figure.
    average: Option<u64>,
    p50: Option<u64>,
    p95: Option<u64>,
    p99: Option<u64>,
    max: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct PartData<'a> {
    percent: f64,
    text: &'a str,
    /// Whether there are estimates of the rest.
    rest_is_estimated: bool,
    explanation: String,
}

#[derive(Serialize, Default)]
struct Nodes {
    parent: Vec<u32>,
    frame: Vec<i64>,
    calls: Vec<u64>,
    total: Vec<u64>,
    /// The time of probes that was left out of `total`.
    probes: Vec<u64>,
    own: Vec<u64>,
    estimated: Vec<u8>,
    /// Paths below the node that were left out, at any depth, and their time.
    hidden: Vec<u32>,
    hidden_total: Vec<u64>,
}

#[derive(Serialize)]
struct ThreadData<'a> {
    name: &'a str,
    id: u64,
    calls: u64,
    total: u64,
    lost: u64,
}

#[derive(Serialize)]
struct Samples<'a> {
    engine: &'a str,
    bias: &'a str,
    interval: Option<u64>,
    ticks: u64,
    truncated: u64,
    failed: &'a [(String, u64)],
    #[serde(flatten)]
    stacks: Stacks<'a>,
}

#[derive(Serialize)]
struct Allocations<'a> {
    samples: u64,
    bytes: u64,
    truncated: u64,
    classes: Vec<AllocatedClass<'a>>,
    #[serde(flatten)]
    stacks: Stacks<'a>,
}

/// What samples of any kind found on the stacks.
#[derive(Serialize)]
struct Stacks<'a> {
    frames: Vec<SampledFrame<'a>>,
    nodes: Nodes,
    threads: Vec<ThreadData<'a>>,
    views: Views,
}

#[derive(Serialize)]
struct AllocatedClass<'a> {
    name: &'a str,
    bytes: u64,
    samples: u64,
}

#[derive(Serialize)]
struct SampledFrame<'a> {
    class: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    module: &'a str,
    method: &'a str,
    descriptor: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a str>,
    own: u64,
    total: u64,
    calls: u64,
}

#[derive(Serialize)]
struct SlowCallData<'a> {
    method: &'a str,
    thread: &'a str,
    /// Since the start of the recording.
    start: u64,
    duration: u64,
    estimated: bool,
    arguments: &'a str,
}

impl<'a> SlowCallData<'a> {
    fn of(call: &'a SlowCall, origin: u64) -> SlowCallData<'a> {
        let SlowCall { method, thread, start, duration, exact, arguments } = call;
        let start = start.saturating_sub(origin);
        SlowCallData { method, thread, start, duration: *duration, estimated: !exact, arguments }
    }
}

#[derive(Serialize)]
struct Detail<'a> {
    text: &'a str,
    estimated: bool,
    calls: u64,
    total: u64,
    average: Option<u64>,
    p95: Option<u64>,
    max: Option<u64>,
    bytes: u64,
    client_errors: u64,
    server_errors: u64,
}

#[derive(Serialize)]
struct InputOutputData<'a> {
    method: &'a str,
    statements: u64,
    requests: u64,
    transfers: u64,
    bytes: u64,
    total: u64,
}

impl<'a> InputOutputData<'a> {
    fn of(row: &'a InputOutputRow) -> InputOutputData<'a> {
        let InputOutputRow { ref method, statements, requests, transfers, bytes, total } = *row;
        InputOutputData { method, statements, requests, transfers, bytes, total }
    }
}

impl<'a> Page<'a> {
    fn of(analysis: &'a Analysis) -> Page<'a> {
        let threads = analysis.threads.iter();
        let origin = analysis.recording.start_epoch_nanos;
        Page {
            recording: Recording::of(&analysis.recording),
            diagnoses: analysis.diagnoses.iter().map(|of| DiagnosisData::of(of, DiagnosisJson::default())).collect(),
            walks: &analysis.walks,
            calls: analysis.calls,
            events: analysis.events,
            lost: analysis.lost,
            total: analysis.tree.total(),
            probes: analysis.probe_time.as_ref().map(Probes::of),
            shortest_length: analysis.shortest_length,
            frames: analysis.frames.iter().map(FrameData::of).collect(),
            nodes: Nodes::of(analysis.tree.nodes()),
            paths: analysis.tree.nodes().len(),
            time_line: None,
            threads: threads
                .map(|row| ThreadData {
                    name: &row.name,
                    id: row.id,
                    calls: row.calls,
                    total: row.total,
                    lost: row.lost,
                })
                .collect(),
            views: Views::of(&analysis.tree, &analysis.frames),
            samples: analysis.samples.as_ref().map(Samples::of),
            slowest_calls: analysis.slowest_calls.iter().map(|call| SlowCallData::of(call, origin)).collect(),
            allocations: analysis.allocations.as_ref().map(Allocations::of),
            statements: Detail::largest(&analysis.statements),
            http: Detail::largest(&analysis.http_requests),
            sockets: Detail::largest(&analysis.sockets),
            input_output: analysis.input_output.iter().take(MOST_DETAILS).map(InputOutputData::of).collect(),
            warnings: &analysis.warnings,
            check: what_to_check(analysis),
        }
    }
}

impl<'a> Recording<'a> {
    pub(super) fn of(recording: &'a RecordingInfo) -> Recording<'a> {
        Recording {
            file: recording.path.display().to_string(),
            file_bytes: recording.file_bytes,
            chunks: recording.chunks,
            start_epoch_millis: recording.start_epoch_nanos / 1_000_000,
            duration: recording.duration_nanos,
            start_up: recording.start_up_nanos,
            full_after: recording.full_after_nanos,
            finished: recording.is_finished,
            pid: recording.pid,
            jvm: &recording.jvm,
            jvm_options: &recording.jvm_options,
            command_line: &recording.command_line,
            configuration: &recording.configuration,
            notes: &recording.notes,
        }
    }
}

impl<'a> Samples<'a> {
    fn of(profile: &'a SampleProfile) -> Samples<'a> {
        Samples {
            engine: &profile.engine,
            bias: &profile.bias,
            interval: profile.interval_nanos,
            ticks: profile.ticks,
            truncated: profile.truncated,
            failed: &profile.failed,
            stacks: Stacks::of(&profile.frames, &profile.tree, &profile.threads),
        }
    }
}

impl<'a> Allocations<'a> {
    fn of(profile: &'a AllocationProfile) -> Allocations<'a> {
        let class = |row: &'a AllocationRow| AllocatedClass { name: &row.name, bytes: row.own, samples: row.samples };
        let AllocationProfile { samples, bytes, ref classes, ref stacks, .. } = *profile;
        Allocations {
            samples,
            bytes,
            truncated: stacks.truncated,
            classes: classes.iter().take(MOST_DETAILS).map(class).collect(),
            stacks: Stacks::of(&stacks.frames, &stacks.tree, &stacks.threads),
        }
    }
}

impl<'a> Stacks<'a> {
    fn of(frames: &'a [Frame], tree: &CallTree, threads: &'a [SampledThread]) -> Stacks<'a> {
        Stacks {
            frames: frames.iter().map(SampledFrame::of).collect(),
            nodes: Nodes::of(tree.nodes()),
            threads: threads.iter().map(ThreadData::of_samples).collect(),
            views: Views::of(tree, frames),
        }
    }
}

impl<'a> ThreadData<'a> {
    fn of_samples(row: &'a SampledThread) -> ThreadData<'a> {
        ThreadData { name: &row.name, id: row.id, calls: row.ticks, total: row.ticks, lost: 0 }
    }
}

impl<'a> SampledFrame<'a> {
    fn of(frame: &'a Frame) -> SampledFrame<'a> {
        SampledFrame {
            class: &frame.class,
            module: &frame.module,
            method: &frame.method,
            descriptor: &frame.descriptor,
            parameters: frame.parameters.as_deref(),
            own: frame.own,
            total: frame.total,
            calls: frame.calls,
        }
    }
}

impl<'a> PartData<'a> {
    pub(super) fn of(part: &'a RecordedPart) -> PartData<'a> {
        let RecordedPart { percent, text, rest_is_estimated, .. } = part;
        PartData { percent: *percent, text, rest_is_estimated: *rest_is_estimated, explanation: part.explanation() }
    }
}

impl<'a> FrameData<'a> {
    fn of(frame: &'a Frame) -> FrameData<'a> {
        FrameData {
            class: &frame.class,
            module: &frame.module,
            method: &frame.method,
            descriptor: &frame.descriptor,
            parameters: frame.parameters.as_deref(),
            template: &frame.template,
            part: frame.part.as_ref().map(PartData::of),
            estimated: frame.is_estimated(),
            own_estimated: frame.own_is_estimated,
            calls: frame.calls,
            own: frame.own,
            total: frame.total,
            own_margin: frame.own_margin,
            total_margin: frame.total_margin,
            average: frame.times.average(),
            p50: frame.times.percentile(50.0),
            p95: frame.times.percentile(95.0),
            p99: frame.times.percentile(99.0),
            max: frame.times.longest(),
        }
    }
}

impl<'a> Detail<'a> {
    /// Those with the most time, so that the size of a page is bounded.
    fn largest(rows: &'a [DetailRow]) -> Vec<Detail<'a>> {
        rows.iter().take(MOST_DETAILS).map(Detail::of).collect()
    }

    fn of(row: &'a DetailRow) -> Detail<'a> {
        let end = row.text.char_indices().nth(LONGEST_TEXT).map_or(row.text.len(), |(end, _)| end);
        Detail {
            text: row.text.get(..end).unwrap_or_default(),
            estimated: row.times.estimated_calls > 0,
            calls: row.calls,
            total: row.times.sum,
            average: row.times.average(),
            p95: row.times.percentile(95.0),
            max: row.times.longest(),
            bytes: row.bytes,
            client_errors: row.client_errors,
            server_errors: row.server_errors,
        }
    }
}

impl Nodes {
    /// The nodes with the most time, each with all above it.
    fn of(nodes: &[Node]) -> Nodes {
        Nodes::with_at_most(nodes, MOST_NODES)
    }

    fn with_at_most(nodes: &[Node], most: usize) -> Nodes {
        let mut totals: Vec<u64> = nodes.iter().map(|node| node.total).collect();
        totals.sort_unstable_by(|a, b| b.cmp(a));
        let smallest = totals.get(most).map_or(0, |total| total + 1);
        let mut columns = Nodes::default();
        let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let parent = places.get(node.parent.index()).copied().unwrap_or(Place { column: 0, is_shown: true });
            let is_shown = index == 0 || (parent.is_shown && node.total >= smallest);
            let column = if is_shown { columns.parent.len() as u32 } else { parent.column };
            places.push(Place { column, is_shown });
            if is_shown {
                columns.push(node, parent.column);
            } else {
                // The time of a hidden parent includes that of its children.
                columns.hide(parent.column, if parent.is_shown { node.total } else { 0 });
            }
        }
        columns
    }

    fn push(&mut self, node: &Node, parent: u32) {
        self.parent.push(parent);
        self.frame.push(node.frame.map_or(-1, |id| id.index() as i64));
        self.calls.push(node.calls);
        self.total.push(node.total);
        self.probes.push(node.probes);
        self.own.push(node.own);
        self.estimated.push(u8::from(node.estimated_calls > 0));
        self.hidden.push(0);
        self.hidden_total.push(0);
    }

    /// Counts a path that is left out below the node in `column`.
    fn hide(&mut self, column: u32, total: u64) {
        if let Some(hidden) = self.hidden.get_mut(column as usize) {
            *hidden += 1;
        }
        if let Some(sum) = self.hidden_total.get_mut(column as usize) {
            *sum = sum.saturating_add(total);
        }
    }
}

/// The position of a node in [`Nodes`]; of one that is left out, that of the innermost shown node above it.
#[derive(Clone, Copy)]
struct Place {
    column: u32,
    is_shown: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{FrameId, NodeId};

    #[test]
    fn paths_left_out_are_counted_at_every_depth_and_their_time_once() {
        let mut tree = CallTree::default();
        let main = tree.add_samples(NodeId::ROOT, FrameId(0), 1, 1_000).0;
        let large = tree.add_samples(main, FrameId(1), 1, 900).0;
        let small = tree.add_samples(main, FrameId(2), 1, 50).0;
        let below = tree.add_samples(small, FrameId(3), 1, 40).0;
        tree.add_samples(below, FrameId(4), 1, 30);
        tree.add_samples(large, FrameId(5), 1, 20);
        let nodes = Nodes::with_at_most(tree.nodes(), 3);
        assert_eq!(nodes.total, [1_000, 1_000, 900]);
        assert_eq!((nodes.hidden, nodes.hidden_total), (vec![0, 3, 1], vec![0, 50, 20]));
    }
}
