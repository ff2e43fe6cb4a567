//! `instr reload`: has the agent in a running JVM read its configuration again.

use anyhow::Result;
use control::{Reloaded, Request};
use trace::report::counted;

use crate::running_agent::ask;

/// Have the agent in a running JVM read its configuration file again. Rules and templates are replaced, and only classes of which something
/// else is wanted are retransformed; a mistake in the file leaves everything as it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Process id of the JVM.
    pid: u32,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let reloaded: Reloaded = ask(arguments.pid, &Request::Reload)?;
    if arguments.json {
        println!("{}", serde_json::to_string(&reloaded)?);
    } else {
        print!("{}", text(&reloaded));
    }
    Ok(())
}

fn text(reloaded: &Reloaded) -> String {
    let Reloaded { generation, rules, classes_changed, waiting, warnings } = reloaded;
    let classes = match classes_changed {
        0 => "no loaded class changes".to_owned(),
        1 => "1 loaded class changes".to_owned(),
        many => format!("{many} loaded classes change"),
    };
    let mut lines = vec![format!("generation {generation} is in force: {}, {classes}", counted(*rules as u64, "rule"))];
    lines.extend(waiting.iter().map(|reason| format!("waits: {reason}")));
    lines.extend(warnings.iter().map(|warning| warning.trim_end().to_owned()));
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_and_what_waits_is_said() {
        let reloaded = Reloaded {
            generation: 2,
            rules: 1,
            classes_changed: 12,
            waiting: vec!["a.Main waits".to_owned()],
            warnings: Vec::new(),
        };
        assert_eq!(
            text(&reloaded),
            "generation 2 is in force: 1 rule, 12 loaded classes change\nwaits: a.Main waits\n"
        );
    }
}
