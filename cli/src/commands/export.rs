//! `instr export`: a recording for other tools.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use trace::export::{
    CollapsedOptions, Sampled, Weight, chrome, collapsed, collapsed_samples, otlp, perfetto, pprof, pprof_allocations,
    speedscope, speedscope_samples,
};
use trace::{Analysis, AnalysisOptions, TraceReader};

use crate::failure::Failure;
use crate::output_file;
use crate::progress::show_progress;

/// Who shall read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Stacks as lines, `frame;frame;frame weight`: flamegraph.pl, async-profiler's converter
    Collapsed,
    /// JSON of <https://www.speedscope.app>: every call, by threads
    Speedscope,
    /// Trace Event JSON: <https://ui.perfetto.dev>, <chrome://tracing>
    Chrome,
    /// Perfetto's own format, a fifth of the size: <https://ui.perfetto.dev>, trace_processor
    Perfetto,
    /// Call paths with calls and time: `go tool pprof`
    Pprof,
    /// OTLP/JSON lines, a span for each call: OpenTelemetry Collector (receiver otlpjsonfile)
    Otlp,
}

/// What the numbers of collapsed stacks count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WeightChoice {
    /// Microseconds in the method itself
    SelfTime,
    /// Calls
    Calls,
}

/// Write a recording in the format of another tool: flame graphs, speedscope, Perfetto.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The format.
    #[arg(long, value_enum)]
    format: Format,
    /// Where to write; without it, standard output.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Only for collapsed: what the numbers count. Default: self-time.
    #[arg(long, value_enum)]
    weight: Option<WeightChoice>,
    /// Only for collapsed: begin each line with the thread.
    #[arg(long)]
    threads: bool,
    /// Export the samples of running threads in place of the calls: collapsed or speedscope.
    #[arg(long)]
    samples: bool,
    /// Export who allocates how much in place of the calls: collapsed, speedscope or pprof.
    #[arg(long, conflicts_with = "samples")]
    allocations: bool,
    /// Leave out what happened before the application was up.
    #[arg(long)]
    after_start_up: bool,
    /// The recording.
    trace: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    check_options(arguments)?;
    // The recording is opened first: if it cannot be read, no output file is created.
    let mut reader = TraceReader::open(&arguments.trace).with_context(|| {
        Failure::new(
            format!("cannot export {}", arguments.trace.display()),
            "name a recording of the agent: instr-<pid>.jfr, or what [trace] file says",
        )
    })?;
    show_progress(&mut reader);
    let analysis = match &arguments.output {
        Some(file) => write_file(file, arguments, &mut reader)?,
        None => write_to(stdout().lock(), arguments, &mut reader).context("cannot write to the standard output")?,
    };
    tell(arguments, &analysis);
    Ok(())
}

fn check_options(arguments: &Arguments) -> Result<()> {
    let only_collapsed = arguments.weight.is_some() || arguments.threads;
    if only_collapsed && arguments.format != Format::Collapsed {
        let help = "leave them out: the other formats hold every call with its time and its thread";
        return Err(Failure::new("--weight and --threads are for --format collapsed", help).into());
    }
    check_samples(arguments)?;
    let is_binary = matches!(arguments.format, Format::Perfetto | Format::Pprof);
    if is_binary && arguments.output.is_none() && stdout().is_terminal() {
        return Err(Failure::new("this format is no text for a terminal", "give --output FILE, or pipe it").into());
    }
    arguments.output.as_deref().map_or(Ok(()), output_file::refuse_recording)
}

fn check_samples(arguments: &Arguments) -> Result<()> {
    let has_samples = matches!(arguments.format, Format::Collapsed | Format::Speedscope);
    if arguments.samples && !has_samples {
        let help = "leave it out, or write --format collapsed or --format speedscope";
        return Err(Failure::new("--samples is for collapsed stacks and speedscope", help).into());
    }
    if arguments.allocations && !has_samples && arguments.format != Format::Pprof {
        let help = "leave it out, or write --format collapsed, --format speedscope or --format pprof";
        return Err(Failure::new("--allocations is for collapsed stacks, speedscope and pprof", help).into());
    }
    if (arguments.samples || arguments.allocations) && arguments.weight.is_some() {
        return Err(Failure::new("--weight is for calls, samples are only counted", "leave one of them out").into());
    }
    Ok(())
}

