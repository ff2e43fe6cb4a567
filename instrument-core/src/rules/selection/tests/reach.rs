//! Rules that take nothing are reported with the nearest reason.

use classfile::{ClassFile, HeadMemory, access};

use super::{Types, context, rules};
use crate::rules::selection::class_builder::{CALLS, ClassBuilder, LONG_LEAF};
use crate::rules::selection::{ClassContext, Figures, RuleReach};

/// The lines after these classes have been decided as the agent does it: the rest of a class is read only after the first look.
fn lines(text: &str, classes: &[ClassBuilder], figures: Figures) -> Vec<String> {
    let rules = rules(text);
    let reach = RuleReach::new(&rules);
    let types = Types::new(&["a/Base: java/lang/Object"]);
    let context = ClassContext { reach: Some(&reach), ..context(&types) };
    for class in classes {
        let bytes = class.clone().build();
        let mut memory = HeadMemory::default();
        if rules.may_take(&rules.first_look(&bytes, &mut memory).unwrap(), &context) {
            rules.decide(&ClassFile::parse(&bytes).unwrap(), &context);
        }
    }
    let lines = reach.lines(&rules, figures, &|name| (name == "a.X").then(|| "a.B".to_owned()));
    assert_eq!(lines.is_empty(), reach.is_complete(&rules));
    lines
}

/// The reason for one rule about two classes `a.B` and `a.C`.
fn reason(rule: &str) -> String {
    let class = |name: &str| {
        let class = ClassBuilder::new(name, "a/Base").calling("query", &["java/sql/Statement.execute"]);
        class.method("leaf", "()V", LONG_LEAF).member(access::ABSTRACT, b"later", "()V", None, &[])
    };
    let lines = lines(&format!("[[rule]]\n{rule}"), &[class("a/B"), class("a/C")], Figures::Exact);
    let line = lines.first().cloned().unwrap_or_default();
    line.strip_prefix("rule rule-1 (test.toml:1) takes no method: ").unwrap_or(&line).to_owned()
}

#[test]
fn the_reason_is_the_condition_that_was_reached_last() {
    for (rule, expected) in [
        ("class = 'b.*'", "no class matches `b.*`"),
        ("class = 'a.X'", "no class matches `a.X`; did you mean `a.B`?"),
        ("class = 'a.*'\nextends = 'x.Y'", "2 classes match `class`, none extends or implements `x.Y`"),
        ("extends = 'x.Y'", "2 classes were checked, none extends or implements `x.Y`"),
        ("class = 'a.B'\nannotated = 'x.Y'", "1 class matches `class`, none is annotated with `@x.Y`"),
        ("class = 'a.*'\njar = 'x.jar'", "2 classes match `class`, none is from a jar that `jar` matches"),
        (
            "class = 'a.*'\nextends = 'a.Base'\ncalls = 'x.**'",
            "2 classes match `class` and `extends`, none calls a method that `calls` matches",
        ),
        ("class = 'a.*'\nmethod = 'x'", "6 methods match `class`, none matches `method`"),
        (
            "class = 'a.*'\nmethod = 'query'\nflags = 'static'",
            "2 methods match `class` and `method`, none has all of `flags`",
        ),
        (
            "class = 'a.*'\nmethod = 'query'\nsize = '>=200'",
            "2 methods match `class` and `method`, none has a size of `>=200`",
        ),
        (
            "class = 'a.*'\nmethod = 'query'\nexclude = '**#query'",
            "2 methods match `class` and `method`, but `exclude` of the rule names them",
        ),
        ("class = 'a.*'\nmethod = 'later'", "2 methods match `class` and `method`, but they are abstract or native"),
        (
            "class = 'a.*'\nmethod = 'leaf*'",
            "2 methods match `class` and `method`, but `[filter]` leaves them out because they are small",
        ),
        ("class = ['a.*', '!a.*']", "no class matches `a.*`, apart from those that it excludes"),
        ("class = 'a.B'\n[exclude]\nclass = 'a.B'", "`[exclude]` names `a.B`"),
        (
            "class = 'a.B*'\n[exclude]\nclass = 'a.B'",
            "no class matches `a.B*`, apart from those that `[exclude]` names",
        ),
        ("class = 'a.*'\nmethod = 'query'", ""),
    ] {
        assert_eq!(reason(rule), expected, "{rule}");
    }
}

#[test]
fn a_rule_after_one_that_takes_everything_says_so() {
    let rules = "[[rule]]\nclass = 'a.B'\nmethod = 'run'\n[[rule]]\nname = 'late'\nclass = 'a.*'\nmethod = 'r*'\n";
    let class = ClassBuilder::new("a/B", "a/Base").method("run", "()V", CALLS);
    let lines = lines(rules, &[class], Figures::Omitted);
    let expected = "rule late (test.toml:4) takes no method: methods match `class` and `method`, but earlier rules decide about them";
    assert_eq!(lines, [expected]);
}

#[test]
fn a_rule_that_stays_the_same_keeps_its_figures() {
    let first = rules("[[rule]]\nclass = 'a.*'\n[[rule]]\nclass = 'b.*'");
    let reach = RuleReach::new(&first);
    let bytes = ClassBuilder::new("a/B", "java/lang/Object").method("run", "()V", CALLS).build();
    let types = Types::default();
    first.decide(&ClassFile::parse(&bytes).unwrap(), &ClassContext { reach: Some(&reach), ..context(&types) });
    let second = rules("[[rule]]\nclass = 'c.*'\n[[rule]]\nname = 'renamed'\nclass = 'a.*'");
    let lines = RuleReach::carried_over(&second, &first, &reach).lines(&second, Figures::Omitted, &|_| None);
    assert_eq!(lines, ["rule rule-1 (test.toml:1) takes no method: no class matches `c.*`"]);
    assert_eq!(
        (reach.why_idle(&first, 0), reach.why_idle(&first, 1).as_deref()),
        (None, Some("no class matches `b.*`"))
    );
    assert!(first.rule_wants_name(0, b"a/B") && !first.rule_wants_name(1, b"a/B"));
}
