//! How good are estimates from ticks? Takes a recording in which each call was measured both ways (`bench/watch.py`), analyses the
//! exact times and the ticks as recordings of their own, and prints both for each method as JSON:
//! `cargo run --release -p trace --example watch_against_exact -- TRACE DIRECTORY`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trace::reader::{Chunk, Event};
use trace::{Analysis, AnalysisOptions, MethodInfo, ProcessInfo, Recording, RecordingOptions, TraceReader};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// One of the two recordings.
struct Half {
    recording: Recording,
    path: PathBuf,
    exact: bool,
    probes: HashMap<(String, String, String), u32>,
    threads: HashSet<u64>,
}

impl Half {
    fn create(path: PathBuf, start: u64, exact: bool) -> Outcome<Half> {
        let options = RecordingOptions::new(start, start, ProcessInfo::default());
        let recording = Recording::create(&path, options)?;
        Ok(Half { recording, path, exact, probes: HashMap::new(), threads: HashSet::new() })
    }

    fn probe(&mut self, chunk: &Chunk, method: u64) -> u32 {
        let Some(method) = chunk.method(method) else { return 0 };
        let key = (method.class.replace('.', "/"), method.name.to_owned(), method.descriptor.to_owned());
        let next = self.probes.len() as u32 + 1;
        let (recording, exact) = (&mut self.recording, self.exact);
        *self.probes.entry(key).or_insert_with_key(|(class, name, descriptor)| {
            let method = MethodInfo {
                class: class.as_bytes(),
                name: name.as_bytes(),
                descriptor: descriptor.as_bytes(),
                access_flags: 1,
                exact,
                template: "both",
            };
            recording.define_method(next, method);
            next
        })
    }

    fn analysis(self) -> Outcome<Analysis> {
        self.recording.finish()?;
        let analysis = Analysis::of_file(&self.path, AnalysisOptions::default())?;
        std::fs::remove_file(&self.path)?;
        Ok(analysis)
    }
}

fn split(reader: &TraceReader, halves: &mut [Half; 2]) -> Outcome<()> {
    for index in 0..reader.chunk_count() {
        let chunk = reader.chunk(index)?;
        let mut keys: HashMap<(u64, bool), u32> = HashMap::new();
        for event in chunk.events() {
            match event? {
                Event::MethodCall(call) => {
                    let Some(half) = halves.iter_mut().find(|half| half.exact == call.exact) else { continue };
                    let thread = chunk.thread(call.thread).map_or(0, |thread| thread.id);
                    if half.threads.insert(thread) {
                        half.recording.define_thread(thread, &format!("thread {thread}"), 0, false);
                    }
                    half.recording.set_thread(thread);
                    let probe =
                        *keys.entry((call.method, call.exact)).or_insert_with(|| half.probe(&chunk, call.method));
                    half.recording.call(probe, call.start, call.duration);
                }
                Event::Configuration { key, value } if key.starts_with("watch.") => {
                    halves
                        .iter_mut()
                        .for_each(|half| half.recording.configuration(reader.start_epoch_nanos(), &key, &value));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn figures(analysis: &Analysis) -> HashMap<String, Value> {
    let named = analysis.frames.iter().map(|frame| {
        let figures = json!({
            "calls": frame.calls, "total": frame.total, "own": frame.own,
            "total_margin": frame.total_margin, "own_margin": frame.own_margin,
        });
        (format!("{}{}", frame.full_name(), frame.descriptor), figures)
    });
    named.collect()
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(trace), Some(directory)) = (arguments.next(), arguments.next()) else {
        return Err("usage: watch_against_exact TRACE DIRECTORY".into());
    };
    let reader = TraceReader::open(Path::new(&trace))?;
    let file = |name: &str| Path::new(&directory).join(name);
    let start = reader.start_epoch_nanos();
    let mut halves = [Half::create(file("exact.jfr"), start, true)?, Half::create(file("ticks.jfr"), start, false)?];
    split(&reader, &mut halves)?;
    let [exact, ticks] = halves;
    let settings = |analysis: &Analysis| analysis.recording.configuration.clone();
    let (exact, ticks) = (exact.analysis()?, ticks.analysis()?);
    let (exact_figures, mut estimates) = (figures(&exact), figures(&ticks));
    let methods: Vec<Value> = exact_figures
        .into_iter()
        .map(|(name, exact)| json!({"name": name, "exact": exact, "estimate": estimates.remove(&name)}))
        .collect();
    println!(
        "{}",
        json!({
            "total": exact.tree.total(), "estimated_total": ticks.tree.total(), "calls": exact.calls,
            "ticks_seen": ticks.calls, "settings": settings(&ticks), "methods": methods,
        })
    );
    Ok(())
}
