//! What the agent counts, and the JSON file it writes at the end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use classfile::ClassFile;
use control::Analysis;
use instrument_core::Refused;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::classes::unloaded_classes::KeptAboutClasses;
use crate::recorder::RecordCounts;
use crate::sampler::SampleCounts;

/// So many refused methods are listed by name; all are counted.
const LISTED: usize = 1000;

/// Counters of one session.
#[derive(Debug, Default)]
pub(crate) struct Statistics {
    /// Classes that passed the hook.
    pub(crate) classes_seen: AtomicU64,
    /// Classes that were looked into because a rule might want them.
    pub(crate) classes_examined: AtomicU64,
    /// Of these, classes whose head said that no rule takes a method of them. Nobody has counted their methods.
    pub(crate) classes_unmatched: AtomicU64,
    /// Classes that were handed back changed.
    pub(crate) classes_rewritten: AtomicU64,
    /// Methods with at least one probe.
    pub(crate) methods_instrumented: AtomicU64,
    /// Of these, methods that were given a wrapper.
    pub(crate) methods_wrapped: AtomicU64,
    /// Classes that `instr pre` had instrumented; the agent adds no probe to them.
    pub(crate) classes_ahead: AtomicU64,
    /// Of their probes, those that record because a rule takes their method.
    pub(crate) probes_ahead: AtomicU64,
    /// Probes in them.
    pub(crate) probes: AtomicU64,
    /// Bytes of the rewritten classes before.
    pub(crate) bytes_in: AtomicU64,
    /// Bytes of the rewritten classes after.
    pub(crate) bytes_out: AtomicU64,
    /// Bytes of code of the instrumented methods before.
    pub(crate) code_bytes_in: AtomicU64,
    /// Bytes of code of the instrumented methods after.
    pub(crate) code_bytes_out: AtomicU64,
    /// Methods that grew past what HotSpot inlines without knowing how often they are called.
    pub(crate) past_max_inline_size: AtomicU64,
    /// Methods that grew past what HotSpot inlines at all.
    pub(crate) past_freq_inline_size: AtomicU64,
    /// Time spent in the hook on classes that did not end at their names, of all threads together.
    pub(crate) hook_nanos: AtomicU64,
    /// Classes loaded before the hook was on that were presented to it again.
    pub(crate) classes_retransformed: AtomicU64,
    reasons: Mutex<Reasons>,
}

#[derive(Debug, Default)]
struct Reasons {
    refused: BTreeMap<String, u64>,
    refused_methods: Vec<RefusedMethod>,
    skipped: BTreeMap<String, u64>,
}

/// A method that a rule wanted and that was left alone.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RefusedMethod {
    /// Internal name of the class.
    pub(crate) class: String,
    /// Name and descriptor; empty if the class as a whole was refused.
    pub(crate) method: String,
    /// The reason, for people.
    pub(crate) reason: String,
}

impl Statistics {
    /// Adds to a counter.
    pub(crate) fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Counts a refusal; `key` is its kind, for machines.
    pub(crate) fn refuse(&self, key: &str, method: RefusedMethod) {
        tracing::info!(class = method.class, method = method.method, reason = method.reason, "refused");
        let mut reasons = self.reasons.lock();
        *reasons.refused.entry(key.to_owned()).or_default() += 1;
        if reasons.refused_methods.len() < LISTED {
            reasons.refused_methods.push(method);
        }
    }

    /// Returns the classes that were refused as a whole, by their names in source form, each with its latest reason; those that are listed.
    pub(crate) fn refused_classes(&self) -> FxHashMap<String, String> {
        let reasons = self.reasons.lock();
        let of_classes = reasons.refused_methods.iter().filter(|refused| refused.method.is_empty());
        of_classes.map(|refused| (refused.class.replace('/', "."), refused.reason.clone())).collect()
    }

    /// Counts methods of a class that could not be instrumented.
    pub(crate) fn refuse_methods(&self, file: &ClassFile<'_>, refused: &[Refused]) {
        for Refused { method_index, reason } in refused {
            let method = file.methods().get(*method_index);
            let method = method.map(|method| format!("{}{}", method.name, method.descriptor)).unwrap_or_default();
            let (class, text) = (file.this_class().to_string(), reason.to_string());
            self.refuse(reason.key(), RefusedMethod { class, method, reason: text });
        }
    }

