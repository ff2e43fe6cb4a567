//! From the agent's options to everything a session needs: configuration, templates, rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use class_source::{ClassPath, read_regular_file};
use instrument_core::level::Level;
use instrument_core::selection::used_by_runtime::{ClassBytes, TemplateCode};
use instrument_core::selection::{RuleSet, UnmetLevel, Untouchable};
use instrument_core::template::{BUILT_IN, Template, TemplateLibrary};
use settings::{Config, Diagnostic, GovernorConfig, OnError, ProbeClock, Severity};

use crate::config::embedded;
use crate::health::Limits;

/// What the configuration asks for, checked.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The configuration file, for reading it again.
    pub(crate) file: PathBuf,
    /// The configuration.
    pub(crate) config: Config,
    /// Warnings, as text.
    pub(crate) warnings: Vec<String>,
    /// What the configuration means where it may be right, as text.
    pub(crate) notes: Vec<String>,
    /// All templates.
    pub(crate) templates: Arc<TemplateLibrary>,
    /// Class files of the user's templates.
    own_templates: Vec<Vec<u8>>,
    /// The compiled rules.
    pub(crate) rules: RuleSet,
}

/// Why there is no setup.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SetupError {
    /// The message for the user.
    pub(crate) text: String,
    /// The user wants the JVM to stop in this case.
    pub(crate) abort: bool,
}

impl Setup {
    /// Whether there may be probes that ask for their level at each call: because that is to be changed while they run, or because their
    /// template is for this level in no other way.
    pub(crate) fn has_live_probes(&self) -> bool {
        self.config.wants_live() || self.templates_in_use().any(|template| template.live)
    }

    /// Whether the probes may count ticks of the processor; false if none of them reads a clock.
    pub(crate) fn counts_ticks(&self) -> bool {
        self.reads_clock() && self.config.trace.clock == ProbeClock::Auto
    }

    /// Whether there may be probes that read a clock.
    pub(crate) fn reads_clock(&self) -> bool {
        self.has_live_probes() || self.uses_level(Level::Time) || self.uses_level(Level::Full)
    }

    /// The governor's budget, if there are probes whose level it can lower.
    pub(crate) fn budget(&self) -> Option<u32> {
        self.config.governor.budget().filter(|_| self.has_live_probes())
    }

    /// What probes of level watch may take of the CPU time in percent before some are removed, if the configuration has such a budget.
    pub(crate) fn watch_budget(&self) -> Option<u32> {
        self.config.governor.budget()
    }

    /// What opens the breaker, if there is one.
    pub(crate) fn breaker(&self) -> Option<Limits> {
        let governor = &self.config.governor;
        self.why_no_breaker().is_none().then(|| Limits {
            gc_percent: governor.gc_percent(),
            heap_percent: governor.heap_percent(),
            recovery: Duration::from_secs(u64::from(governor.recovery_seconds())),
        })
    }

    /// Returns why there is no breaker; `None` if the configuration has one: with probes that can be governed, or where `[governor]` says so.
    pub(crate) fn why_no_breaker(&self) -> Option<&'static str> {
        let governor = &self.config.governor;
        if !governor.enabled {
            Some("`enabled = false` in [governor] switches it off")
        } else if !governor.has_breaker() {
            Some("`gc-percent` and `heap-percent` in [governor] are 0")
        } else if !self.config.wants_live() && *governor == GovernorConfig::default() {
            Some(
                "write `heap-percent = 95` into [governor], or `live = true` into [control], and start or attach the agent again",
            )
        } else {
            None
        }
    }

    /// Whether some rule uses a template's variant of this level.
    pub(crate) fn uses_level(&self, level: Level) -> bool {
        self.templates_in_use().any(|template| template.level == level)
    }

    fn templates_in_use(&self) -> impl Iterator<Item = &Template> {
        let ids = self.rules.rules().iter().flat_map(|rule| rule.templates().iter());
        ids.filter_map(|id| self.templates.get(*id))
    }

    /// Methods of the JDK that must be left alone with these rules; `jdk` gives its class files.
    pub(crate) fn untouchable(&self, jdk: &ClassBytes<'_>) -> Untouchable {
        let own = self.own_templates.iter().map(Vec::as_slice);
        let classes = own.chain(embedded::TEMPLATE_CLASSES.iter().map(|(_, bytes)| *bytes));
        let templates = TemplateCode::in_use(&self.rules, &self.templates, classes);
        let untouchable = Untouchable::compute(embedded::RUNTIME_CLASSES, &templates, jdk);
        if !untouchable.used_by_runtime().is_complete() {
            tracing::warn!("the runtime reaches more methods than expected; the rest is not followed");
        }
        untouchable
    }
}

