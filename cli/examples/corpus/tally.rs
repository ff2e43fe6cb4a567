//! What was found, counted and with the first examples.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many examples of each problem are kept.
const EXAMPLES: usize = 5;
/// More refusals than this share of the methods with code are a failure.
const MOST_REFUSED: f64 = 0.001;

/// The figures of one source, or of all.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) classes: u64,
    pub(crate) methods: u64,
    pub(crate) methods_with_code: u64,
    pub(crate) instrumented: u64,
    /// Methods lifted and lowered without a template, and found the same.
    pub(crate) lowered: u64,
    pub(crate) frame_tables: u64,
    /// Reason and language -> methods or tables of the same meaning in other bytes.
    pub(crate) other_forms: BTreeMap<String, u64>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    /// Reason -> methods left as they were.
    pub(crate) refused: BTreeMap<&'static str, u64>,
    problems: BTreeMap<&'static str, (u64, Vec<String>)>,
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

    pub(crate) fn add(&mut self, other: Tally) {
        self.classes += other.classes;
        self.methods += other.methods;
        self.methods_with_code += other.methods_with_code;
        self.instrumented += other.instrumented;
        self.lowered += other.lowered;
        self.frame_tables += other.frame_tables;
        for (reason, count) in other.other_forms {
            *self.other_forms.entry(reason).or_default() += count;
        }
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
        for (kind, (count, examples)) in other.problems {
            let (own_count, own_examples) = self.problems.entry(kind).or_default();
            *own_count += count;
            own_examples.extend(examples.into_iter().take(EXAMPLES.saturating_sub(own_examples.len())));
        }
    }

    pub(crate) fn is_good(&self) -> bool {
        self.problems.is_empty() && self.refused_share() <= MOST_REFUSED
    }

    pub(crate) fn text(&self, name: &str) -> String {
        let mut text = format!(
            "{name}: {} classes, {} methods, {} with code, {} instrumented, bytes x {:.3}\n",
            self.classes,
            self.methods,
            self.methods_with_code,
            self.instrumented,
            self.bytes_out as f64 / self.bytes_in.max(1) as f64
        );
        for (reason, count) in &self.refused {
            let _ = writeln!(text, "  refused: {count} {reason}");
        }
        if !self.refused.is_empty() {
            let _ =
                writeln!(text, "  refused altogether: {:.4} % of the methods with code", self.refused_share() * 100.0);
        }
        let _ = writeln!(text, "  lowered as lifted: {} methods, {} frame tables", self.lowered, self.frame_tables);
        for (reason, count) in &self.other_forms {
            let _ = writeln!(text, "    in another form: {count} {reason}");
        }
        for (kind, (count, examples)) in &self.problems {
            let _ = writeln!(text, "  FAILED: {count} x {kind}, such as\n    {}", examples.join("\n    "));
        }
        text
    }

    fn refused_share(&self) -> f64 {
        self.refused.values().sum::<u64>() as f64 / self.methods_with_code.max(1) as f64
    }
}