    /// Counts methods that no rule wanted or that rules left out, by kind, of classes that were looked into as a whole.
    pub(crate) fn skip<'a>(&self, kinds: impl Iterator<Item = (&'a str, u64)>) {
        let mut reasons = self.reasons.lock();
        for (kind, count) in kinds {
            if let Some(total) = reasons.skipped.get_mut(kind) {
                *total += count;
            } else {
                reasons.skipped.insert(kind.to_owned(), count);
            }
        }
    }

    /// The figures as JSON.
    pub(crate) fn to_json(&self, end: &End<'_>) -> String {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let reasons = self.reasons.lock();
        let file = File {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            classes_seen: get(&self.classes_seen),
            classes_examined: get(&self.classes_examined),
            classes_unmatched: get(&self.classes_unmatched),
            classes_rewritten: get(&self.classes_rewritten),
            classes_retransformed: get(&self.classes_retransformed),
            methods_instrumented: get(&self.methods_instrumented),
            methods_wrapped: get(&self.methods_wrapped),
            wrapped_classes: end.wrapped_classes,
            classes_analysed: end.analysis.classes,
            decisions_from_facts: end.analysis.reused,
            classes_instrumented_ahead: get(&self.classes_ahead),
            probes_instrumented_ahead: get(&self.probes_ahead),
            probes: get(&self.probes),
            bytes_in: get(&self.bytes_in),
            bytes_out: get(&self.bytes_out),
            code_bytes_in: get(&self.code_bytes_in),
            code_bytes_out: get(&self.code_bytes_out),
            past_max_inline_size: get(&self.past_max_inline_size),
            past_freq_inline_size: get(&self.past_freq_inline_size),
            refused: &reasons.refused,
            skipped: &reasons.skipped,
            hook_ns: get(&self.hook_nanos),
            records: end.records.records,
            lost: end.records.lost,
            records_of_other_threads: end.records.other_threads,
            incomplete_requests: end.records.incomplete_requests,
            malformed_segments: end.records.malformed,
            samples: end.samples,
            trace_file: end.trace_file,
            kept_about_classes: end.kept.as_ref(),
            discard: end.discard,
            warnings: end.warnings,
            refused_methods: &reasons.refused_methods,
        };
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// Writes the JSON file and returns where an earlier one is kept.
    pub(crate) fn write(&self, path: &Path, end: &End<'_>) -> std::io::Result<Option<PathBuf>> {
        trace::write_keeping_earlier(path, self.to_json(end).as_bytes())
    }
}

/// What is known only at the end.
#[derive(Debug)]
pub(crate) struct End<'a> {
    /// Figures of the recorder.
    pub(crate) records: RecordCounts,
    /// Figures of the sampler, if there was one.
    pub(crate) samples: Option<&'a SampleCounts>,
    /// The trace file, if one was written.
    pub(crate) trace_file: Option<&'a str>,
    /// Classes of the process, as far as their loaders still live, that have wrappers.
    pub(crate) wrapped_classes: usize,
    /// How much is kept about classes, if they were counted.
    pub(crate) kept: Option<KeptAboutClasses>,
    /// What was found in classes.
    pub(crate) analysis: Analysis,
    /// Whether rewritten classes were thrown away.
    pub(crate) discard: bool,
    /// Warnings about the configuration.
    pub(crate) warnings: &'a [String],
}

#[derive(Serialize)]
struct File<'a> {
    version: &'a str,
    pid: u32,
    classes_seen: u64,
    classes_examined: u64,
    classes_unmatched: u64,
    classes_rewritten: u64,
    classes_retransformed: u64,
    methods_instrumented: u64,
    methods_wrapped: u64,
    wrapped_classes: usize,
    classes_analysed: u64,
    decisions_from_facts: u64,
    classes_instrumented_ahead: u64,
    probes_instrumented_ahead: u64,
    probes: u64,
    bytes_in: u64,
    bytes_out: u64,
    code_bytes_in: u64,
    code_bytes_out: u64,
    past_max_inline_size: u64,
    past_freq_inline_size: u64,
    refused: &'a BTreeMap<String, u64>,
    skipped: &'a BTreeMap<String, u64>,
    hook_ns: u64,
    records: u64,
    lost: u64,
    records_of_other_threads: u64,
    incomplete_requests: u64,
    malformed_segments: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<&'a SampleCounts>,
    trace_file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_about_classes: Option<&'a KeptAboutClasses>,
    discard: bool,
    warnings: &'a [String],
    refused_methods: &'a [RefusedMethod],
}