fn write_file(file: &Path, arguments: &Arguments, reader: &mut TraceReader) -> Result<Analysis> {
    let failure = || {
        let help =
            "give an --output in a directory that exists, may be written and has room, or none for standard output";
        Failure::new(format!("cannot write {}", file.display()), help)
    };
    // A device or a pipe is written to directly.
    if file.exists() && !file.is_file() {
        let output = File::create(file).with_context(failure)?;
        return write_to(output, arguments, reader).with_context(failure);
    }
    // Under another name until it is whole: if the export is interrupted, an earlier file is kept.
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    output_file::refuse_recording(part)?;
    let output = File::create(part).with_context(failure)?;
    let written = write_to(output, arguments, reader).and_then(|analysis| fs::rename(part, file).map(|()| analysis));
    if written.is_err() {
        // The incomplete file is of no use. If it cannot be removed, the error to report is still the one of the export.
        let _ = fs::remove_file(part);
    }
    written.with_context(failure)
}

fn write_to(output: impl Write, arguments: &Arguments, reader: &mut TraceReader) -> io::Result<Analysis> {
    let mut output = BufWriter::with_capacity(1 << 16, output);
    let options = AnalysisOptions { after_start_up: arguments.after_start_up, ..AnalysisOptions::default() };
    let sampled = match arguments {
        Arguments { samples: true, .. } => Some(Sampled::RunningThreads),
        Arguments { allocations: true, .. } => Some(Sampled::Allocations),
        _ => None,
    };
    let analysis = match (arguments.format, sampled) {
        (Format::Collapsed, Some(sampled)) => {
            collapsed_samples(reader, options, sampled, arguments.threads, &mut output)
        }
        (Format::Speedscope, Some(sampled)) => speedscope_samples(reader, options, sampled, &mut output),
        (Format::Pprof, Some(_)) => pprof_allocations(reader, options, &mut output),
        (format, _) => write_calls(format, arguments, reader, &mut output),
    }?;
    output.flush()?;
    Ok(analysis)
}

fn write_calls(
    format: Format,
    arguments: &Arguments,
    reader: &mut TraceReader,
    output: &mut impl Write,
) -> io::Result<Analysis> {
    let options = AnalysisOptions { after_start_up: arguments.after_start_up, ..AnalysisOptions::default() };
    match format {
        Format::Collapsed => collapsed(reader, &collapsed_options(arguments, options), output),
        Format::Speedscope => speedscope(reader, options, output),
        Format::Chrome => chrome(reader, options, output),
        Format::Perfetto => perfetto(reader, options, output),
        Format::Pprof => pprof(reader, options, output),
        Format::Otlp => otlp(reader, options, output),
    }
}

fn collapsed_options(arguments: &Arguments, analysis: AnalysisOptions) -> CollapsedOptions {
    let weight = match arguments.weight {
        Some(WeightChoice::Calls) => Weight::Calls,
        Some(WeightChoice::SelfTime) | None => Weight::OwnTime,
    };
    CollapsedOptions { analysis, weight, threads: arguments.threads }
}

/// To standard error: standard output may be what was exported.
fn tell(arguments: &Arguments, analysis: &Analysis) {
    for warning in &analysis.warnings {
        eprintln!("warning: {warning}");
    }
    let samples = analysis.samples.as_ref().map_or(0, |profile| profile.ticks);
    let allocations = analysis.allocations.as_ref().map_or(0, |profile| profile.samples);
    if arguments.samples || arguments.allocations {
        let (samples, table) = if arguments.samples { (samples, "[sampler]") } else { (allocations, "[allocation]") };
        if samples == 0 {
            eprintln!("warning: no samples recorded; write `{table}` into the configuration");
        }
        if let Some(file) = &arguments.output {
            eprintln!("{}: {samples} samples", file.display());
        }
        return;
    }
    if analysis.calls == 0 && samples > 0 {
        eprintln!("warning: no calls recorded, but {samples} samples: export them with --samples");
    } else if analysis.calls == 0 && allocations > 0 {
        eprintln!(
            "warning: no calls recorded, but {allocations} samples of allocations: export them with --allocations"
        );
    } else if analysis.calls == 0 {
        eprintln!("warning: no calls recorded; `instr report` says what to check");
    }
    if let Some(file) = &arguments.output {
        let calls = analysis.calls;
        eprintln!("{}: {calls} {}", file.display(), if calls == 1 { "call" } else { "calls" });
    }
}
