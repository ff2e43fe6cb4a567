//! What was found, counted and with the first examples.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use instrument_core::Refused;

/// How many examples of each problem are kept.
const EXAMPLES: usize = 5;
/// More refusals than this share of the methods with code are a failure, in any way.
const MOST_REFUSED: f64 = 0.0002;

/// The figures of one source, or of all.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) classes: u64,
    pub(crate) methods: u64,
    pub(crate) methods_with_code: u64,
    /// Results of each way of instrumenting everything.
    pub(crate) ways: BTreeMap<&'static str, WayFigures>,
    /// Methods lifted and lowered without a template, and found the same.
    pub(crate) lowered: u64,
    pub(crate) frame_tables: u64,
    /// Reason and language -> methods or tables of the same meaning in other bytes, and the first of them.
    other_forms: BTreeMap<String, (u64, String)>,
    pub(crate) bytes_in: u64,
    problems: BTreeMap<&'static str, (u64, Vec<String>)>,
}

/// The figures of one way.
#[derive(Debug, Default)]
pub(crate) struct WayFigures {
    pub(crate) instrumented: u64,
    pub(crate) bytes_out: u64,
    /// Reason -> methods that by their nature cannot be instrumented in this way.
    pub(crate) excepted: BTreeMap<&'static str, u64>,
    /// Call sites inserted.
    pub(crate) sites: u64,
    /// Reason -> call sites that were not.
    pub(crate) refused_sites: BTreeMap<&'static str, u64>,
    /// Reason -> methods left as they were.
    refused: BTreeMap<&'static str, u64>,
}

impl WayFigures {
    pub(crate) fn refuse(&mut self, refused: &[Refused]) {
        for refused in refused {
            *self.refused.entry(refused.reason.key()).or_default() += 1;
        }
    }

    fn add(&mut self, other: WayFigures) {
        self.instrumented += other.instrumented;
        self.bytes_out += other.bytes_out;
        self.sites += other.sites;
        for (reason, count) in other.refused_sites {
            *self.refused_sites.entry(reason).or_default() += count;
        }
        for (reason, count) in other.excepted {
            *self.excepted.entry(reason).or_default() += count;
        }
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
    }

    /// Share of the methods with code.
    fn refused_share(&self) -> f64 {
        let refused: u64 = self.refused.values().sum();
        refused as f64 / (refused + self.instrumented).max(1) as f64
    }
}

impl Tally {
    /// Something that must not be, with an example.
    pub(crate) fn problem(&mut self, kind: &'static str, example: String) {
        let (count, examples) = self.problems.entry(kind).or_default();
        *count += 1;
        if examples.len() < EXAMPLES {
            examples.push(example);
        }
    }

    /// Something that means the same in other bytes.
    pub(crate) fn other_form(&mut self, reason: String, example: impl FnOnce() -> String) {
        self.other_forms.entry(reason).or_insert_with(|| (0, example())).0 += 1;
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.classes += other.classes;
        self.methods += other.methods;
        self.methods_with_code += other.methods_with_code;
        for (way, figures) in other.ways {
            self.ways.entry(way).or_default().add(figures);
        }
        self.lowered += other.lowered;
        self.frame_tables += other.frame_tables;
        for (reason, (count, first)) in other.other_forms {
            self.other_forms.entry(reason).or_insert((0, first)).0 += count;
        }
        self.bytes_in += other.bytes_in;
        for (kind, (count, examples)) in other.problems {
            let (own_count, own_examples) = self.problems.entry(kind).or_default();
            *own_count += count;
            own_examples.extend(examples.into_iter().take(EXAMPLES.saturating_sub(own_examples.len())));
        }
    }

    pub(crate) fn is_good(&self) -> bool {
        self.problems.is_empty() && self.ways.values().all(|figures| figures.refused_share() <= MOST_REFUSED)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        let mut text = format!(
            "{name}: {} classes, {} methods, {} with code\n",
            self.classes, self.methods, self.methods_with_code
        );
        for (way, figures) in &self.ways {
            let growth = figures.bytes_out as f64 / self.bytes_in.max(1) as f64;
            let _ = write!(text, "  {way}: {} instrumented, bytes x {growth:.3}", figures.instrumented);
            if !figures.refused.is_empty() {
                let _ = write!(text, ", {:.4} % refused", figures.refused_share() * 100.0);
            }
            for (reason, count) in &figures.refused {
                let _ = write!(text, ", {count} {reason}");
            }
            for (reason, count) in &figures.excepted {
                let _ = write!(text, ", left out: {count} {reason}");
            }
            if figures.sites > 0 {
                let _ = write!(text, "; {} sites", figures.sites);
                for (reason, count) in &figures.refused_sites {
                    let _ = write!(text, ", {count} not: {reason}");
                }
            }
            text.push('\n');
        }
        let _ = writeln!(text, "  lowered as lifted: {} methods, {} frame tables", self.lowered, self.frame_tables);
        for (reason, (count, first)) in &self.other_forms {
            let _ = writeln!(text, "    in another form: {count} {reason}, the first in {first}");
        }
        for (kind, (count, examples)) in &self.problems {
            let _ = writeln!(text, "  FAILED: {count} x {kind}, such as\n    {}", examples.join("\n    "));
        }
        text
    }
}
