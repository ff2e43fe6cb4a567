//! Whole files: what is read from them, and what exactly is said about the bad ones.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use expect_test::expect_file;
use instrument_core::level::{Level, Mode};
use instrument_core::selection::{RuleSet, TemplateCatalog};
use instrument_core::template::category::with_parents;
use instrument_core::template::{TemplateId, TemplateLibrary};

use super::{Config, FilePattern, LogLevel, OnError, ProbeClock, asks_to_abort, parse, schema};

struct Catalog;

impl TemplateCatalog for Catalog {
    fn find(&self, name: &str, level: Level) -> Option<TemplateId> {
        (name == "timed" || (name == "jdbc" && level != Level::Full)).then_some(TemplateId(0))
    }

    fn find_capturing(&self, name: &str, _level: Level) -> Option<TemplateId> {
        (name == "timed").then_some(TemplateId(0))
    }

    fn names(&self) -> Vec<String> {
        vec!["timed".to_owned(), "jdbc".to_owned()]
    }

    fn of_category(&self, category: &str) -> Option<String> {
        with_parents(category).any(|known| known == "database").then(|| "jdbc".to_owned())
    }

    fn categories(&self) -> Vec<String> {
        vec!["database".to_owned()]
    }
}

const PRESETS: &[(&str, &str)] = &[("jdbc", "[[rule]]\ntemplate = 'jdbc'"), ("broken", "[[rule]]\nlevl = 1")];

/// Everything said about a file, or `fine`.
fn judged(text: &str, file_name: &str) -> String {
    let diagnostics = match parse(text, file_name) {
        Err(problems) => problems,
        Ok((config, mut warnings)) => {
            warnings.extend(RuleSet::compile(config.rule_tables(), &Catalog, PRESETS).err().unwrap_or_default());
            warnings
        }
    };
    let mut shown = String::new();
    for diagnostic in &diagnostics {
        writeln!(shown, "{diagnostic}\n").unwrap();
    }
    if shown.is_empty() { "fine\n".to_owned() } else { shown }
}

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fixtures");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

/// `cargo xtask bless settings` writes the expected texts anew.
#[test]
fn each_fixture_is_judged_as_expected() {
    for file in fixtures() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let judged = judged(&std::fs::read_to_string(&file).unwrap(), name);
        expect_file![file.with_extension("expected")].assert_eq(&judged);
    }
    assert!(fixtures().len() > 10);
}

#[test]
fn the_documented_example_is_read_in_full() {
    let text = include_str!("fixtures/design-example.toml");
    let (config, warnings) = parse(text, "instr.toml").unwrap();
    assert_eq!(warnings, []);
    assert_eq!(config.trace.file.as_ref().map(FilePattern::text), Some("trace.jfr"));
    assert_eq!(config.agent.stats.as_ref().map(FilePattern::text), Some("stats.json"));
    let [rule] = config.rules.as_slice() else { panic!("one rule") };
    assert_eq!(rule.name.as_ref().unwrap().get_ref(), "handlers");
    assert_eq!(rule.class.iter().map(|pattern| pattern.get_ref().negated).collect::<Vec<_>>(), [false, true]);
    assert_eq!(rule.extends[0].get_ref().internal(), b"jakarta/servlet/http/HttpServlet");
    assert_eq!(rule.annotated[0].get_ref().text(), "org.springframework.stereotype.Service");
    assert_eq!(rule.method.iter().map(|pattern| pattern.get_ref().text()).collect::<Vec<_>>(), ["do*", "service(*)"]);
    assert_eq!(rule.template[0].get_ref(), "timed");
    assert_eq!(*rule.level.as_ref().unwrap().get_ref(), Level::Time);
    assert_eq!(rule.mode, Mode::Inline);
}

#[test]
fn every_setting_arrives() {
    let text = "
        [trace]
        buffer_mb = 0x40
        clock = 'system'
        [agent]
        on-error = 'abort'
        templates = ['a.jar', 'b.jar']
        log = 'debug'
        dump = 'rewritten'
        discard = true
        [sampler]
        interval = '2 s'
        engine = 'jvmti'
        depth = 7
        [filter]
        leaf = false
        max-bytes = 35
        [exclude]
        class = 'a.**'
        [[rule]]
        constructors = false
        class-initialisers = true
        bridges = true";
    let (config, _) = parse(text, "c.toml").unwrap();
    assert_eq!((config.trace.buffer_mb, config.trace.clock), (64, ProbeClock::System));
    assert_eq!(config.agent.on_error, OnError::Abort);
    assert_eq!(config.agent.templates.iter().map(|jar| jar.get_ref().as_str()).collect::<Vec<_>>(), ["a.jar", "b.jar"]);
    assert_eq!(config.agent.log, Some(LogLevel::Debug));
    assert_eq!(config.agent.dump.as_ref().map(FilePattern::text), Some("rewritten"));
    assert!(config.agent.discard && !config.filter.leaf);
    assert_eq!(config.filter.max_bytes, 35);
    let engine = super::SamplerEngine::Jvmti;
    let interval = Duration::from_secs(2);
    assert_eq!(config.sampler, Some(super::SamplerConfig { enabled: true, interval, engine, depth: 7 }));
    assert!(config.exclude.class[0].get_ref().glob.matches(b"a/b/C"));
    let rule = &config.rules[0];
    assert_eq!((rule.constructors, rule.class_initialisers, rule.bridges), (false, true, true));
}