/// Reads the configuration file named by the options.
pub(crate) fn from_options(options: &[u8]) -> Result<Setup, SetupError> {
    let Ok(options) = std::str::from_utf8(options) else { return Err(hopeless("the agent's options are not UTF-8")) };
    let path = options.trim();
    if path.is_empty() {
        return Err(hopeless(
            "no configuration file is named: write it after the agent, as in -agentpath:/path/to/libinstr.so=/path/to/instr.toml",
        ));
    }
    from_file(path.strip_prefix("config=").unwrap_or(path))
}

/// Reads this configuration file.
pub(crate) fn from_file(path: &str) -> Result<Setup, SetupError> {
    let bytes = read_regular_file(Path::new(path)).map_err(|error| hopeless(&unreadable(path, &error)))?;
    match String::from_utf8(bytes) {
        Ok(text) => from_text(&text, path),
        Err(error) => Err(hopeless(&format!(
            "the configuration file {path} is no text in UTF-8 (byte {} is not): name the TOML file with the rules",
            error.utf8_error().valid_up_to()
        ))),
    }
}

/// Why the file could not be read, where it was looked for, and what to do.
fn unreadable(path: &str, error: &std::io::Error) -> String {
    let place = std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string());
    let help = match error.kind() {
        std::io::ErrorKind::NotFound if Path::new(path).is_absolute() => {
            "it must be where the JVM sees it, which may run in a container"
        }
        std::io::ErrorKind::NotFound => "name the file with its whole path",
        std::io::ErrorKind::IsADirectory | std::io::ErrorKind::InvalidInput => "name the TOML file with the rules",
        _ => "the JVM's user must be able to read it",
    };
    format!("cannot read the configuration file {place}: {error}; {help}")
}

fn hopeless(text: &str) -> SetupError {
    SetupError { text: text.to_owned(), abort: false }
}

/// Compiles a configuration; `file_name` is what diagnostics call it.
pub(crate) fn from_text(text: &str, file_name: &str) -> Result<Setup, SetupError> {
    let (mut config, found) = match settings::parse(text, file_name) {
        Ok(parsed) => parsed,
        Err(problems) => return Err(SetupError { text: list(&problems), abort: says_abort(text) }),
    };
    let abort = config.agent.on_error == OnError::Abort;
    let folder = Path::new(file_name).parent().unwrap_or(Path::new("")).to_owned();
    let ca_file = config.metrics.ca_file.as_mut();
    ca_file.into_iter().for_each(|file| *file = beside(&folder, file).to_string_lossy().into_owned());
    if let Some(file) = &mut config.claims.file {
        *file = folder.join(&*file).to_string_lossy().into_owned();
    }
    let (templates, own_templates) = load_templates(&config, &folder).map_err(|text| SetupError { text, abort })?;
    let compiled = config.compile_rules(&templates, embedded::PRESETS);
    let rules = compiled.map_err(|problems| SetupError { text: list(&problems), abort })?;
    let texts = |is_note: bool| {
        found.iter().filter(move |of| (of.severity == Severity::Note) == is_note).map(ToString::to_string)
    };
    let (mut warnings, notes): (Vec<String>, Vec<String>) = (texts(false).collect(), texts(true).collect());
    warnings.extend(UnmetLevel::find(&rules, &templates).iter().map(ToString::to_string));
    Ok(Setup {
        file: PathBuf::from(file_name),
        config,
        warnings,
        notes,
        templates: Arc::new(templates),
        own_templates,
        rules,
    })
}

fn list(problems: &[Diagnostic]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

/// Whether a configuration that could not be read asks to stop the JVM: its syntax may be broken anywhere, so this looks at
/// the line alone.
fn says_abort(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.split('#').next().unwrap_or_default();
        line.split_once('=').is_some_and(|(key, value)| {
            let key = key.trim();
            (key == "on_error" || key == "agent.on_error") && value.trim().trim_matches(['"', '\'']) == "abort"
        })
    })
}

/// A file that the configuration names: relative to the configuration file, or else to the working directory.
fn beside(folder: &Path, name: &str) -> PathBuf {
    let beside = folder.join(name);
    if beside.exists() { beside } else { PathBuf::from(name) }
}

