//! `cargo xtask corpus --link`: does the JVM accept every instrumented class of the corpus?
//!
//! Every JDK links every class of the original jars and of the instrumented copies with `-Xverify:all`, and then the classes
//! of its own modules, instrumented and put in their place with `--patch-module`. A class that is refused only when it is
//! instrumented is a failure. The same is done with a call site at every call of every method; with `--link-sites` nothing else is.
//! (`java.base` runs before anything could be linked: with call sites it runs the linking itself, JavaBaseIT has it with a template in a
//! running JVM.)

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use class_source::JavaHome;

use crate::process::{cargo, command, execute, output};
use crate::{corpus, jdks, prerequisites, project};

const CONFIG: &str = "[filter]\nleaf = false\nmax-bytes = 0\n\n\
                      [[rule]]\nclass = \"**\"\ntemplate = \"timed\"\nlevel = \"time\"\n\
                      constructors = true\nclass-initialisers = true\nbridges = true\n";

/// Instruments the jars and the modules of each JDK with one of these feature versions (of all if none is named), then links
/// originals and copies on it; in every way, or only with call sites.
pub(crate) fn run(jars: &[PathBuf], features: &[u16], only_sites: bool) -> Result<()> {
    let java = prerequisites::check()?;
    let directory = project::target().join("corpus-link");
    fs::create_dir_all(&directory)?;
    execute(cargo().args(["build", "--release", "--package", "cli", "--bins", "--examples"]))?;
    execute(
        command(java.path().join("bin/javac"))
            .args(["--release", "11", "-d"])
            .arg(&directory)
            .arg(project::root().join("bench/corpus/LinkEveryClass.java")),
    )?;
    let mut homes = jdks::one_of_each();
    homes.retain(|home| features.is_empty() || features.contains(&home.feature()));
    let mut bad = 0;
    let ways: &[_] = if only_sites { &[Way::Sites] } else { &[Way::Template, Way::Sites] };
    for (home, way) in homes.iter().flat_map(|home| ways.iter().map(move |way| (home, *way))) {
        let linker = Linker { home, directory: &directory };
        let image = instrument_image(home, &directory, way)?;
        let modules = modules(&image, way)?;
        let what = if way == Way::Sites { "modules with call sites" } else { "modules" };
        bad += compare(what, &linker.image(&image, &[])?, &linker.image(&image, &modules)?, home);
    }
    let sites = directory.join("jars-with-sites");
    if sites.exists() {
        fs::remove_dir_all(&sites)?;
    }
    execute(corpus::example().arg("--sites").arg("--into").arg(&sites).args(jars))?;
    for home in &homes {
        let linker = Linker { home, directory: &directory };
        bad += compare("jars with call sites", &linker.jars(jars)?, &linker.jars_instead(&sites, jars)?, home);
    }
    if !only_sites {
        bad += templates(jars, &homes, &directory, &java)?;
    }
    if bad > 0 {
        bail!("{bad} classes are refused only when they are instrumented");
    }
    Ok(())
}

/// What the classes of a JDK's modules get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Template,
    Sites,
}

/// Links the jars with the template in every method, and with a wrapper around it.
fn templates(jars: &[PathBuf], homes: &[JavaHome], directory: &Path, java: &JavaHome) -> Result<usize> {
    let mut bad = 0;
    let inline = instrument(jars, "inline", directory, java)?;
    let wrapped = instrument(jars, "wrapper", directory, java)?;
    for home in homes {
        let linker = Linker { home, directory };
        let originals = linker.jars(jars)?;
        bad += compare("jars inline", &originals, &linker.jars(&inline)?, home);
        bad += compare("jars with wrappers", &originals, &linker.jars(&wrapped)?, home);
    }
    Ok(bad)
}

fn instrument(jars: &[PathBuf], mode: &str, directory: &Path, java: &JavaHome) -> Result<Vec<PathBuf>> {
    let config = directory.join(format!("{mode}.toml"));
    fs::write(&config, format!("{CONFIG}mode = \"{mode}\"\n"))?;
    let copies = directory.join(mode);
    let mut pre = command(project::cli());
    pre.arg("pre").arg("--config").arg(&config).arg("--output").arg(&copies);
    pre.arg("--java-home").arg(java.path()).args(jars);
    execute(&mut pre)?;
    Ok(jars.iter().filter_map(|jar| jar.file_name()).map(|name| copies.join(name)).collect())
}

