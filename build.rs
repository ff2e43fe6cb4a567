//! Build script of the agent and of the command line: compiles the Java runtime and the templates with the JDK's
//! javac and embeds the classes (and the rule presets), so that each binary is one self-sufficient file.
//!
//! Output: `OUT_DIR/embedded.rs` with `RUNTIME_CLASSES`, `TEMPLATE_CLASSES` (internal name, bytes; a class is
//! listed after its super types, so they can be defined in this order) and `PRESETS` (name, TOML text).

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The oldest JDK whose javac is used: older ones are not tested.
const OLDEST_JDK: u32 = 17;

fn main() -> Result<()> {
    let root = Path::new(&env_var("CARGO_MANIFEST_DIR")?).join("..").canonicalize()?;
    let out = PathBuf::from(env_var("OUT_DIR")?);
    println!("cargo::rerun-if-env-changed=JAVA_HOME");
    for folder in ["java-runtime/src", "templates/src"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
    }

    let build = JavaBuild { javac: find_javac()?, root, out };
    let stubs = build.compile("stubs", &["java-runtime/src/stubs/java", "templates/src/stubs/java"], &[])?;
    let runtime = build.compile("runtime", &["java-runtime/src/main/java"], &[&stubs])?;
    let templates = build.compile("templates", &["templates/src/main/java"], &[&stubs, &runtime])?;

    let mut source = String::new();
    write_classes(&mut source, "RUNTIME_CLASSES", "Classes of the runtime, in definition order.", &runtime)?;
    write_classes(&mut source, "TEMPLATE_CLASSES", "Classes that hold the templates.", &templates)?;
    write_presets(&mut source, &build.root.join("templates/src/main/presets"))?;
    fs::write(build.out.join("embedded.rs"), source)?;
    Ok(())
}

fn env_var(name: &str) -> Result<String> {
    std::env::var(name).map_err(|error| format!("{name}: {error}").into())
}

/// Where the compiler is and where sources and classes lie.
struct JavaBuild {
    javac: PathBuf,
    root: PathBuf,
    out: PathBuf,
}

impl JavaBuild {
    /// Compiles all sources under `folders` into `OUT_DIR/name` and returns that folder.
    fn compile(&self, name: &str, folders: &[&str], class_path: &[&Path]) -> Result<PathBuf> {
        let target = self.out.join(name);
        if target.exists() {
            fs::remove_dir_all(&target)?;
        }
        fs::create_dir_all(&target)?;
        let mut sources = Vec::new();
        for folder in folders {
            let folder = self.root.join(folder);
            collect(&folder, "java", &mut sources)?;
        }
        if !sources.is_empty() {
            self.run_javac(&target, class_path, &sources)?;
        }
        Ok(target)
    }

    fn run_javac(&self, target: &Path, class_path: &[&Path], sources: &[PathBuf]) -> Result<()> {
        let mut command = Command::new(&self.javac);
        command.args(["--release", "8", "-XDstringConcat=inline", "-g:source,lines", "-proc:none", "-implicit:none"]);
        command.args(["-Xlint:-options", "-encoding", "UTF-8", "-nowarn"]).arg("-d").arg(target);
        // Never the default class path, which is the folder where cargo happens to run.
        command.arg("-cp").arg(std::env::join_paths(class_path.iter().copied().chain([target]))?);
        let output = command.args(sources).output()?;
        if !output.status.success() {
            let text =
                format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            return Err(format!("{} failed:\n{text}", self.javac.display()).into());
        }
        Ok(())
    }
}

/// The first javac of JDK 17 or newer: `JAVA_HOME`, then `PATH`, then the folders where Linux distributions and macOS put JDKs.
fn find_javac() -> Result<PathBuf> {
    let mut candidates = Vec::new();
    if let Some(home) = std::env::var_os("JAVA_HOME") {
        candidates.push(PathBuf::from(home).join("bin/javac"));
    }
    if let Some(path) = std::env::var_os("PATH") {
        candidates.extend(std::env::split_paths(&path).map(|folder| folder.join("javac")));
    }
    for (folder, inside) in
        [("/usr/lib/jvm", "bin/javac"), ("/Library/Java/JavaVirtualMachines", "Contents/Home/bin/javac")]
    {
        let mut homes: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        homes.sort();
        candidates.extend(homes.into_iter().map(|home| home.join(inside)));
    }
    candidates.into_iter().find(|javac| javac_version(javac).is_some_and(|version| version >= OLDEST_JDK)).ok_or_else(
        || {
            format!(
                "no javac of JDK {OLDEST_JDK} or newer found (looked at JAVA_HOME, PATH, /usr/lib/jvm). \
             Install one, for example `apt-get install openjdk-17-jdk-headless`, or set JAVA_HOME"
            )
            .into()
        },
    )
}

