//! `instr callers`: who calls a method, by samples or by a hook.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use control::{
    Caller, Callers, CallersSource, HookFigures, HotBy, LONGEST_HOT_SECONDS, MOST_HITS, Request, USUAL_HOT_SECONDS,
};
use trace::report::{counted, duration};

use super::{METRICS, margin, percent, print_answer, remarks, what, word};
use crate::failure::Failure;

/// Show who calls a method, and how its time is divided among these callers: by samples of stacks, which change no class, or by a hook in the method, for a while.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// The method as `package.Class.method`: all of its overloads; or `'package.Class.method(int, String)'`: one of them.
    method: String,
    /// How callers are found: by `samples`; by a hook, which counts calls, too (`finder`); or by a hook only if samples are biased or too few (`auto`). Default: by samples; by a hook with `--across-threads`.
    #[arg(long, value_name = "SOURCE", value_parser = PossibleValuesParser::new(["auto", "samples", "finder"]).map(|word| source(&word)))]
    source: Option<CallersSource>,
    /// Where the method begins a task of a pool, or a thread: its caller is who has handed that over. Only a hook finds that; some ten classes of the JDK are changed meanwhile, too.
    #[arg(long)]
    across_threads: bool,
    /// Calls that the hook counts, in short windows. Default: 2500.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_HITS))]
    hits: Option<u64>,
    /// Shares of what: processor time (`cpu`), or time, whether threads execute or wait (`wall`); of the calls that a hook counts also allocated bytes, cycles or instructions (`perf_event_open`). Default: processor time by samples, time by a hook.
    #[arg(long, value_parser = PossibleValuesParser::new(METRICS).try_map(|text| word(&text)))]
    by: Option<HotBy>,
    /// For how long to look. A hook ends earlier if it has counted its calls; `auto` looks for so long twice at most.
    #[arg(long, value_name = "N", default_value_t = USUAL_HOT_SECONDS, value_parser = clap::value_parser!(u64).range(1..=LONGEST_HOT_SECONDS))]
    seconds: u64,
    /// Classes `package.Class` with `*` and `**`: their methods are passed through, and their callers count. May be repeated.
    #[arg(long, value_name = "CLASSES")]
    through: Vec<String>,
    /// Only of class loaders of this name or class, with `*`. Default: all that have the class.
    #[arg(long)]
    loader: Option<String>,
    /// Most callers that are listed. Default: 20.
    #[arg(long, value_name = "N")]
    most: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn source(word: &str) -> CallersSource {
    // clap lets only these words pass.
    let all = [CallersSource::Auto, CallersSource::Finder];
    all.into_iter().find(|source| source.name() == word).unwrap_or(CallersSource::Samples)
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let has_hook = arguments.across_threads || arguments.source.is_some_and(|source| source != CallersSource::Samples);
    if arguments.hits.is_some() && !has_hook {
        bail!(Failure::new(
            "`--hits` is about calls that a hook counts, and samples count none",
            "add `--source finder`, or `--source auto`"
        ));
    }
    let request = Request::Callers {
        method: arguments.method.clone(),
        loader: arguments.loader.clone(),
        by: arguments.by,
        seconds: Some(arguments.seconds),
        through: arguments.through.clone(),
        most: arguments.most,
        source: arguments.source,
        hits: arguments.hits,
        across_threads: arguments.across_threads,
    };
    print_answer(arguments.pid, &request, (arguments.seconds, arguments.json), listed)
}

fn listed(found: &Callers) -> String {
    let mut text = match &found.hook {
        Some(hook) => by_hook(found, hook),
        None => by_samples(found),
    };
    if let Some(why) = &found.why {
        let _ = writeln!(text, "# by {}: {why}", found.source);
    }
    let bias = found.bias.as_ref().filter(|_| found.samples > 0);
    text + &remarks(&found.notices, &found.sampler, bias)
}

fn by_hook(found: &Callers, hook: &HookFigures) -> String {
    let (calls, windows) = (counted(hook.calls, "call"), counted(hook.windows, "window"));
    let mut text =
        format!("callers of {}, by a hook: {calls} of it in {windows}, {:.1} s\n", found.method, found.seconds);
    if !found.callers.is_empty() {
        let _ = writeln!(
            text,
            "   calls      {:>12}           caller",
            if found.by == HotBy::Wall { "time" } else { found.by.name() }
        );
    }
    for caller in &found.callers {
        let calls = format!("{:>8}  {:<6}", percent(caller.calls_share.unwrap_or(0.0)), margin(caller.calls_margin));
        // Without a margin, none of its calls was measured.
        let share = caller.margin.map_or_else(String::new, |_| percent(caller.time_share));
        let time = format!("{share:>8}  {:<6}", margin(caller.margin));
        let _ = writeln!(text, "{calls} {time}  {}{}", caller.method, via(caller));
    }
    for without in &found.without_caller {
        let calls = without.calls_share.map_or_else(String::new, percent);
        let _ = writeln!(
            text,
            "{calls:>8}  {:<6} {:>8}  {:<6}  (none: {})",
            "",
            percent(without.share),
            "",
            without.reason
        );
    }
    if hook.nested > 0 {
        let _ = writeln!(text, "# {} within these are a part of them", counted(hook.nested, "call"));
    }
    text
}

