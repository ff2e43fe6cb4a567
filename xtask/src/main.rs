//! `cargo xtask`: the project's own commands. `cargo xtask help` lists them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its user")]

mod bench;
mod bless;
mod corpus;
mod demo;
mod dependencies;
mod exports;
mod fuzz;
mod jdks;
mod link;
mod page;
mod prerequisites;
mod process;
mod project;
mod receivers;
mod tally;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask COMMAND

  demo                 builds everything and shows it at work on a real web application
  test                 everything that has to pass: format, lints, licences, advisories, Rust tests, Java tests, tests on every JDK
                       found (11 and 21 are fetched with pip into target/jdks when they are not there)
  soak                 the tests that are long because of their volume (storms of threads, class loaders, reloads and
                       changes at once), on every JDK found; `test` has a small version of each
  corpus [--sample | --link | --link-sites] [--jdk N]... [JAR...]
                       reads, writes and instruments every class of the jars (of bench/corpus/jars.txt if none is named)
                       and of every JDK (of version N); --sample: the part of it that `test` runs, without the jars;
                       --link: lets every JDK verify every instrumented class of the jars and of its own modules
  bench WHAT [--rounds N] [--only NAME,NAME] [--peers DIR]
                       WHAT = startup | percall | transform | unwanted | memory | watch: medians and ratios, interleaved with no agent and with the peers' agents
                       found in DIR (bench/README.md says how they are called)
  exports              lets go tool pprof, the OpenTelemetry Collector's parser, Perfetto's trace_processor and speedscope
                       open what `instr export` writes; needs Go, Python, Node.js and npm, fetches the tools
  page [TRACE [OTHER]] opens the HTML report of TRACE (default: a recording of 1 GB that it makes) in a headless Chromium,
                       clicks through it and says how long it took to open; needs Node.js and npm, fetches Chromium.
                       `test` does the same with small recordings
  fuzz [--seconds N] [TARGET]
                       runs cargo-fuzz on every target, or on one, for N seconds each (default 60); a finding ends the run and
                       is kept in fuzz/found, from where every test run replays it
  receivers            compares what an OpenTelemetry Collector (built from the Go module proxy) and the OpenMetrics parser of
                       prometheus_client (from PyPI) read of the agent's metrics and spans with what a program did itself
  bless [PACKAGE...]   runs the tests and takes what they print now as what is expected from now on
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", &[][..]),
    };
    let outcome = match command {
        "demo" => demo::run(rest),
        "test" => test::run(rest),
        "soak" => test::soak(rest),
        "corpus" => corpus::run(rest),
        "bench" => bench::run(rest),
        "fuzz" => fuzz::run(rest),
        "receivers" => receivers::run(rest),
        "exports" => exports::run(rest),
        "page" => page::run(rest),
        "bless" => bless::run(rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        unknown => {
            eprintln!("error: there is no command `{unknown}`\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}