/// The feature version that `javac -version` prints, or `None` if it cannot be run.
fn javac_version(javac: &Path) -> Option<u32> {
    if !javac.is_file() {
        return None;
    }
    let output = Command::new(javac).arg("-version").output().ok()?;
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let version = text.split_whitespace().skip_while(|word| *word != "javac").nth(1)?;
    version.split(['.', '-', '+']).next()?.parse().ok()
}

/// Appends the files below `folder` that end with `.extension`, sorted; a missing folder has none.
fn collect(folder: &Path, extension: &str, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, extension, files)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    Ok(())
}

fn write_classes(source: &mut String, name: &str, doc: &str, folder: &Path) -> Result<()> {
    let mut files = Vec::new();
    collect(folder, "class", &mut files)?;
    let mut classes = BTreeMap::new();
    for file in files {
        let bytes = fs::read(&file)?;
        let header = class_header(&bytes).ok_or_else(|| format!("{}: javac wrote no class file", file.display()))?;
        classes.insert(header.name, (header.super_types, file));
    }
    writeln!(source, "/// {doc}\npub(crate) static {name}: &[(&str, &[u8])] = &[")?;
    for class in definition_order(&classes) {
        if let Some((_, file)) = classes.get(&class) {
            writeln!(source, "    ({class:?}, include_bytes!({:?})),", file.display().to_string())?;
        }
    }
    writeln!(source, "];")?;
    Ok(())
}

/// Super types before sub types, otherwise alphabetical.
fn definition_order(classes: &BTreeMap<String, (Vec<String>, PathBuf)>) -> Vec<String> {
    fn visit(
        name: &str,
        classes: &BTreeMap<String, (Vec<String>, PathBuf)>,
        seen: &mut BTreeSet<String>,
        order: &mut Vec<String>,
    ) {
        let Some((super_types, _)) = classes.get(name) else { return };
        if seen.insert(name.to_owned()) {
            super_types.iter().for_each(|super_type| visit(super_type, classes, seen, order));
            order.push(name.to_owned());
        }
    }
    let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
    classes.keys().for_each(|name| visit(name, classes, &mut seen, &mut order));
    order
}

fn write_presets(source: &mut String, folder: &Path) -> Result<()> {
    let mut files = Vec::new();
    collect(folder, "toml", &mut files)?;
    writeln!(
        source,
        "/// Rule presets shipped with the templates: name, TOML text.\npub(crate) static PRESETS: &[(&str, &str)] = &["
    )?;
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        writeln!(source, "    ({name:?}, include_str!({:?})),", file.display().to_string())?;
    }
    writeln!(source, "];")?;
    Ok(())
}

/// What a class must be defined after.
struct ClassHeader {
    name: String,
    super_types: Vec<String>,
}

/// Reads just the names at the head of a class file (the crate `classfile` is not available to a build script of two crates
/// without making it a build dependency of both, and this is all that is needed).
fn class_header(bytes: &[u8]) -> Option<ClassHeader> {
    let mut reader = Reader { bytes, at: 8 };
    let count = reader.u16()?;
    let (mut texts, mut classes) = (BTreeMap::new(), BTreeMap::new());
    let mut index = 1;
    while index < count {
        let tag = reader.take(1)?.first().copied()?;
        match tag {
            1 => {
                let length = usize::from(reader.u16()?);
                texts.insert(index, String::from_utf8_lossy(reader.take(length)?).into_owned());
            }
            7 => {
                classes.insert(index, reader.u16()?);
            }
            8 | 16 | 19 | 20 => drop(reader.take(2)?),
            15 => drop(reader.take(3)?),
            3 | 4 | 9..=12 | 17 | 18 => drop(reader.take(4)?),
            5 | 6 => drop(reader.take(8)?),
            _ => return None,
        }
        index += if matches!(tag, 5 | 6) { 2 } else { 1 };
    }
    reader.take(2)?;
    let class_name = |index: u16| classes.get(&index).and_then(|text| texts.get(text)).cloned();
    let name = class_name(reader.u16()?)?;
    let mut super_types: Vec<String> = class_name(reader.u16()?).into_iter().collect();
    for _ in 0..reader.u16()? {
        super_types.push(class_name(reader.u16()?)?);
    }
    Some(ClassHeader { name, super_types })
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }
}
