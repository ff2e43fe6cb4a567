//! Recordings of two sides beside each other as the data of a page.

use serde::Serialize;

use super::data::{PartData, Recording};
use crate::Analysis;
use crate::analysis::{ComparedTree, Comparison, Figures, Measure, MethodChange, Overloads, RecordingInfo};

/// Paths in the flame graph; those with less time in both recordings are left out.
const MOST_PATHS: usize = 40_000;
/// Methods in the table.
const MOST_METHODS: usize = 5_000;

/// The data of the page of differences.
#[derive(Serialize)]
pub(super) struct DiffPage<'a> {
    /// What the scripts of the report want to know of any page: figures of the later recording.
    recording: Recording<'a>,
    calls: u64,
    total: u64,
    warnings: Vec<String>,
    frames: Vec<FrameData<'a>>,
    nodes: NodeColumns,
    paths: usize,
    diff: Diff<'a>,
}

#[derive(Serialize)]
struct FrameData<'a> {
    class: &'a str,
    method: &'a str,
    descriptor: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<String>,
    template: &'static str,
}

#[derive(Serialize, Default)]
struct NodeColumns {
    parent: Vec<usize>,
    frame: Vec<i64>,
    estimated: Vec<u8>,
}

#[derive(Serialize)]
struct Diff<'a> {
    /// Before and after: the recordings of each side.
    recordings: [Vec<Recording<'a>>; 2],
    /// Means of the recordings.
    durations: [u64; 2],
    /// Whether `chance` includes how much runs of the program differ.
    sees_runs: bool,
    calls: [u64; 2],
    totals: [u64; 2],
    nodes: [Columns; 2],
    methods: Vec<Row<'a>>,
    /// Methods of both recordings; `methods` has those with the largest differences.
    all_methods: usize,
}

#[derive(Serialize, Default)]
struct Columns {
    calls: Vec<u64>,
    total: Vec<u64>,
    own: Vec<u64>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: String,
    descriptor: &'a str,
    /// Position in `frames`.
    frame: Option<usize>,
    figures: [Option<Numbers>; 2],
    /// What chance alone makes of the own time, in percent of that before; `None` if that cannot be said.
    chance: Option<f64>,
    is_chance: Option<bool>,
    /// The part of the time to which the figures of each side apply, if the level was changed.
    #[serde(skip_serializing_if = "no_part")]
    parts: [Option<PartData<'a>>; 2],
}

fn no_part(parts: &[Option<PartData<'_>>; 2]) -> bool {
    parts.iter().all(Option::is_none)
}

#[derive(Serialize)]
struct Numbers {
    calls: u64,
    total: u64,
    own: u64,
    /// `null` where level watch does not carry it.
    per_call: Option<u64>,
    estimated: bool,
}

impl Numbers {
    fn of(figures: Figures) -> Numbers {
        let Figures { calls, estimated_calls, total, own, own_is_estimated, average } = figures;
        Numbers { calls, total, own, per_call: average, estimated: own_is_estimated || estimated_calls > 0 }
    }
}

/// The page's data as JSON.
pub(super) fn diff_json(before: &[Analysis], after: &[Analysis], comparison: &Comparison) -> String {
    let whole = ComparedTree::of(before, after);
    let tree = whole.with_at_most(MOST_PATHS);
    let both = [before, after];
    let mut nodes = NodeColumns::default();
    let mut columns = [Columns::default(), Columns::default()];
    for node in &tree.nodes {
        nodes.parent.push(node.parent);
        nodes.frame.push(node.method.map_or(-1, |method| method as i64));
        nodes.estimated.push(u8::from(node.is_estimated));
        for (columns, figures) in columns.iter_mut().zip(node.figures) {
            columns.calls.push(figures.calls);
            columns.total.push(figures.total);
            columns.own.push(figures.own);
        }
    }
    let changes = comparison.by_difference(Measure::Own);
    let nothing = RecordingInfo::default();
    let page = DiffPage {
        recording: Recording::of(after.first().map_or(&nothing, |analysis| &analysis.recording)),
        calls: comparison.calls[1],
        total: comparison.total[1],
        warnings: warnings(comparison),
        frames: frames(&tree),
        nodes,
        paths: whole.nodes.len(),
        diff: Diff {
            recordings: both.map(|side| side.iter().map(|analysis| Recording::of(&analysis.recording)).collect()),
            durations: comparison.durations,
            sees_runs: comparison.sees_runs(),
            calls: comparison.calls,
            totals: comparison.total,
            nodes: columns,
            methods: rows(&changes, &tree),
            all_methods: changes.len(),
        },
    };
    // Numbers and text only: nothing that could fail to be written as JSON.
    serde_json::to_string(&page).unwrap_or_default()
}

fn frames(tree: &ComparedTree) -> Vec<FrameData<'_>> {
    let methods = tree.methods.iter().map(|method| (&*method.class, &*method.method, &*method.descriptor));
    let overloads = Overloads::among(methods.clone());
    let frame = |(class, method, descriptor)| FrameData {
        class,
        method,
        descriptor,
        parameters: overloads.parameters(class, method, descriptor),
        template: "",
    };
    methods.map(frame).collect()
}

fn warnings(comparison: &Comparison) -> Vec<String> {
    let sides = ["before", "after"].into_iter().zip(&comparison.warnings);
    let of_sides = sides.flat_map(|(side, warnings)| warnings.iter().map(move |text| format!("{side}: {text}")));
    of_sides.chain(comparison.compares_nothing().map(|reason| format!("nothing is compared: {reason}"))).collect()
}

fn rows<'a>(changes: &[&'a MethodChange], tree: &ComparedTree) -> Vec<Row<'a>> {
    let name = |method: &crate::analysis::ComparedMethod| {
        if method.class.is_empty() { method.method.clone() } else { format!("{}.{}", method.class, method.method) }
    };
    let mut positions: std::collections::HashMap<(String, &str), usize> = std::collections::HashMap::new();
    for (position, method) in tree.methods.iter().enumerate() {
        positions.insert((name(method), &method.descriptor), position);
    }
    let row = |change: &&'a MethodChange| Row {
        name: change.distinct_name(),
        descriptor: &change.descriptor,
        frame: positions.get(&(change.name.clone(), change.descriptor.as_str())).copied(),
        figures: [change.before, change.after].map(|figures| figures.map(Numbers::of)),
        chance: change.noise_percent(Measure::Own),
        is_chance: change.is_noise(Measure::Own),
        parts: change.parts.each_ref().map(|part| part.as_ref().map(PartData::of)),
    };
    changes.iter().take(MOST_METHODS).map(row).collect()
}
