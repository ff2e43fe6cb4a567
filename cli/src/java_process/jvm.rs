//! A process that runs a JVM.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::performance_file;
use super::process::Process;
use crate::failure::Failure;

const LIBRARY: &str = "libjvm.so";
/// Variables of the environment that hold options.
const VARIABLES: [&str; 3] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];
/// Options of `java` whose value is the next argument.
const WITH_VALUE: [&str; 12] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--limit-modules",
    "--patch-module",
];

/// A JVM and what is known about it without asking it.
#[derive(Debug)]
pub(crate) struct Jvm {
    pub(crate) process: Process,
    /// Its main class or jar.
    pub(crate) main: String,
    /// The version of its JDK, such as `17.0.15`, if it can be found out.
    pub(crate) jdk: Option<String>,
    /// The options that it was started with.
    options: String,
    /// Whether it says that it cannot be attached to.
    is_closed: bool,
    mapped: Vec<PathBuf>,
}

impl Jvm {
    /// Returns the JVM of this process; an error says why it is none, or cannot be looked into.
    pub(crate) fn find(pid: u32) -> Result<Jvm> {
        let process = Process::find(pid)?;
        let mapped = process.mapped_files();
        let is_others = matches!(&mapped, Err(error) if error.kind() == io::ErrorKind::PermissionDenied);
        if is_others && process.user().is_some_and(may_act_for) {
            let help =
                "the system lets nobody look into it from here; `instr ps` lists the JVMs that can be attached to";
            return Err(Failure::new(format!("process {pid} cannot be looked into"), help).into());
        }
        if is_others || !process.user().is_none_or(may_act_for) {
            let user = process.user().map_or_else(|| "another user".to_owned(), |user| format!("user {user}"));
            let help = "run `instr` as the user that the JVM runs as, or as root";
            return Err(Failure::new(format!("process {pid} belongs to {user}"), help).into());
        }
        Jvm::of(process, mapped.unwrap_or_default()).ok_or_else(|| {
            let help = "`instr ps` lists the JVMs; one that has just been started is listed after a moment";
            Failure::new(format!("process {pid} is not a JVM"), help).into()
        })
    }

    /// Returns the JVMs that the user may look into.
    pub(crate) fn all() -> Vec<Jvm> {
        let readable = Process::all().into_iter().filter_map(|process| Some((process.mapped_files().ok()?, process)));
        readable.filter_map(|(mapped, process)| Jvm::of(process, mapped)).collect()
    }

    fn of(process: Process, mapped: Vec<PathBuf>) -> Option<Jvm> {
        let library = mapped.iter().find(|file| file.file_name().is_some_and(|name| name == LIBRARY))?;
        let published = performance_file::of(&process).unwrap_or_default();
        let arguments = process.read("cmdline").unwrap_or_default();
        let arguments: Vec<String> =
            arguments.split(|byte| *byte == 0).map(|argument| String::from_utf8_lossy(argument).into_owned()).collect();
        let command = published.text("sun.rt.javaCommand").map(|command| main_of_command(command).to_owned());
        let version = published.text("java.property.java.version").map(str::to_owned);
        Some(Jvm {
            main: command.or_else(|| main_of_arguments(&arguments)).unwrap_or_else(|| "?".to_owned()),
            jdk: version.or_else(|| version_of_release(&process.seen_from_here(library))),
            options: published.text("java.rt.vmArgs").map_or_else(|| all_options(&process, &arguments), str::to_owned),
            // The first of the capabilities is that to be attached to.
            is_closed: published
                .text("sun.rt.jvmCapabilities")
                .is_some_and(|capabilities| capabilities.starts_with('0')),
            mapped,
            process,
        })
    }

    /// Fails if the JVM was started in a way that forbids to attach to it.
    pub(crate) fn check_attachable(&self) -> Result<()> {
        let pid = self.process.pid;
        if self.is_closed || self.last_switch("DisableAttachMechanism") == Some(true) {
            return Err(Failure::new(
                format!(
                    "process {pid} does not let anybody attach to it: it was started with -XX:+DisableAttachMechanism"
                ),
                "start it without this option, or with the agent (`-agentpath:...=CONFIG`)",
            )
            .into());
        }
        if self.last_switch("EnableDynamicAgentLoading") == Some(false) {
            return Err(Failure::new(
                format!(
                    "process {pid} loads no agents while it runs: it was started with -XX:-EnableDynamicAgentLoading"
                ),
                "start it without this option, or with the agent (`-agentpath:...=CONFIG`)",
            )
            .into());
        }
        Ok(())
    }