fn by_samples(found: &Callers) -> String {
    let Callers { method, samples, share, seconds, sampler, .. } = found;
    let mut text = format!(
        "callers of {method}, by {}: {} of it in {seconds:.1} s, {} of all ({sampler})\n",
        what(found.by),
        counted(*samples, "sample"),
        percent(*share)
    );
    if !found.callers.is_empty() {
        text += "   share              time  caller\n";
    }
    found.callers.iter().for_each(|caller| text += &line(caller));
    for without in &found.without_caller {
        let _ = writeln!(text, "{:>8}  (none: {})", percent(without.share), without.reason);
    }
    text
}

fn line(caller: &Caller) -> String {
    let time = duration((caller.time_ms * 1e6) as u64);
    format!(
        "{:>8}  {:<6} {time:>9}  {}{via}\n",
        percent(caller.time_share),
        margin(caller.margin),
        caller.method,
        via = via(caller)
    )
}

fn via(caller: &Caller) -> String {
    caller.via.as_ref().map(|via| format!("  via {via}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use control::WithoutMethod;

    use super::*;

    #[test]
    fn each_caller_has_a_line() {
        let caller = |method: &str, via: Option<&str>, time_share| Caller {
            method: method.to_owned(),
            via: via.map(str::to_owned),
            calls: None,
            calls_share: None,
            calls_margin: None,
            time_ms: 1_250.0,
            amount: None,
            time_share,
            margin: Some(0.031),
        };
        let found = Callers {
            method: "a.B.hot".to_owned(),
            by: HotBy::Cpu,
            seconds: 10.0,
            source: "samples".to_owned(),
            why: None,
            hook: None,
            sampler: "async".to_owned(),
            bias: Some("at any instruction".to_owned()),
            samples: 1_200,
            share: 0.61,
            callers: vec![
                caller("a.C.c()", None, 0.7),
                caller("a.D.d()", Some("java.lang.reflect.Method.invoke()"), 0.2),
            ],
            without_caller: vec![WithoutMethod {
                reason: "the thread begins there".to_owned(),
                share: 0.1,
                calls_share: None,
            }],
            notices: vec!["n".to_owned()],
        };
        let expected = "callers of a.B.hot, by processor time: 1,200 samples of it in 10.0 s, 61.0 % of all (async)\n   \
            share              time  caller\n  \
            70.0 %  ±3.1      1.25 s  a.C.c()\n  \
            20.0 %  ±3.1      1.25 s  a.D.d()  via java.lang.reflect.Method.invoke()\n  \
            10.0 %  (none: the thread begins there)\n\
            # n\n\
            # async: at any instruction\n";
        assert_eq!(listed(&found), expected);
    }

    #[test]
    fn a_hook_shows_calls_beside_time_and_why_it_was_used() {
        let caller = |method: &str, calls, calls_share, time_share| Caller {
            method: method.to_owned(),
            via: None,
            calls: Some(calls),
            calls_share: Some(calls_share),
            calls_margin: Some(0.018),
            time_ms: 1.0,
            amount: None,
            time_share,
            margin: Some(0.025),
        };
        let found = Callers {
            method: "a.B.hot".to_owned(),
            by: HotBy::Wall,
            seconds: 8.5,
            source: "finder".to_owned(),
            why: Some("the samples are biased".to_owned()),
            hook: Some(HookFigures {
                calls: 2_500,
                unended: 0,
                nested: 7,
                windows: 250,
                seconds: 10.0,
                longest_stop_ms: 0.0,
                too_little: false,
            }),
            sampler: "jvmti".to_owned(),
            bias: None,
            samples: 0,
            share: 0.0,
            callers: vec![caller("a.C.c()", 1_750, 0.7, 0.25), caller("a.D.d()", 750, 0.3, 0.7)],
            without_caller: vec![WithoutMethod {
                reason: "the thread begins there".to_owned(),
                share: 0.05,
                calls_share: Some(0.2),
            }],
            notices: vec!["n".to_owned()],
        };
        let expected = "callers of a.B.hot, by a hook: 2,500 calls of it in 250 windows, 8.5 s\n   \
            calls              time           caller\n  \
            70.0 %  ±1.8     25.0 %  ±2.5    a.C.c()\n  \
            30.0 %  ±1.8     70.0 %  ±2.5    a.D.d()\n  \
            20.0 %            5.0 %          (none: the thread begins there)\n\
            # 7 calls within these are a part of them\n\
            # by finder: the samples are biased\n\
            # n\n";
        assert_eq!(listed(&found), expected);
    }
}
