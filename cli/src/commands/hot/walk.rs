//! `instr walk`: from hot methods up to their callers, level by level.

mod levels;
mod plan;

use std::io::{Write, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use control::{
    CLIENT_LEFT, Hello, HotBy, LONGEST_HOT_SECONDS, Request, USUAL_HOT_SECONDS, WALK_BUDGET, WALK_CALLS, WALK_HOOKS,
    WALK_LEVELS, WALK_PERCENT, WALK_PERIOD_MS, Walk,
};

use super::{METRICS, word};
use crate::commands::{attach, detach};
use crate::diagnosis::Interruption;
use crate::running_agent::{PendingAnswer, ask};
use levels::Shown;
use trace::report::counted;

/// Between two looks at how far the walk has come.
const LOOK: Duration = Duration::from_millis(250);
/// The probes of a walk whose client has left are removed within this time; else the agent or the JVM is in trouble.
const END: Duration = Duration::from_secs(10);
/// In the place of [`CLIENT_LEFT`]: the client is this command.
const ENDED_BY_USER: &str = "ended by you";
/// Between two looks whether it has ended.
const LOOK_FOR_END: Duration = Duration::from_millis(50);

/// Walk up from the hot methods: find who calls them, measure these calls for a while, and go up level by level. Two levels have probes at a time, and none has when it
/// is over, also after Ctrl-C.
///
/// Exit codes: 0 with a result, 1 after an error, 2 if the command line is wrong, 130 after Ctrl-C, with what was measured until then.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// Begin at this method, as `package.Class.method` or `'package.Class.method(int, String)'`, not at the hot ones.
    #[arg(long, conflicts_with = "top")]
    method: Option<String>,
    /// The number of hot methods to begin at.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=8))]
    top: u64,
    /// For how long samples are taken first.
    #[arg(long, value_name = "N", default_value_t = USUAL_HOT_SECONDS, value_parser = clap::value_parser!(u64).range(1..=LONGEST_HOT_SECONDS))]
    seconds: u64,
    /// For how long each level is measured: milliseconds.
    #[arg(long, value_name = "MS", default_value_t = WALK_PERIOD_MS, value_parser = clap::value_parser!(u64).range(100..=60_000))]
    period: u64,
    /// Most calls that are recorded a level, those of its methods and of their callers together. A level ends early when they are used up.
    #[arg(long, value_name = "N", default_value_t = WALK_CALLS, value_parser = clap::value_parser!(u64).range(1..))]
    calls: u64,
    /// Most levels.
    #[arg(long, value_name = "N", default_value_t = WALK_LEVELS as u64, value_parser = clap::value_parser!(u64).range(1..=64))]
    levels: u64,
    /// Callers with this share of the processor time of a method are followed.
    #[arg(long, value_name = "PERCENT", default_value_t = WALK_PERCENT, value_parser = clap::value_parser!(u32).range(0..=100))]
    share: u32,
    /// The most callers of one method that are followed. Default: all with the share.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    callers: Option<u64>,
    /// Most probes at a time.
    #[arg(long, value_name = "N", default_value_t = WALK_HOOKS as u64, value_parser = clap::value_parser!(u64).range(2..=64))]
    hooks: u64,
    /// What recording calls may take of one processor. Methods that are called more often are recorded in short windows.
    #[arg(long, value_name = "PERCENT", default_value_t = WALK_BUDGET, value_parser = clap::value_parser!(u32).range(1..=100))]
    budget: u32,
    /// Classes `package.Class` with `*` and `**` whose methods are passed through: their callers count. May be repeated.
    #[arg(long, value_name = "CLASSES")]
    through: Vec<String>,
    /// Classes at whose methods the walk ends. May be repeated.
    #[arg(long, value_name = "CLASSES")]
    boundary: Vec<String>,
    /// By what calls are measured: time (`wall`), by probes; or by hooks, which count fewer calls, processor time (`cpu`), allocated bytes, cycles or instructions (`perf_event_open`). By `allocated`, the walk begins where most is allocated.
    #[arg(long, default_value = "wall", value_parser = PossibleValuesParser::new(METRICS).try_map(|text| word(&text)))]
    metric: HotBy,
    /// Counting calls of a method ends early when they have used this much of the metric: cycles, instructions, bytes, or nanoseconds of processor time.
    #[arg(long, value_name = "N", requires = "metric", value_parser = clap::value_parser!(u64).range(1..))]
    used: Option<u64>,
    /// Go on from tasks of pools and from threads to who hands them over: some ten classes of the JDK are changed for that while a level is measured at which tasks begin.
    #[arg(long, conflicts_with = "show")]
    across_threads: bool,
    /// Write the methods that were met to this file, as a configuration: a JVM that is started with it has their probes from the start, switched off, and the next walk changes no class for them.
    #[arg(long, value_name = "FILE", conflicts_with = "show")]
    plan: Option<PathBuf>,
    /// Load the agent first, and remove it at the end. It records nothing else.
    #[arg(long, conflicts_with = "show")]
    attach: bool,
    /// Show once how far the walk has come that is under way, or what the last one has found.
    #[arg(long)]
    show: bool,
    /// Print nothing before the walk is over.
    #[arg(long)]
    once: bool,
    /// Print one JSON object at the end.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.show {
        print(&ask(arguments.pid, &Request::WalkProgress)?, &mut Shown::default(), arguments.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &arguments.plan {
        plan::check(file)?;
    }
    let interruption = Interruption::listen()?;
    if !arguments.attach {
        return follow(arguments, &interruption);
    }
    attach::load_without_rules(arguments.pid)?;
    let followed = follow(arguments, &interruption);
    let detached = detach::detach(arguments.pid);
    let code = followed?;
    detached?;
    Ok(code)
}

fn follow(arguments: &Arguments, interruption: &Interruption) -> Result<ExitCode> {
    let pid = arguments.pid;
    let _: Hello = ask(pid, &Request::Hello).inspect_err(|_| {
        if !arguments.attach {
            eprintln!("note: with `--attach` the agent is loaded for the walk, and removed at its end");
        }
    })?;
    let answer = PendingAnswer::<Walk>::ask(pid, request(arguments))?;
    let is_silent = arguments.once || arguments.json;
    let (mut shown, mut has_begun) = (Shown::default(), false);
    eprintln!("sampling for {} s", arguments.seconds);
    loop {
        if let Some(walk) = answer.wait(LOOK) {
            let walk = walk?;
            print(&walk, &mut shown, arguments.json)?;
            if let Some(file) = &arguments.plan {
                let methods = plan::write(file, &walk)? as u64;
                eprintln!("{} written to {}", counted(methods, "method"), file.display());
            }
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(code) = interruption.code() {
            eprintln!("the walk ends, and its probes are removed");
            answer.give_up();
            if has_begun {
                print_partial(arguments, &mut shown)?;
            }
            return Ok(ExitCode::from(code));
        }
        // There may be none yet; what is wrong, the answer says.
        if let Ok(walk) = ask::<Walk>(pid, &Request::WalkProgress)
            && walk.end.is_none()
        {
            has_begun = true;
            if is_silent {
                continue;
            }
            let walk = trace::Walk::from(&walk);
            if let Some(state) = shown.state(&walk) {
                eprintln!("{state}");
            }
            write(&shown.news(&walk))?;
        }
    }
}

/// Prints what a walk has found that ends because this command has closed its connection.
fn print_partial(arguments: &Arguments, shown: &mut Shown) -> Result<()> {
    let began = Instant::now();
    let mut found = ask::<Walk>(arguments.pid, &Request::WalkProgress);
    while matches!(&found, Ok(walk) if walk.end.is_none()) && began.elapsed() < END {
        std::thread::sleep(LOOK_FOR_END);
        found = ask::<Walk>(arguments.pid, &Request::WalkProgress);
    }
    // The JVM may have ended, too.
    let Ok(mut walk) = found else { return Ok(()) };
    if let Some(end) = &mut walk.end {
        *end = end.replace(CLIENT_LEFT, ENDED_BY_USER);
    }
    print(&walk, shown, arguments.json)
}

fn request(arguments: &Arguments) -> Request {
    let number = |value: u64| usize::try_from(value).ok();
    Request::Walk {
        method: arguments.method.clone(),
        top: number(arguments.top),
        seconds: Some(arguments.seconds),
        period_ms: Some(arguments.period),
        calls: Some(arguments.calls),
        levels: number(arguments.levels),
        percent: Some(arguments.share),
        most_callers: arguments.callers.and_then(number),
        hooks: number(arguments.hooks),
        budget: Some(arguments.budget),
        used: arguments.used,
        through: arguments.through.clone(),
        boundary: arguments.boundary.clone(),
        metric: Some(arguments.metric),
        across_threads: arguments.across_threads,
    }
}

fn print(walk: &Walk, shown: &mut Shown, json: bool) -> Result<()> {
    if json { write(&(serde_json::to_string(walk)? + "\n")) } else { write(&shown.rest(&walk.into())) }
}

fn write(text: &str) -> Result<()> {
    stdout().write_all(text.as_bytes())?;
    Ok(stdout().flush()?)
}
