//! `cargo xtask exports`: is what `instr export` writes read by the tools it is for, and all of it?
//!
//! Needs Go and Python, and fetches what the parsers are made of: the OpenTelemetry Collector's own (Go modules) and
//! Perfetto's message classes (PyPI).

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process::{answers, cargo, command, execute, output};
use crate::project;

const PERFETTO: &str = "perfetto==0.59.1";

/// Makes a recording, exports it, and lets each tool count the calls.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("`exports` takes no argument, but got `{unknown}`");
    }
    let go = go()?;
    let folder = project::target().join("exports");
    std::fs::create_dir_all(&folder)?;
    let recording = folder.join("sample.jfr");
    execute(cargo().args(["build", "--package", "cli"]))?;
    let write = ["run", "--package", "trace", "--example", "large_recording", "--"];
    let written = output(cargo().args(write).arg(&recording).arg("2"))?;
    let calls = number_before(&written, " calls").context("the number of calls in the recording")?;
    let export = |format: &str| -> Result<std::path::PathBuf> {
        let file = folder.join(format!("sample.{format}"));
        let program = project::target().join("debug/instr");
        execute(command(program).args(["export", "--format", format, "--output"]).arg(&file).arg(&recording))?;
        Ok(file)
    };

    let top = output(
        command(&go).args(["tool", "pprof", "-sample_index=calls", "-top", "-nodecount=1"]).arg(export("pprof")?),
    )?;
    expect("go tool pprof", &top, &format!("of {calls} total"))?;
    let mut parser = command(&go);
    parser.current_dir(project::root().join("integration-tests/exports/otlp"));
    let spans = output(parser.args(["run", "."]).arg(export("otlp")?))?;
    expect("the Collector's parser", &spans, &format!("spans {calls} "))?;
    let slices = output(
        command(python(&folder)?)
            .arg(project::root().join("integration-tests/exports/read_perfetto.py"))
            .arg(export("perfetto")?),
    )?;
    expect("Perfetto's classes", &slices, &format!("slices {calls} "))?;
    print!("{top}{spans}{slices}");
    println!("all {calls} calls in each");
    Ok(())
}

fn go() -> Result<String> {
    let places = ["go", "/usr/local/go/bin/go"];
    let found = places.into_iter().find(|go| answers(command(go).arg("version")));
    Ok(found.context("Go is missing; on Debian: apt-get install golang")?.to_owned())
}

/// A Python with Perfetto's package, in the target directory.
fn python(folder: &Path) -> Result<std::path::PathBuf> {
    let environment = folder.join("python");
    let python = environment.join("bin/python");
    if !answers(command(&python).args(["-c", "import perfetto"])) {
        execute(command("python3").args(["-m", "venv"]).arg(&environment))?;
        execute(command(&python).args(["-m", "pip", "--quiet", "install", PERFETTO]))?;
    }
    Ok(python)
}

fn expect(tool: &str, said: &str, wanted: &str) -> Result<()> {
    if said.contains(wanted) {
        return Ok(());
    }
    bail!("{tool} did not say `{wanted}` but:\n{said}")
}

fn number_before<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.split(word).next()?.rsplit(' ').next()
}

#[cfg(test)]
mod tests {
    use super::number_before;

    #[test]
    fn the_number_stands_before_the_word() {
        assert_eq!(number_before("a.jfr: 12 calls, 3 bytes", " calls"), Some("12"));
    }
}