/// The built-in templates and those of the user's jars.
fn load_templates(config: &Config, folder: &Path) -> Result<(TemplateLibrary, Vec<Vec<u8>>), String> {
    let mut library = TemplateLibrary::new();
    let (mut problems, mut own) = (Vec::new(), Vec::new());
    for (_, bytes) in embedded::TEMPLATE_CLASSES {
        problems.extend(library.add_class(bytes, BUILT_IN).err().into_iter().flatten());
    }
    library.check_against(embedded::RUNTIME_CLASSES);
    for jar in &config.agent.templates {
        let name = jar.get_ref();
        let classes =
            ClassPath::open(&[beside(folder, name)]).map_err(|error| format!("templates = \"{name}\": {error}"))?;
        let visited: Result<(), class_source::Error> = classes.for_each(|entry| {
            if entry.release.is_some() {
                // A variant for newer JVMs; the template that every JVM can use counts.
                return Ok(());
            }
            match library.add_class(entry.bytes, name) {
                Ok(0) => {}
                Ok(_) => own.push(entry.bytes.to_vec()),
                Err(found) => problems.extend(found),
            }
            Ok(())
        });
        visited.map_err(|error| format!("templates = \"{name}\": {error}"))?;
    }
    if problems.is_empty() {
        Ok((library, own))
    } else {
        Err(problems.iter().map(|problem| format!("{problem}\n")).collect())
    }
}

#[cfg(test)]
mod tests {
    use class_source::{JavaHome, JdkImage};
    use instrument_core::selection::used_by_runtime::UsedByRuntime;

    use super::*;

    #[test]
    fn missing_options_and_files_are_told_and_never_abort() {
        let no_option = from_options(b"").unwrap_err();
        assert!(no_option.text.contains("no configuration file is named"), "{}", no_option.text);
        let no_file = from_options(b"/nowhere/instr.toml").unwrap_err();
        assert!(no_file.text.contains("/nowhere/instr.toml") && !no_file.abort, "{}", no_file.text);
    }

    #[test]
    fn a_mistake_aborts_only_if_the_configuration_says_so() {
        for (agent, abort) in
            [("", false), ("[agent]\non_error = \"abort\"\n", true), ("[agent]\n# on_error = \"abort\"\n", false)]
        {
            let error = from_text(&format!("{agent}[[rule]]\nclas = 'a.B'\n"), "c.toml").unwrap_err();
            assert_eq!(error.abort, abort, "{agent}");
            assert!(error.text.contains("did you mean `class`?"), "{}", error.text);
        }
    }

    #[test]
    fn a_breaker_is_there_with_live_probes_or_a_stated_limit() {
        let why = |tables: &str| {
            let setup = from_text(&format!("{tables}\n[[rule]]\nclass = 'a.B'\nlevel = 'time'\n"), "c.toml").unwrap();
            assert_eq!(setup.breaker().is_none(), setup.why_no_breaker().is_some(), "{tables}");
            setup.why_no_breaker().unwrap_or_default()
        };
        for tables in ["", "[control]\nsocket = true", "[governor]\nenabled = true"] {
            assert!(why(tables).starts_with("write `heap-percent = 95` into [governor]"), "{tables}");
        }
        // What the refusal says to write, also as the default.
        let with_limits = ["heap-percent = 95", "gc-percent = 30", "recovery-seconds = 30", "budget-percent = 0"];
        for key in with_limits.map(|key| format!("[governor]\n{key}")) {
            assert_eq!(why(&key), "");
        }
        assert_eq!(why("[control]\nlive = true"), "");
        assert!(why("[control]\nlive = true\n[governor]\nenabled = false").starts_with("`enabled = false`"));
        assert!(why("[governor]\ngc-percent = 0\nheap-percent = 0").ends_with("are 0"));
    }

    #[test]
    fn an_unknown_category_of_slow_calls_has_its_place_and_the_nearest_one() {
        let text = "[[slow-calls]]\nmethods = 'category:databse'\n[[rule]]\nclass = 'a.B'\n";
        let error = from_text(text, "c.toml").unwrap_err();
        assert!(
            error.text.contains("c.toml:2:11") && error.text.contains("did you mean `database`?"),
            "{}",
            error.text
        );
        assert!(from_text(&text.replace("databse", "web-service"), "c.toml").is_ok());
    }

    #[test]
    fn an_unknown_template_is_told_with_its_place() {
        let error = from_text("[[rule]]\nclass = 'a.B'\ntemplate = 'timd'\n", "c.toml").unwrap_err();
        assert!(error.text.contains("c.toml:3:") && error.text.contains("timed"), "{}", error.text);
    }

    #[test]
    fn every_embedded_template_passes_the_linter() {
        let setup = from_text("[[rule]]\nclass = 'a.B'\ntemplate = 'timed'\n", "c.toml");
        assert!(setup.is_ok(), "{:?}", setup.err());
    }

