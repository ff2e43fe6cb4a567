//! `instr explain --live`: why the methods of a loaded class carry probes, or carry none.

use std::fmt::Write;

use anyhow::Result;
use control::{Explained, ExplainedClass, InventoryMethod, Request};
use trace::report::counted;

use crate::inventory::{class_line, method_line};
use crate::running_agent::ask;

/// Asks the agent in the JVM with this process id, and prints its explanation.
pub(super) fn run(pid: u32, class: &str, json: bool) -> Result<()> {
    let request = Request::Explain { class: class.replace('/', ".") };
    let explained: Explained = ask(pid, &request)?;
    if json {
        println!("{}", serde_json::to_string_pretty(&explained)?);
    } else {
        print!("{}", text(pid, &explained));
    }
    Ok(())
}

/// What the class carries now; then what each rule answers, as off-line.
fn text(pid: u32, explained: &Explained) -> String {
    let mut text = String::new();
    for (at, ExplainedClass { loader, generation, now, explanation }) in explained.classes.iter().enumerate() {
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "{}in process {pid}, class loader {loader}, generation {generation} of the rules:\n  {}\n",
            if at > 0 { "\n" } else { "" },
            class_line(now)
        );
        let mut listed: Vec<&InventoryMethod> = now.listed.iter().collect();
        // As in the class below, where that is known.
        let place = |listed: &InventoryMethod| {
            let methods = explanation.as_ref().map_or(&[][..], |explanation| &explanation.methods);
            methods.iter().position(|of| of.name == listed.name && of.descriptor == listed.descriptor)
        };
        listed.sort_by_key(|listed| place(listed));
        listed.iter().for_each(|listed| text.push_str(&format!("  {}\n", method_line(&now.class, listed))));
        if let Some(explanation) = explanation {
            let _ = write!(text, "what the rules say:\n{explanation}");
        }
    }
    if explained.left_out > 0 {
        let _ = writeln!(
            text,
            "\n# {} not explained; a narrower pattern names them, `instr inventory {pid}` lists all",
            counted(explained.left_out as u64, "class")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_class_carries_is_shown_before_what_the_rules_say() {
        let method = |name: &str| json!({"name": name, "descriptor": "()V", "signature": format!("{name}() void"), "state": "unchanged"});
        let mut run = method("run");
        run["code"] = json!("waits");
        run["reason"] = json!("a.B waits for its probes: a.B.main runs in a loop");
        let mut total = method("total");
        total["state"] = json!("instrumented");
        total["templates"] = json!(["timed"]);
        total["level"] = json!("time");
        total["mode"] = json!("inline");
        total["wanted_by"] = json!("claim 3");
        total["present_level"] = json!("off");
        let explained_method = |name: &str| {
            json!({"name": name, "descriptor": "()V", "signature": format!("{name}() void"),
            "instrumented": null, "skipped": "no-rule", "rules": []})
        };
        let explained = json!({"classes": [{
            "loader": "app", "generation": 2,
            "now": {"class": "a.B", "state": "instrumented", "methods": 2, "instrumented": 1, "wanted_by": ["claim 3"], "listed": [run, total]},
            "explanation": {"class": "a.B", "refused": null, "rules": [], "unresolved": [],
                "methods": [explained_method("total"), explained_method("run")]},
        }]});
        let expected = "in process 7, class loader app, generation 2 of the rules:\n\
            \x20 yes a.B: 1 of 2 methods (claim 3)\n\
            \x20 yes a.B.total() void: timed at level time, inline (claim 3), at level off now\n\
            \x20 no  a.B.run() void: a.B waits for its probes: a.B.main runs in a loop\n\
            what the rules say:\nclass a.B\nrules:\n  none\nmethods:\n\
            \x20 - total() void: no rule takes it\n  - run() void: no rule takes it\n";
        let mut explained: Explained = serde_json::from_value(explained).unwrap();
        assert_eq!(text(7, &explained), expected);
        explained.left_out = 12;
        assert_eq!(
            text(7, &explained),
            format!(
                "{expected}\n# 12 classes not explained; a narrower pattern names them, `instr inventory 7` lists all\n"
            )
        );
    }
}