#[test]
fn an_empty_file_means_the_defaults() {
    let (config, warnings) = parse("", "c.toml").unwrap();
    assert_eq!(Config { source: Config::default().source, ..config.clone() }, Config::default());
    assert_eq!((config.trace.buffer_mb, config.filter.leaf, config.filter.max_bytes), (32, true, 50));
    assert!(config.sampler.is_none() && config.allocation.is_none(), "no samples unless they are asked for");
    assert_eq!(warnings.len(), 1, "and a warning that nothing will be instrumented");
}

#[test]
fn one_string_is_a_list_of_one() {
    let (config, _) = parse("[[rule]]\ntemplate = 'timed'\n[[rule]]\ntemplate = ['timed']", "c.toml").unwrap();
    assert_eq!(config.rules[0].template[0].get_ref(), config.rules[1].template[0].get_ref());
}

#[test]
fn rubbish_is_refused_without_panic() {
    for text in [
        "\u{0}",
        "=",
        "[[[[",
        "a = 'x",
        "[rule",
        "rule = [1, {}]",
        "\u{feff}[[rule]]\nlevl=1",
        "a.b.c = 1",
        "rule.x = 1",
    ] {
        assert!(parse(text, "c.toml").is_err(), "{text:?}");
    }
    let deep = format!("[[rule]]\nclass = {}{}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(parse(&deep, "c.toml").is_err());
}

#[test]
fn a_rule_is_called_useless_only_if_it_is() {
    let warnings = |first: &str, second: &str| {
        let text = format!("[[rule]]\n{first}\n[[rule]]\nclass = 'a.*'\n{second}");
        parse(&text, "c.toml").unwrap().1.len()
    };
    assert_eq!(warnings("class = '**'", ""), 1);
    assert_eq!(warnings("class = ['a.B', '**']\nmethod = '*(..)'", ""), 1);
    for narrow in [
        "",
        "method = ['*', '!x']",
        "method = '*()'",
        "extends = 'a.B'",
        "annotated = 'a.B'",
        "method-annotated = 'a.B'",
    ] {
        assert_eq!(warnings(&format!("class = '**'\n{narrow}"), ""), usize::from(narrow.is_empty()), "{narrow}");
    }
    assert_eq!(warnings("class = ['**', '!b.*']", ""), 0);
    assert_eq!(warnings("method = '*'", ""), 0, "the JDK is left for the second");
    for special in [
        "constructors = true",
        "class-initialisers = true",
        "bridges = true",
        "method = '<clinit>'",
        "method = '<init>'",
    ] {
        assert_eq!(warnings("class = '**'", special), 0, "{special}");
    }
}

#[test]
fn a_file_with_errors_can_still_ask_to_abort() {
    for text in [
        "[agent]\non_error = 'abort'\n[[rule]]\nlevl = 1",
        "[agent]\non-error = 'abort'\nlog = 7\n[[rule]\nclass = 'a",
        "[trace]\nfile = 'x\n[agent]\non_error = 'abort'",
        "[[rule]]\nclass = com.acme\n[agent]\non_error = 'abort'",
        "agent.on_error = 'abort'\nx",
        "agent = { on_error = 'abort' }\n=",
    ] {
        assert!(parse(text, "c.toml").is_err() && asks_to_abort(text), "{text}");
    }
    for text in [
        "",
        "=",
        "[agent]\non_error = 'continue'",
        "[agent]\non_error = 'abrt'",
        "[trace]\non_error = 'abort'",
        "agent = 1",
    ] {
        assert!(!asks_to_abort(text), "{text}");
    }
}

#[test]
fn empty_lists_are_fine_where_they_are_clear() {
    let text = "[agent]\ntemplates = []\n[exclude]\nclass = []\n[[rule]]\nexclude = []";
    assert_eq!(parse(text, "c.toml").unwrap().1, []);
}

#[test]
fn a_byte_order_mark_moves_nothing() {
    let (config, _) = parse("\u{feff}[[rule]]\nclass = 'a.B'", "c.toml").unwrap();
    assert_eq!(config.rules.len(), 1);
    let problems = parse("\u{feff}[[rule]]\nclass = 'a..B'", "c.toml").unwrap_err();
    assert_eq!((problems[0].line, problems[0].column, problems[0].width), (2, 12, 1));
}

#[test]
fn the_schema_is_json_with_the_names_of_the_example() {
    let text = schema();
    for name in
        ["method-annotated", "on_error", "class-initialisers", "buffer-mb", "\"watch\"", "\"wrapper\"", "\"abort\""]
    {
        assert!(text.contains(name), "{name}");
    }
    assert!(text.starts_with("{\n") && text.ends_with("}\n") && !text.contains("null"));
}

#[test]
fn the_template_of_a_context_must_be_live() {
    let read = |template: &str| {
        let text = format!("[[context]]\nin = 'a.B.c'\nmethods = 'd.E.f'\ntemplate = '{template}'\n");
        let (config, _) = parse(&text, "c.toml").unwrap();
        let problems = config.compile_rules(&TemplateLibrary::new(), &[]).err().unwrap_or_default();
        problems.iter().map(ToString::to_string).collect::<String>()
    };
    assert!(read("timd").starts_with("error: unknown template `timd`\n --> c.toml:4:12"), "{}", read("timd"));
}
