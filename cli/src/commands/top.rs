//! `instr top`: the hottest methods of a running JVM, again and again.

use std::io::{IsTerminal, stdin, stdout};
use std::time::Duration;

use anyhow::Result;

use crate::top;

/// Watch the methods of a running JVM: calls, times, levels, what the governor decides. Keys sort, filter, change levels.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// Seconds between two looks.
    #[arg(long, default_value_t = 1.0)]
    interval: f64,
    /// End after this many looks.
    #[arg(long)]
    looks: Option<u32>,
    /// Print one table and end.
    #[arg(long, conflicts_with = "looks")]
    once: bool,
    /// Print tables one below the other in place of the screen; so it is anyway if the output is no terminal.
    #[arg(long)]
    plain: bool,
    /// Methods in each printed table.
    #[arg(long, default_value_t = 20)]
    methods: usize,
    /// Print the call tree of all calls up to now and end; the agent keeps one with `call-tree = true` in [control].
    #[arg(long, conflicts_with_all = ["once", "plain", "looks"])]
    tree: bool,
    /// The tree as JSON.
    #[arg(long, requires = "tree")]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.tree {
        return top::print_tree(arguments.pid, arguments.json);
    }
    let interval = Duration::from_secs_f64(arguments.interval.clamp(0.1, 3600.0));
    let looks = if arguments.once { Some(1) } else { arguments.looks };
    if arguments.plain || arguments.once || !stdout().is_terminal() || !stdin().is_terminal() {
        top::print_tables(arguments.pid, interval, looks, arguments.methods)
    } else {
        top::show_screen(arguments.pid, interval, looks)
    }
}
