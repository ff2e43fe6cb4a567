//! `instr methods`: the methods that carry probes in a running JVM.

use std::io::{BufWriter, Write, stdout};

use anyhow::Result;
use control::{MethodRow, MethodsDone, Request};
use serde_json::json;
use trace::report::{count, counted};

use crate::failure::Failure;
use crate::running_agent::ask_in_parts;

/// List the methods that carry probes in a running JVM: template, level, state, and who wants them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// Only these methods: `package.Class.method`, `*` inside a package or name, `**` across packages; or `package.Class`: all of the class; or
    /// `category:NAME`.
    methods: Option<String>,
    /// Most probes that are listed. Default: 1,000.
    #[arg(long)]
    most: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { pid, methods, most, json } = arguments;
    let request = Request::Methods { methods: methods.clone(), most: *most };
    let (rows, done): (Vec<MethodRow>, MethodsDone) = ask_in_parts(*pid, &request)?;
    if let (0, Some(methods)) = (done.matching, methods) {
        let help = format!(
            "`instr explain --live {pid} CLASS` says why a class has none; `instr inventory {pid}` lists all classes"
        );
        return Err(Failure::new(format!("no method `{methods}` carries a probe"), help).into());
    }
    let mut out = BufWriter::new(stdout().lock());
    if *json {
        writeln!(out, "{}", json!({"methods": rows, "matching": done.matching, "left_out": done.left_out}))?;
    } else {
        out.write_all(text(&rows, &done).as_bytes())?;
    }
    out.flush()?;
    Ok(())
}

/// A line for each probe, by method.
fn text(rows: &[MethodRow], done: &MethodsDone) -> String {
    let mut lines = Vec::with_capacity(rows.len() + 2);
    for MethodRow { class, method, descriptor, template, context, category, level, live, state, wanted_by } in rows {
        let kind = if *live { "" } else { ", fixed" };
        let state = if state == "active" { String::new() } else { format!(", {state}") };
        let wanted_by = if wanted_by.is_empty() { String::new() } else { format!(" ({})", wanted_by.join(", ")) };
        let inside = context.as_ref().map_or_else(String::new, |context| format!(" inside {context}"));
        lines.push(format!(
            "{class}.{method}{descriptor}: {template}{inside} [{category}] at level {level}{kind}{state}{wanted_by}"
        ));
    }
    lines.push(format!("# {}", counted(done.matching as u64, "probe")));
    if done.left_out > 0 {
        lines.push(format!("# {} not listed; `--most {}` lists all", count(done.left_out as u64), done.matching));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_probe_has_a_line_and_those_that_are_left_out_are_counted() {
        let row = |method: &str, live: bool, state: &str, by: &[&str]| {
            let row = json!({"class": "a.B", "method": method, "descriptor": "()V", "template": "timed", "category": "catch-all",
                "level": "time", "live": live, "state": state, "wanted_by": by});
            serde_json::from_value::<MethodRow>(row).unwrap()
        };
        let rows = [row("c", true, "active", &["rule orders", "claim 3"]), row("d", false, "suppressed", &[])];
        let expected = "a.B.c()V: timed [catch-all] at level time (rule orders, claim 3)\n\
            a.B.d()V: timed [catch-all] at level time, fixed, suppressed\n\
            # 10,000 probes\n\
            # 9,998 not listed; `--most 10000` lists all\n";
        assert_eq!(text(&rows, &MethodsDone { done: true, matching: 10_000, left_out: 9_998 }), expected);
    }
}