/// The directory with the instrumented classes of the image, by module.
fn instrument_image(home: &JavaHome, directory: &Path, way: Way) -> Result<PathBuf> {
    let into = directory.join(if way == Way::Sites { "images-with-sites" } else { "images" });
    let own = into.join(home.feature().to_string());
    if own.exists() {
        fs::remove_dir_all(&own)?;
    }
    let mut example = corpus::example();
    example.args((way == Way::Sites).then_some("--sites"));
    execute(example.arg("--into").arg(&into).arg("--jdk").arg(home.path()))?;
    if way == Way::Sites {
        replace_sites(&own.join("java.base"))?;
    }
    Ok(own)
}

/// The runtime's class needs the agent, and classes of `java.base` that have call sites themselves.
fn replace_sites(base: &Path) -> Result<()> {
    let source = project::root().join("bench/corpus/Sites.java");
    let java = prerequisites::check()?;
    execute(
        command(java.path().join("bin/javac"))
            .args(["-source", "8", "-target", "8", "-nowarn", "-Xlint:-options", "-d"])
            .arg(base)
            .arg(source),
    )
}

/// The directories of all modules, without `java.base` unless it can run as it was written.
fn modules(image: &Path, way: Way) -> Result<Vec<PathBuf>> {
    let mut modules = Vec::new();
    for entry in fs::read_dir(image)? {
        let module = entry?.path();
        if way == Way::Sites || module.file_name().is_some_and(|name| name != "java.base") {
            modules.push(module);
        }
    }
    modules.sort();
    Ok(modules)
}

/// How many classes this JDK refuses only when they are instrumented.
fn compare(what: &str, originals: &Linked, instrumented: &Linked, home: &JavaHome) -> usize {
    let known = |line: &str| originals.lines.iter().any(|original| class_and_error(original) == class_and_error(line));
    let new: Vec<_> = instrumented.lines.iter().filter(|line| !known(line)).collect();
    println!(
        "JDK {}, {what}: {} classes linked as they are and {} refused, {} linked when instrumented and {} more refused",
        home.version(),
        originals.linked,
        originals.lines.len(),
        instrumented.linked,
        new.len()
    );
    new.iter().take(20).for_each(|line| println!("  {line}"));
    // The verifier of classes without frames must not be made to load a class that the original did without.
    let lost = originals.linked.saturating_sub(instrumented.linked);
    if lost > 0 {
        println!("  {lost} classes more could not be linked for want of another");
    }
    new.len() + lost as usize
}

/// `FAILED jar class error`; the message after that may have numbers that change from run to run.
fn class_and_error(line: &str) -> Vec<&str> {
    line.splitn(5, ' ').take(4).collect()
}

struct Linked {
    linked: u64,
    lines: BTreeSet<String>,
}

/// A JDK and where the program is that links.
struct Linker<'l> {
    home: &'l JavaHome,
    directory: &'l Path,
}

impl Linker<'_> {
    fn java(&self) -> Command {
        let mut java = command(self.home.path().join("bin/java"));
        // Old options are announced as such on later JDKs; that is not what is asked here.
        java.args([
            "-Xverify:all",
            "-XX:-PrintWarnings",
            "-Xmx2g",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-cp",
        ]);
        java.arg(self.directory);
        java
    }

    fn jars(&self, jars: &[PathBuf]) -> Result<Linked> {
        Linked::read(self.java().arg("LinkEveryClass").args(jars))
    }

    /// The jars with the classes below `directory` in place of theirs.
    fn jars_instead(&self, directory: &Path, jars: &[PathBuf]) -> Result<Linked> {
        Linked::read(self.java().args(["LinkEveryClass", "--instead"]).arg(directory).args(jars))
    }

    /// The classes of the modules under `image`, as they are; or, for those of `patches`, from there.
    fn image(&self, image: &Path, patches: &[PathBuf]) -> Result<Linked> {
        let mut java = self.java();
        java.args(["--add-modules", "ALL-SYSTEM"]);
        for module in patches {
            let name = module.file_name().unwrap_or_default().to_string_lossy();
            java.arg("--patch-module").arg(format!("{name}={}", module.display()));
        }
        Linked::read(java.args(["LinkEveryClass", "--image"]).arg(image))
    }
}

impl Linked {
    fn read(java: &mut Command) -> Result<Linked> {
        let text = output(java)?;
        let figure = |line: &str| line.split(' ').nth(2)?.parse::<u64>().ok();
        Ok(Linked {
            linked: text.lines().filter(|line| line.starts_with("LINKED ")).filter_map(figure).sum(),
            lines: text.lines().filter(|line| line.starts_with("FAILED ")).map(str::to_owned).collect(),
        })
    }
}