    /// Every template of the presets that records calls does at each level what the level says, live or not.
    #[test]
    fn each_level_has_its_variant_of_each_template() {
        // Burst is for probes that are live anyway.
        const FIXED: [Level; 4] = [Level::Off, Level::Watch, Level::Time, Level::Full];
        let names = [
            "timed",
            "jdbc",
            "jdbc-prepared",
            "socket",
            "socket-write",
            "http-server-jakarta",
            "http-server-javax",
            "http-server-jersey",
        ];
        for (name, level) in names.iter().flat_map(|name| FIXED.map(|level| (name, level))) {
            let rule = format!("[[rule]]\nclass = 'a.B'\ntemplate = '{name}'\nlevel = '{level}'\n");
            let setup = from_text(&rule, "c.toml").unwrap();
            let used = setup.templates_in_use().next().unwrap();
            assert!(used.live || used.level == level, "{name} at {level}: {}", used.source);
            assert_eq!(setup.has_live_probes(), used.live, "{name} at {level}");
            assert_eq!(setup.warnings, Vec::<String>::new(), "{name} at {level}");
            // A level that costs something is kept within the budget, unless nobody governs it.
            assert_eq!(setup.budget(), used.live.then_some(3), "{name} at {level}");
            assert!(used.live || !matches!(level, Level::Time | Level::Full), "{name} at {level}");
            let ungoverned = from_text(&format!("[governor]\nenabled = false\n{rule}"), "c.toml").unwrap();
            assert_eq!(ungoverned.budget(), None, "{name} at {level}");
        }
    }

    /// javac built this crate, so there is a JDK; every one that is installed is asked.
    fn images() -> Vec<JdkImage> {
        let images: Vec<_> =
            JavaHome::installed(&[]).iter().filter_map(|home| JdkImage::open(home.path()).ok()).collect();
        assert!(!images.is_empty(), "no JDK found");
        images
    }

    #[test]
    fn what_a_probe_reaches_is_found_and_what_it_does_not_is_not() {
        let setup = from_text("[[rule]]\nclass = 'a.B'\ntemplate = 'timed'\nlevel = 'time'\n", "c.toml").unwrap();
        for image in images() {
            let untouchable = setup.untouchable(&|name| image.find(name).ok().flatten());
            let used = untouchable.used_by_runtime();
            let reached: [(&str, &str, &str); 4] = [
                ("java/lang/System", "nanoTime", "()J"),
                ("java/lang/Thread", "currentThread", "()Ljava/lang/Thread;"),
                ("java/lang/Thread", "getName", "()Ljava/lang/String;"),
                ("java/lang/Object", "<init>", "()V"),
            ];
            for (class, name, descriptor) in reached {
                assert!(
                    untouchable.contains(class.as_bytes(), name.as_bytes(), descriptor.as_bytes()),
                    "{class}.{name}"
                );
            }
            // Asked for the carrier where there are virtual threads.
            if image.find("java/lang/BaseVirtualThread").unwrap().is_some() {
                let door = |class: &[u8]| class.starts_with(b"java/lang/System$");
                assert!(used.classes().any(door), "the implementation of JavaLangAccess");
                assert!(used.contains(b"java/lang/Thread", b"currentCarrierThread", b"()Ljava/lang/Thread;"));
            }
            assert!(!used.classes().any(|class| class.starts_with(b"java/lang/ThreadLocal")));
            assert!(!untouchable.contains(b"java/util/ArrayList", b"add", b"(Ljava/lang/Object;)Z"));
            assert!(!untouchable.contains(
                b"java/util/HashMap",
                b"put",
                b"(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;"
            ));
            let (count, path) = (used.count(), image.path().display());
            assert!(count < 1000 && used.is_complete(), "{count} methods of {path}: more than a probe can need");
        }
    }

    #[test]
    fn a_call_is_followed_to_the_inherited_method() {
        let image = images().swap_remove(0);
        // The constructor with a map calls `putMapEntries`, which it inherits and which calls HashMap.hash.
        let class = image.find("java/util/LinkedHashMap").unwrap().unwrap();
        let code = TemplateCode { class: &class, method: "<init>" };
        let used = UsedByRuntime::compute(&[], &[code], &|name| image.find(name).ok().flatten());
        assert!(used.contains(b"java/util/HashMap", b"putMapEntries", b"(Ljava/util/Map;Z)V"));
        assert!(used.contains(b"java/util/HashMap", b"hash", b"(Ljava/lang/Object;)I"));
    }
}
