//! `instr`: what the agent does, off-line and for people.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its user")]

mod classes;
mod commands;
mod configuration;
mod cpu_clock;
mod delegates;
mod diagnosis;
mod embedded;
mod failure;
mod file_origin;
mod http_client;
mod idle_rules;
mod inert_runtime;
mod instrumentation;
mod inventory;
mod jar;
mod java_process;
mod listing;
mod method_dump;
mod output_file;
mod probe_table;
mod progress;
mod running_agent;
mod top;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use commands::{
    attach, callees, check, detach, diagnose, diff, dump, dump_trace, explain, export, hot, level, methods, pause, pre,
    probe, ps, receive, reload, report, schema, send, status, stop, template, templates, transactions,
};

/// Exact times from inside a running JVM: checks configurations, explains decisions, instruments jars, prints reports.
#[derive(Debug, Parser)]
#[command(name = "instr", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Attach(attach::Arguments),
    Callees(callees::Arguments),
    Callers(hot::callers::Arguments),
    Check(check::Arguments),
    Detach(detach::Arguments),
    Diagnose(diagnose::Arguments),
    Diff(diff::Arguments),
    Dump(dump::Arguments),
    DumpTrace(dump_trace::Arguments),
    Explain(explain::Arguments),
    Export(export::Arguments),
    Hot(hot::Arguments),
    Inventory(commands::inventory::Arguments),
    Level(level::Arguments),
    Methods(methods::Arguments),
    Pause(pause::PauseArguments),
    Pre(pre::Arguments),
    Ps(ps::Arguments),
    Receive(receive::Arguments),
    Report(report::Arguments),
    Resume(pause::ResumeArguments),
    Schema(schema::Arguments),
    Send(send::Arguments),
    Status(status::Arguments),
    Stop(stop::Arguments),
    Suspects(diagnose::suspects::Arguments),
    Probe(probe::ProbeArguments),
    Claims(probe::ClaimsArguments),
    Remove(probe::RemoveArguments),
    Reload(reload::Arguments),
    Template(template::Arguments),
    Templates(templates::Arguments),
    Top(commands::top::Arguments),
    Transactions(transactions::Arguments),
    Walk(hot::walk::Arguments),
}

/// Has the program end in silence if nobody reads its output any more, which `println!` would report as a panic.
fn end_with_closed_output() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
        if text.starts_with("failed printing to stdout") && text.contains("Broken pipe") {
            std::process::exit(0);
        }
        report(panic);
    }));
}

fn main() -> ExitCode {
    end_with_closed_output();
    let outcome = match Arguments::parse().command {
        Command::Attach(arguments) => attach::run(&arguments),
        Command::Callees(arguments) => callees::run(&arguments),
        Command::Callers(arguments) => hot::callers::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Detach(arguments) => detach::run(&arguments),
        Command::Diagnose(arguments) => return exit_code(diagnose::run(&arguments)),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Dump(arguments) => dump::run(&arguments),
        Command::DumpTrace(arguments) => dump_trace::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Hot(arguments) => hot::run(&arguments),
        Command::Inventory(arguments) => commands::inventory::run(&arguments),
        Command::Level(arguments) => level::run(&arguments),
        Command::Methods(arguments) => methods::run(&arguments),
        Command::Pause(arguments) => pause::pause(&arguments),
        Command::Pre(arguments) => pre::run(&arguments),
        Command::Ps(arguments) => ps::run(&arguments),
        Command::Receive(arguments) => receive::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Resume(arguments) => pause::resume(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Send(arguments) => send::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Stop(arguments) => stop::run(&arguments),
        Command::Suspects(arguments) => diagnose::suspects::run(&arguments),
        Command::Probe(arguments) => probe::probe(&arguments),
        Command::Claims(arguments) => probe::claims(&arguments),
        Command::Remove(arguments) => probe::remove(&arguments),
        Command::Reload(arguments) => reload::run(&arguments),
        Command::Template(arguments) => template::run(&arguments),
        Command::Templates(arguments) => templates::run(&arguments),
        Command::Top(arguments) => commands::top::run(&arguments),
        Command::Walk(arguments) => return exit_code(hot::walk::run(&arguments)),
        Command::Transactions(arguments) => transactions::run(&arguments),
    };
    exit_code(outcome.map(|()| ExitCode::SUCCESS))
}

/// 0: done. 1: it failed, or what was checked has errors. 2: the command line is wrong (clap's own code). `instr diagnose` has further ones.
fn exit_code(outcome: anyhow::Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(error) if failure::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("{}", failure::text(&error));
            ExitCode::FAILURE
        }
    }
}
