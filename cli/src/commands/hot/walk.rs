//! `instr walk`: from hot methods up to their callers, level by level.

mod levels;

use std::io::{Write, stdout};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Result, bail};
use control::{
    Hello, LONGEST_HOT_SECONDS, Request, USUAL_HOT_SECONDS, WALK_CALLS, WALK_HOOKS, WALK_LEVELS, WALK_PERCENT,
    WALK_PERIOD_MS, Walk,
};

use crate::commands::{attach, detach};
use crate::diagnosis::Interruption;
use crate::running_agent::ask;
use levels::Shown;

/// Between two looks at how far the walk has come.
const LOOK: Duration = Duration::from_millis(250);

/// Walk up from the hot methods: find who calls them, measure these calls for a while, and go up level by level. Two levels have probes at a time, and none has when it
/// is over, also after Ctrl-C.
///
/// Exit codes: 0 with a result, 1 after an error, 2 if the command line is wrong, 130 after Ctrl-C.
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
    /// A level ends early when this number of its calls has been measured.
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
    /// Classes `package.Class` with `*` and `**` whose methods are passed through: their callers count. May be repeated.
    #[arg(long, value_name = "CLASSES")]
    through: Vec<String>,
    /// Classes at whose methods the walk ends. May be repeated.
    #[arg(long, value_name = "CLASSES")]
    boundary: Vec<String>,
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
    let answer = ask_beside(pid, request(arguments));
    let is_silent = arguments.once || arguments.json;
    let mut shown = Shown::default();
    eprintln!("sampling for {} s", arguments.seconds);
    loop {
        match answer.recv_timeout(LOOK) {
            Ok(walk) => {
                print(&walk?, &mut shown, arguments.json)?;
                return Ok(ExitCode::SUCCESS);
            }
            Err(RecvTimeoutError::Disconnected) => bail!("internal error: the thread that asks has ended"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(code) = interruption.code() {
            let shown = if arguments.attach {
                String::new()
            } else {
                format!("; `instr walk {pid} --show` shows what it has found")
            };
            eprintln!("the walk ends, and its probes are removed{shown}");
            return Ok(ExitCode::from(code));
        }
        if is_silent {
            continue;
        }
        // There may be none yet; what is wrong, the answer says.
        if let Ok(walk) = ask::<Walk>(pid, &Request::WalkProgress)
            && walk.end.is_none()
        {
            let walk = trace::Walk::from(&walk);
            if let Some(state) = shown.state(&walk) {
                eprintln!("{state}");
            }
            write(&shown.news(&walk))?;
        }
    }
}

/// The answer takes as long as the walk.
fn ask_beside(pid: u32, request: Request) -> Receiver<Result<Walk>> {
    let (give, answer) = channel();
    std::thread::spawn(move || _ = give.send(ask(pid, &request)));
    answer
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
        through: arguments.through.clone(),
        boundary: arguments.boundary.clone(),
    }
}

fn print(walk: &Walk, shown: &mut Shown, json: bool) -> Result<()> {
    if json { write(&(serde_json::to_string(walk)? + "\n")) } else { write(&shown.rest(&walk.into())) }
}

fn write(text: &str) -> Result<()> {
    stdout().write_all(text.as_bytes())?;
    Ok(stdout().flush()?)
}
