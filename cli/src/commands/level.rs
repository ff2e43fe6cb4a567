//! `instr level`: changes the level of methods in a running JVM.

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use control::{Changed, Fixed, Request, WantedLevel};
use instrument_core::level::Level;

use crate::failure::Failure;
use crate::running_agent::ask;

/// Change the level of methods while they run. Works for live probes: all with `live = true` in [control], else those of rules with
/// level `time` or `full`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// The methods as `package.Class.method`; `*` matches any text inside a package, `**` across packages. Or all whose
    /// template has a category or one that refines it: `category:database` means `database/oracle`, too (`instr templates` shows them).
    methods: String,
    /// The new level; `burst` records the calls that begin in a window of a millisecond in every hundred (`[control]`). `auto` hands the
    /// methods back: to the level of their rule, which the governor may lower.
    #[arg(value_parser = PossibleValuesParser::new(["off", "watch", "burst", "time", "full", "auto"]).map(wanted))]
    level: WantedLevel,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let Arguments { pid, methods, level } = arguments;
    let changed: Changed = ask(*pid, &Request::Level { methods: methods.clone(), level: *level })?;
    let fixed = fixed_lines(&changed.fixed);
    match changed {
        Changed { live: 0, .. } => Err(Failure::new(
            format!("process {pid} has no probes whose level can change"),
            "write `live = true` into [control] of the configuration, then start the JVM or attach the agent again",
        )
        .into()),
        Changed { changed: 0, live, .. } if fixed.is_empty() => Err(Failure::new(
            format!("no live probe (there are {live}) is in a method `{methods}`"),
            "write `package.Class.method`, with `*` inside a package or `**` across packages, or `category:NAME`; \
             `instr top` shows names",
        )
        .into()),
        Changed { changed: 0, .. } => {
            Err(Failure::new(fixed.join("\n"), "give the template a variant with `@Template(live = true)`").into())
        }
        Changed { changed, governed, overruled, .. } => {
            let methods = if changed == 1 { "method is" } else { "methods are" };
            if *level == WantedLevel::Auto {
                println!(
                    "{changed} {methods} at the level of their rule now, {}",
                    governed_text(changed, governed.unwrap_or_default())
                );
            } else {
                println!("{changed} {methods} at level {level} now");
            }
            fixed.iter().chain(&overruled).for_each(|line| println!("{line}"));
            Ok(())
        }
    }
}

/// Returns which of the methods the governor may change, as their rules say.
fn governed_text(changed: usize, governed: usize) -> String {
    match governed {
        0 => "which the governor does not change (no governor, or `governed = false` in the rule)".to_owned(),
        all if all == changed => "and governed".to_owned(),
        some => format!("and {some} of them governed (`governed = false` in the rules of the others)"),
    }
}

/// Returns the level of this name, which is one of those that can be given.
fn wanted(name: String) -> WantedLevel {
    Level::ALL.into_iter().find(|level| level.name() == name).map_or(WantedLevel::Auto, WantedLevel::Exact)
}

/// Returns a line for each template that cannot change its level.
fn fixed_lines(fixed: &[Fixed]) -> Vec<String> {
    let line = |fixed: &Fixed| {
        let Fixed { rules, template, methods, level, reason } = fixed;
        let methods = if *methods == 1 { "1 method stays".to_owned() } else { format!("{methods} methods stay") };
        format!("{methods} at level {level}: template `{template}` (rule {}): {reason}", rules.join(", "))
    };
    fixed.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn methods_that_are_handed_back_are_called_governed_only_if_they_are() {
        let texts = [0, 2, 3].map(|governed| governed_text(3, governed));
        assert!(texts[0].starts_with("which the governor does not change"), "{texts:?}");
        assert!(texts[1].starts_with("and 2 of them governed") && texts[2] == "and governed", "{texts:?}");
    }

    #[test]
    fn methods_that_keep_their_level_are_listed_with_rule_and_reason() {
        let answer = json!({"changed": 2, "live": 5, "fixed": [{
            "rules": ["bills", "orders"], "template": "audit", "methods": 3, "level": "time", "reason": "no variant",
        }]});
        let changed: Changed = serde_json::from_value(answer).unwrap();
        let expected = "3 methods stay at level time: template `audit` (rule bills, orders): no variant";
        assert_eq!(fixed_lines(&changed.fixed), [expected]);
    }
}
