//! Reads one `[[rule]]`, and looks for rules that cannot be what was meant.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_spanned::Spanned;

use super::capture_keys;
use super::declaration::Table as _;
use super::model::Rule;
use super::name_doubt::name_doubt;
use super::problems::Problems;
use super::source_text::SourceText;
use super::table_reader::TableReader;
use crate::rules::patterns::class_pattern::ClassPattern;
use crate::rules::patterns::flag_pattern::FlagPattern;
use crate::rules::patterns::method_pattern::MethodPattern;

pub(super) fn read_rule(
    table: &TableReader<'_, '_>,
    span: Range<usize>,
    source: &Arc<SourceText>,
    problems: &mut Problems,
) -> Rule {
    let rule = Rule { span, source: Arc::clone(source), ..Rule::read(table, problems) };
    if rule.preset.is_some() {
        refuse_beside_preset(table, problems);
    }
    check_patterns(&rule, problems);
    capture_keys::check(&rule, table, problems);
    rule
}

fn refuse_beside_preset(table: &TableReader<'_, '_>, problems: &mut Problems) {
    for (key, span) in table.keys() {
        if !matches!(key, "name" | "preset" | "level" | "outermost" | "propagate") {
            let help = "only `name`, `level`, `outermost` and `propagate` can be given with `preset`: write a rule of your own for the rest";
            problems.error(span, format!("`{key}` cannot stand beside `preset`"), Some(help.to_owned()));
        }
    }
}

fn check_patterns(rule: &Rule, problems: &mut Problems) {
    refuse_only_negated("class", rule.class.iter().map(|p| (p.get_ref().negated, p.span())), "\"**\"", problems);
    refuse_only_negated("method", rule.method.iter().map(|p| (p.get_ref().negated, p.span())), "\"*\"", problems);
    refuse_only_negated(
        "calls",
        rule.calls.iter().map(|p| (p.get_ref().negated, p.span())),
        "\"java.sql.**\"",
        problems,
    );
    for (key, patterns) in [("module", &rule.module), ("jar", &rule.jar), ("loader", &rule.loader)] {
        refuse_only_negated(key, patterns.iter().map(|p| (p.get_ref().negated, p.span())), "\"*\"", problems);
    }
    let flags: Vec<&FlagPattern> = rule.flags.iter().map(Spanned::get_ref).collect();
    if let Some((earlier, later)) = FlagPattern::contradiction(&flags)
        && let (Some(earlier), Some(later)) = (rule.flags.get(earlier), rule.flags.get(later))
    {
        let message = format!("no method is both `{}` and `{}`", earlier.get_ref().text(), later.get_ref().text());
        let help = "a method must have all of `flags`; for a choice write two rules".to_owned();
        problems.error(later.span(), message, Some(help));
    }
    doubt_class_patterns(&rule.class, problems);
    for pattern in &rule.exclude {
        doubt(pattern.get_ref().class.text(), pattern.span(), false, problems);
    }
    for name in rule.extends.iter().chain(&rule.annotated).chain(&rule.method_annotated) {
        doubt(name.get_ref().text(), name.span(), true, problems);
    }
}

/// A list with nothing but `!` patterns has no first word about what is taken.
fn refuse_only_negated(
    key: &str,
    mut patterns: impl Iterator<Item = (bool, Range<usize>)>,
    example: &str,
    problems: &mut Problems,
) {
    let Some((true, first)) = patterns.next() else { return };
    if patterns.all(|(negated, _)| negated) {
        let help = format!("say first what is taken, for example `{example}`, and then what is not");
        let noun = match key {
            "class" => "classes",
            "method" => "methods",
            "calls" => "calls",
            "module" => "modules",
            "jar" => "jars",
            _ => "loaders",
        };
        let message = format!("`{key}` only takes {noun} away, so the rule selects nothing");
        problems.error(first, message, Some(help));
    }
}

pub(super) fn doubt_class_patterns(patterns: &[Spanned<ClassPattern>], problems: &mut Problems) {
    for pattern in patterns {
        doubt(pattern.get_ref().glob.text(), pattern.span(), false, problems);
    }
}

fn doubt(name: &str, span: Range<usize>, is_type: bool, problems: &mut Problems) {
    if let Some((message, suggestion)) = name_doubt(name, is_type) {
        problems.warning(span, message, Some(suggestion));
    }
}

/// Warnings that need all rules: names given twice, rules that never get a method, no rule at all.
pub fn check_rules(rules: &[Rule], problems: &mut Problems) {
    if rules.is_empty() && problems.found.is_empty() {
        let help = "a first one: `[[rule]]` and, below it, `class = \"com.acme.**\"`".to_owned();
        let message = "there is no `[[rule]]`: methods have probes only if `[[context]]`, `instr probe` or `instr diagnose` asks for them";
        problems.note(0..0, message, Some(help));
    }
    let line_of = |rule: &Rule| rule.source.line_at(rule.span.start);
    let mut named: FxHashMap<&str, &Rule> = FxHashMap::default();
    for rule in rules {
        let Some(name) = &rule.name else { continue };
        if let Some(first) = named.get(name.get_ref().as_str()) {
            let message = format!("the rule in line {} has the name `{}` too", line_of(first), name.get_ref());
            problems.warning(name.span(), message, Some("give each rule a name of its own".to_owned()));
        } else {
            named.insert(name.get_ref(), rule);
        }
    }
    let Some(greedy) = rules.iter().position(takes_all) else { return };
    let line = rules.get(greedy).map_or(0, line_of);
    for rule in rules.iter().skip(greedy + 1).filter(|rule| !takes_special_kinds(rule)) {
        let message =
            format!("this rule never gets a method: the rule in line {line} takes every method of every class");
        problems.warning(rule.span.clone(), message, Some("put the more special rule first".to_owned()));
    }
}

/// True for a rule that takes every method of every class, except kinds that have to be asked for.
fn takes_all(rule: &Rule) -> bool {
    let all_classes = rule.class.iter().any(|pattern| pattern.get_ref().glob.is_everything())
        && rule.class.iter().all(|pattern| !pattern.get_ref().negated);
    let all_methods = rule.method.iter().all(|pattern| !pattern.get_ref().negated && pattern.get_ref().is_everything());
    let any_type = rule.extends.is_empty() && rule.annotated.is_empty() && rule.method_annotated.is_empty();
    let any_origin = rule.module.is_empty() && rule.jar.is_empty() && rule.loader.is_empty();
    let any_body = rule.flags.is_empty() && rule.size.is_none() && rule.calls.is_empty();
    all_classes && all_methods && any_type && any_origin && any_body && rule.preset.is_none()
}

/// True for a rule that asks for constructors, class initialisers or bridges, which other rules leave to it.
fn takes_special_kinds(rule: &Rule) -> bool {
    let kinds = [rule.constructors, rule.class_initialisers, rule.bridges];
    let named =
        |pattern: &Spanned<MethodPattern>| matches!(pattern.get_ref().literal_name(), Some(b"<clinit>" | b"<init>"));
    let bridge = |flag: &Spanned<FlagPattern>| flag.get_ref().asks_for_bridges();
    kinds.contains(&true) || rule.method.iter().any(named) || rule.flags.iter().any(bridge)
}
