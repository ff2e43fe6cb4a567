//! The plan of a later run (`--plan FILE`): the methods that a walk has met, as a configuration with which a JVM has their probes from the start, switched off.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use control::Walk;

/// Nothing is written over, and there is a place for it. Called before the walk, so that none is made in vain.
pub(super) fn check(file: &Path) -> Result<()> {
    if file.exists() {
        anyhow::bail!("{} is there already: name another file", file.display());
    }
    OpenOptions::new().write(true).create_new(true).open(file).with_context(|| cannot(file))?;
    std::fs::remove_file(file).with_context(|| cannot(file))
}

fn cannot(file: &Path) -> String {
    format!("the plan cannot be written to {}", file.display())
}

/// Writes the plan of a walk; returns how many methods it has.
pub(super) fn write(file: &Path, walk: &Walk) -> Result<usize> {
    let methods = met(walk);
    let mut open = OpenOptions::new();
    let text = text(&methods);
    let written = open.write(true).create_new(true).open(file).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| cannot(file))?;
    Ok(methods.len())
}

/// The methods that the walk has met on its way, each once, in the order of the levels.
fn met(walk: &Walk) -> Vec<&str> {
    let mut methods: Vec<&str> = Vec::new();
    for level in &walk.levels {
        let callers = level.callers.iter().filter(|of| of.followed).map(|of| &*of.method);
        for method in std::iter::once(&*level.of).chain(callers) {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
    }
    methods
}

fn text(methods: &[&str]) -> String {
    let mut text = "# The methods that `instr walk` has met on its way up. With this configuration their probes are there from the start, switched off, and the next walk changes no class for\n\
                    # probes in them (hooks that look for callers still do):\n\
                    # java -agentpath:libinstr.so=THIS-FILE ..., then `instr walk PID`.\n\n\
                    [control]\nlive = true\n\n\
                    # They are named one by one, however small they are.\n[filter]\nleaf = false\nmax-bytes = 0\n"
        .to_owned();
    for method in methods {
        let named = method.split('(').next().unwrap_or(method);
        let (class, _) = named.rsplit_once('.').unwrap_or(("", named));
        let method = method.get(class.len()..).unwrap_or_default().trim_start_matches('.');
        let constructors = if method.starts_with('<') { "constructors = true\n" } else { "" };
        let _ = write!(
            text,
            "\n[[rule]]\nclass = {class:?}\nmethod = {method:?}\nlevel = \"off\"\ngoverned = false\n{constructors}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use control::{WalkCaller, WalkLevel};
    use serde_json::json;

    use super::*;

    fn walk() -> Walk {
        let caller = |method: &str, followed: bool| -> WalkCaller {
            serde_json::from_value(json!({"method": method, "followed": followed, "calls": 7})).unwrap()
        };
        let level = |of: &str, source: &str, callers: Vec<WalkCaller>| -> WalkLevel {
            serde_json::from_value(
                json!({"level": 1, "hot": "", "of": of, "source": source, "share": 1.0, "callers": callers}),
            )
            .unwrap()
        };
        let levels = vec![
            level(
                "a.Hot.hot(int, b.Order[])",
                "measured",
                vec![caller("b.X.<init>()", true), caller("b.Y.y()", false)],
            ),
            level("b.X.<init>()", "measured", vec![caller("a.Hot.hot(int, b.Order[])", true)]),
            level("b.Loop.run()", "samples", vec![caller("c.Never.measured()", true)]),
        ];
        serde_json::from_value(json!({"state": "ended", "samples": 1, "sampler": "async", "hot": [], "levels": levels, "hooks": {"now": 0, "most": 2, "calls": 3, "late": 0, "changes": 2, "longest_stop_ms": 1.0}})).unwrap()
    }

    #[test]
    fn a_plan_is_a_configuration_with_the_methods_that_were_met() {
        let walk = walk();
        let methods = met(&walk);
        assert_eq!(methods, ["a.Hot.hot(int, b.Order[])", "b.X.<init>()", "b.Loop.run()", "c.Never.measured()"]);
        let (config, warnings) = settings::parse(&text(&methods), "plan.toml").unwrap();
        assert_eq!((config.rules.len(), warnings.len()), (4, 0));
    }

    #[test]
    fn a_file_that_is_there_stays() {
        let file = std::env::temp_dir().join(format!("instr-plan-{}", std::process::id()));
        assert_eq!((check(&file).is_ok(), write(&file, &walk()).unwrap()), (true, 4));
        let said = check(&file).unwrap_err().to_string();
        assert!(said.contains("is there already") && write(&file, &walk()).is_err(), "{said}");
        std::fs::remove_file(&file).unwrap();
    }
}
