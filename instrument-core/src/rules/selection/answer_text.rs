//! Each rule's answer to a class or a method in words: the condition that decides, and what it was compared with.

use super::asked_class::AskedClass;
use super::class_match::ClassMatch;
use super::conditions::called_methods::first_match;
use super::conditions::origin::OriginKey;
use super::explain::RuleAnswer;
use super::method_match::MethodMatch;
use super::rule::CompiledRule;
use crate::facts::MethodFacts;
use crate::internal_name::to_source;
use crate::rules::nearest_name::quoted_list;
use crate::rules::patterns::call_pattern::CallPattern;
use crate::rules::patterns::flag_pattern::FlagPattern;
use crate::rules::patterns::method_pattern::MethodPattern;
use crate::rules::patterns::size_range::SizeRange;

pub(super) fn class_answer(rule: &CompiledRule, answer: ClassMatch, facts: &AskedClass<'_, '_>) -> RuleAnswer {
    let name = facts.name();
    let extended = || quoted(&rule.extends, |(name, _)| name.clone());
    let reason = match answer {
        ClassMatch::Matches => why_class_matches(rule, facts),
        ClassMatch::Jdk => "it names no classes, so it leaves those of the JDK alone".to_owned(),
        ClassMatch::OtherOrigin(key) => facts.origin().reason(key, key.patterns(rule)),
        ClassMatch::CallsNothing => format!("the class calls no method that matches {}", called(rule)),
        ClassMatch::NotNamed => "no pattern of `class` matches".to_owned(),
        ClassMatch::TakenAway => {
            let pattern = rule.class_taken_away(name).map(|pattern| pattern.glob.text()).unwrap_or_default();
            format!("`!{pattern}` takes the class away")
        }
        ClassMatch::NotAnnotated => format!("the class is not annotated with {}", annotations(&rule.annotated)),
        ClassMatch::DoesNotExtend => format!("the class does not extend or implement {}", extended()),
        ClassMatch::Unresolved => {
            let missing = quoted(&facts.supertypes().unresolved, |name| to_source(name));
            format!("unknown whether it extends or implements {}: cannot find {missing}", extended())
        }
    };
    answer_of(rule, answer == ClassMatch::Matches, reason)
}

fn why_class_matches(rule: &CompiledRule, facts: &AskedClass<'_, '_>) -> String {
    let mut reasons = Vec::new();
    if let Some(pattern) = rule.class.iter().find(|pattern| !pattern.negated && pattern.glob.matches(facts.name())) {
        reasons.push(format!("`{}` names the class", pattern.glob.text()));
    }
    if let Some((name, _)) = rule.extends.iter().find(|(_, number)| facts.supertypes().has(*number)) {
        reasons.push(format!("it extends or implements `{name}`"));
    }
    if !rule.annotated.is_empty() {
        reasons.push(format!("it is annotated with {}", annotations(&rule.annotated)));
    }
    for key in OriginKey::ALL.into_iter().filter(|key| !key.patterns(rule).is_empty()) {
        reasons.push(facts.origin().reason(key, key.patterns(rule)));
    }
    if let Some((class, method)) = facts.subject.first_called(&rule.calls) {
        reasons.push(format!("its constants name `{}.{}`", to_source(class), to_source(method)));
    }
    if reasons.is_empty() {
        reasons.push("it takes every class outside the JDK".to_owned());
    }
    reasons.join(", ")
}

pub(super) fn method_answer(rule: &CompiledRule, answer: MethodMatch, facts: &MethodFacts<'_>) -> RuleAnswer {
    let (name, descriptor) = (facts.name(), facts.descriptor());
    let pattern = |negated: bool| {
        let matching = |pattern: &&MethodPattern| pattern.negated == negated && pattern.matches(name, descriptor);
        rule.method.iter().find(matching).map(|pattern| pattern.text().to_owned())
    };
    let reason = match answer {
        MethodMatch::Takes => why_method_matches(rule, facts, pattern(false)),
        MethodMatch::OtherFlags => {
            let other = rule.flags.iter().find(|flag| !flag.matches(facts.access_flags()));
            other.map(FlagPattern::opposite).unwrap_or_default()
        }
        MethodMatch::OtherSize => {
            let (bytes, size) = (facts.size().unwrap_or_default(), rule.size.as_ref());
            format!("its {bytes} bytes of bytecode are not `{}`", size.map(SizeRange::text).unwrap_or_default())
        }
        MethodMatch::CallsNothing => format!("the method calls no method that matches {}", called(rule)),
        MethodMatch::NotNamed => "no pattern of `method` matches".to_owned(),
        MethodMatch::TakenAway => format!("`{}` takes the method away", pattern(true).unwrap_or_default()),
        MethodMatch::NotAnnotated => {
            format!("the method is not annotated with {}", annotations(&rule.method_annotated))
        }
        MethodMatch::NotThisKind(reason) | MethodMatch::Skips(reason) => reason.to_string(),
    };
    answer_of(rule, answer == MethodMatch::Takes, reason)
}

fn why_method_matches(rule: &CompiledRule, facts: &MethodFacts<'_>, pattern: Option<String>) -> String {
    let mut reasons = Vec::new();
    match pattern {
        Some(pattern) => reasons.push(format!("`{pattern}` names the method")),
        None if rule.method_annotated.is_empty() => {}
        None => reasons.push(format!("the method is annotated with {}", annotations(&rule.method_annotated))),
    }
    if !rule.flags.is_empty() {
        let flags: Vec<String> = rule.flags.iter().map(|flag| format!("`{}`", flag.text())).collect();
        reasons.push(format!("it is {}", flags.join(" ")));
    }
    if let (Some(size), Some(bytes)) = (&rule.size, facts.size()) {
        reasons.push(format!("its {} bytes of bytecode are `{}`", bytes, size.text()));
    }
    if let Some((class, method)) = first_match(facts.calls(), &rule.calls) {
        reasons.push(format!("it calls `{}.{}`", to_source(class), to_source(method)));
    }
    if reasons.is_empty() { "it takes every method".to_owned() } else { reasons.join(", ") }
}

/// The patterns of `calls`.
fn called(rule: &CompiledRule) -> String {
    let positive: Vec<&CallPattern> = rule.calls.iter().filter(|pattern| !pattern.negated).collect();
    quoted(&positive, |pattern| pattern.text().to_owned())
}

fn answer_of(rule: &CompiledRule, matches: bool, reason: String) -> RuleAnswer {
    RuleAnswer { rule: rule.name.clone(), origin: rule.origin.clone(), matches, reason }
}

fn annotations(names: &[Vec<u8>]) -> String {
    quoted(names, |name| format!("@{}", to_source(name)))
}

/// "`a`, `b` or `c`"
fn quoted<T>(items: &[T], shown: impl Fn(&T) -> String) -> String {
    let names: Vec<String> = items.iter().map(shown).collect();
    quoted_list(&names.iter().map(String::as_str).collect::<Vec<_>>(), "or")
}