    /// Whether the JVM writes a warning when an agent is loaded into it.
    pub(crate) fn warns_about_agents(&self) -> bool {
        let feature: Option<u32> = self.jdk.as_ref().and_then(|jdk| jdk.split(['.', '-', '+']).next()?.parse().ok());
        feature.is_some_and(|feature| feature >= 21) && self.last_switch("EnableDynamicAgentLoading") != Some(true)
    }

    /// Returns the last setting of a switch in its options.
    fn last_switch(&self, name: &str) -> Option<bool> {
        last_switch(&self.options, name)
    }

    /// Returns the library with this file name that is loaded into it.
    pub(crate) fn loaded_library(&self, name: &str) -> Option<&Path> {
        let is_it = |file: &&PathBuf| {
            let file = file.file_name().unwrap_or_default().to_string_lossy();
            file == name || file.strip_suffix(" (deleted)") == Some(name)
        };
        self.mapped.iter().find(is_it).map(PathBuf::as_path)
    }
}

/// Whether `instr` may act for a user: it runs as this user, or as root.
fn may_act_for(user: u32) -> bool {
    let own = rustix::process::geteuid();
    own.is_root() || own.as_raw() == user
}

/// Returns all that may hold options of a JVM that does not publish them.
fn all_options(process: &Process, arguments: &[String]) -> String {
    let environment = process.read("environ").unwrap_or_default();
    let variables = environment.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    let of_java = variables.filter_map(|variable| {
        let (name, value) = variable.split_once('=')?;
        VARIABLES.contains(&name).then(|| value.to_owned())
    });
    of_java.chain(arguments.iter().cloned()).collect::<Vec<_>>().join(" ")
}

fn last_switch(options: &str, name: &str) -> Option<bool> {
    let setting = |word: &str| match word.strip_prefix("-XX:")?.split_at_checked(1)? {
        ("+", switch) if switch == name => Some(true),
        ("-", switch) if switch == name => Some(false),
        _ => None,
    };
    options.split_whitespace().filter_map(setting).next_back()
}

/// Returns the main class or jar of a command as HotSpot publishes it: with arguments, and with blanks in names.
fn main_of_command(command: &str) -> &str {
    let first = command.split(' ').next().unwrap_or(command);
    let jar = command.find(".jar ").map(|at| at + 4).filter(|_| first.contains('/')).and_then(|end| command.get(..end));
    if first.contains('/') && command.ends_with(".jar") && jar.is_none() { command } else { jar.unwrap_or(first) }
}

/// Returns the main class or jar of a command line of `java`.
fn main_of_arguments(arguments: &[String]) -> Option<String> {
    let mut rest = arguments.iter().skip(1).map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "-jar" | "-m" | "--module" => return rest.next().map(str::to_owned),
            option if WITH_VALUE.contains(&option) => drop(rest.next()),
            option if option.starts_with(['-', '@']) || option.is_empty() => {}
            main => return Some(main.to_owned()),
        }
    }
    None
}

/// Returns the version that the JDK with this `lib/server/libjvm.so` has in its file `release`.
fn version_of_release(library: &Path) -> Option<String> {
    let release = std::fs::read_to_string(library.ancestors().nth(3)?.join("release")).ok()?;
    let line = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(line.trim().trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_class_or_jar_is_found_in_commands() {
        for (command, main) in [
            ("shop.Main --port 80", "shop.Main"),
            ("shop.Main x.jar y", "shop.Main"),
            ("/opt/my shop/app.jar --port 80", "/opt/my shop/app.jar"),
            ("/opt/my shop/app.jar", "/opt/my shop/app.jar"),
            ("app.jar", "app.jar"),
            ("mod/shop.Main a", "mod/shop.Main"),
        ] {
            assert_eq!(main_of_command(command), main, "{command}");
        }
        for (line, main) in [
            ("java -Xmx1g -cp a:b shop.Main x", Some("shop.Main")),
            ("java -jar app.jar x", Some("app.jar")),
            ("java @options --add-opens java.base/java.lang=ALL-UNNAMED -m mod/shop.Main", Some("mod/shop.Main")),
            ("java -version", None),
        ] {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(main_of_arguments(&arguments).as_deref(), main, "{line}");
        }
    }

    #[test]
    fn the_last_setting_of_a_switch_counts() {
        let options = "-XX:-Abc -Xmx1g -XX:+Abc -XX:+Abcd -XX:-Ab -XX:";
        assert_eq!(last_switch(options, "Abc"), Some(true));
        assert_eq!(last_switch(options, "Ab"), Some(false));
        assert_eq!(last_switch(options, "A"), None);
    }

    #[test]
    fn this_test_is_not_a_jvm() {
        let error = Jvm::find(std::process::id()).unwrap_err();
        assert!(error.to_string().ends_with("is not a JVM"), "{error}");
    }
}
