//! `instr callers`: who calls a method, by samples.

use std::fmt::Write as _;

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use control::{Caller, Callers, HotBy, LONGEST_HOT_SECONDS, Request, USUAL_HOT_SECONDS};
use trace::report::{counted, duration};

use super::{margin, percent, print_answer, remarks, what};

/// Show who calls a method, and how its time is divided among these callers, by samples of stacks. Changes no class.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// The method as `package.Class.method`: all of its overloads; or `'package.Class.method(int, String)'`: one of them.
    method: String,
    /// Shares of what: processor time (`cpu`), or time, whether threads execute or wait (`wall`).
    #[arg(long, default_value = "cpu", value_parser = PossibleValuesParser::new(["cpu", "wall"]).map(|word| by(&word)))]
    by: HotBy,
    /// For how long to look.
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

fn by(word: &str) -> HotBy {
    // clap lets only these words pass.
    if word == HotBy::Wall.name() { HotBy::Wall } else { HotBy::Cpu }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let request = Request::Callers {
        method: arguments.method.clone(),
        loader: arguments.loader.clone(),
        by: Some(arguments.by),
        seconds: Some(arguments.seconds),
        through: arguments.through.clone(),
        most: arguments.most,
    };
    print_answer(arguments.pid, &request, (arguments.seconds, arguments.json), listed)
}

fn listed(found: &Callers) -> String {
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
    text + &remarks(&found.notices, sampler, found.bias.as_ref().filter(|_| *samples > 0))
}

fn line(caller: &Caller) -> String {
    let via = caller.via.as_ref().map(|via| format!("  via {via}")).unwrap_or_default();
    let time = duration((caller.time_ms * 1e6) as u64);
    format!("{:>8}  {:<6} {time:>9}  {}{via}\n", percent(caller.time_share), margin(caller.margin), caller.method)
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
            time_ms: 1_250.0,
            time_share,
            margin: Some(0.031),
        };
        let found = Callers {
            method: "a.B.hot".to_owned(),
            by: HotBy::Cpu,
            seconds: 10.0,
            source: "samples".to_owned(),
            sampler: "async".to_owned(),
            bias: Some("at any instruction".to_owned()),
            samples: 1_200,
            share: 0.61,
            callers: vec![
                caller("a.C.c()", None, 0.7),
                caller("a.D.d()", Some("java.lang.reflect.Method.invoke()"), 0.2),
            ],
            without_caller: vec![WithoutMethod { reason: "the thread begins there".to_owned(), share: 0.1 }],
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
}
