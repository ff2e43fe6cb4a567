//! Conditions on methods, kinds of methods, pre-filter.

use classfile::{ClassFile, access};

use super::{Types, decide, rules};
use crate::level::{Level, Mode};
use crate::rules::selection::class_builder::{CALLS, ClassBuilder, LONG_LEAF, RETURNS};
use crate::rules::selection::{ClassContext, MethodDecision, SkipReason};
use crate::weave::template::TemplateId;

fn class() -> ClassBuilder {
    ClassBuilder::new("a/X", "java/lang/Object")
}

fn decided(text: &str, class: ClassBuilder) -> Vec<String> {
    decide(&rules(text), &class.build(), &Types::default())
}

#[test]
fn the_first_rule_that_takes_a_method_decides() {
    let text = "[[rule]]\nmethod = ['do*', '!doNot']\nlevel = 'time'\n[[rule]]\nclass = 'a.*'\nmethod = '!x*'\n";
    let text = text.replace("'!x*'", "['*', '!x*']\nlevel = 'time'");
    let methods = class()
        .method("doGet", "()V", CALLS)
        .method("doNot", "()V", CALLS)
        .method("other", "()V", CALLS)
        .method("xor", "()V", CALLS);
    assert_eq!(decided(&text, methods), ["doGet 0", "doNot 1", "other 1", "xor no-rule"]);
}

#[test]
fn exclude_wins_over_later_rules() {
    let text = "
        [[rule]]
        method = 'do*'
        exclude = ['a.X#doNot()', 'b.**']
        [[rule]]
        exclude = '**#toString()'
        level = 'time'";
    let methods =
        || class().method("doNot", "()V", CALLS).method("doNot", "(I)V", CALLS).method("toString", "()V", CALLS);
    assert_eq!(decided(text, methods()), ["doNot excluded-by-rule", "doNot 0", "toString excluded-by-rule"]);
    let text = "[[rule]]\nmethod = 'do*'\nexclude = '**#toString'\n[[rule]]\nlevel = 'time'";
    assert_eq!(decided(text, methods()), ["doNot 0", "doNot 0", "toString 1"], "a rule excludes only what it takes");
}

#[test]
fn chosen_methods_carry_templates_level_and_mode() {
    let rules = rules("[[rule]]\ntemplate = ['logged', 'timed']\nlevel = 'full'\nmode = 'wrapper'\n");
    let bytes = class().method("f", "()V", CALLS).build();
    let decision = rules.decide(&ClassFile::parse(&bytes).unwrap(), &super::context(&Types::default()));
    let (index, chosen) = decision.chosen().next().unwrap();
    assert_eq!((index, chosen.rule, chosen.level, chosen.mode), (0, 0, Level::Full, Mode::Wrapper));
    assert_eq!(chosen.templates[..], [TemplateId(1), TemplateId(0)], "outermost first");
}

#[test]
fn without_template_and_level_a_rule_watches_with_the_catch_all() {
    let rules = rules("[[rule]]\nclass = 'a.*'");
    let rule = &rules.rules()[0];
    assert_eq!(
        (rule.name(), rule.origin(), rule.level(), rule.mode()),
        ("rule-1", "test.toml:1", Level::Watch, Mode::Inline)
    );
    assert_eq!(rule.template_names(), ["timed"]);
    assert_eq!(rule.templates(), [TemplateId(0)]);
}

#[test]
fn kinds_of_methods() {
    let methods = || {
        class()
            .member(access::ABSTRACT, b"abstracted", "()V", None, &[])
            .member(access::NATIVE, b"native", "()V", None, &[])
            .member(access::PUBLIC, b"empty", "()V", None, &[])
            .member(access::STATIC, b"<clinit>", "()V", Some(CALLS), &[])
            .method("<init>", "()V", CALLS)
            .member(access::PUBLIC | access::SYNTHETIC | access::BRIDGE, b"bridge", "()V", Some(CALLS), &[])
            .member(access::PRIVATE | access::STATIC, b"hidden", "()V", Some(CALLS), &[])
            .member(access::PRIVATE | access::SYNTHETIC, b"lambda$f$0", "()V", Some(CALLS), &[])
    };
    let expected = [
        "abstracted abstract",
        "native native",
        "empty no-code",
        "<clinit> class-initialiser",
        "<init> constructor",
        "bridge bridge",
        "hidden 0",
        "lambda$f$0 0",
    ];
    assert_eq!(decided("[[rule]]\nlevel = 'time'", methods()), expected);
    let text = "[[rule]]\nlevel = 'time'\nconstructors = true\nclass-initialisers = true\nbridges = true";
    let kinds = decided(text, methods());
    assert_eq!(kinds[3..6], ["<clinit> 0", "<init> 0", "bridge 0"]);
    let text = "[[rule]]\n[[rule]]\nmethod = '<*'\n".replace("'<*'", "['<init>', '<clinit>']");
    assert_eq!(
        decided(&text, methods())[3..5],
        ["<clinit> 1", "<init> 1"],
        "the next rule is asked; a name in full is enough"
    );
}

#[test]
fn method_annotations() {
    let methods =
        || class().annotated_method("f", "org/Timed").annotated_method("g", "org/Other").method("h", "()V", CALLS);
    let text = "[[rule]]\nmethod-annotated = ['org.Timed', 'x.Y']";
    assert_eq!(
        decided(text, methods()),
        ["f 0", "g no-rule", "h no-rule"],
        "and no pre-filter: asked for by annotation"
    );
    let text = "[[rule]]\nmethod-annotated = 'org.Timed'\nmethod = 'g*'\n[[rule]]\nmethod_annotated = 'org.Other'";
    assert_eq!(decided(text, methods()), ["f no-rule", "g 1", "h no-rule"]);
}

#[test]
fn small_methods_are_taken_by_rules_that_name_their_package() {
    let of = |class: &str| {
        ClassBuilder::new(class, "java/lang/Object").method("calls", "()V", CALLS).method("leaf", "()V", LONG_LEAF)
    };
    let spring = || of("org/springframework/X");
    let (spared, taken) = (["calls small-by-wildcard", "leaf leaf"], ["calls 0", "leaf leaf"]);
    assert_eq!(decided("[[rule]]", spring()), spared);
    assert_eq!(decided("[[rule]]\nclass = ['**', '!x.**']", spring()), spared);
    assert_eq!(decided("[[rule]]", of("org/acme/X")), spared, "whatever the package");
    for named in ["class = 'org.spring**'", "extends = 'java.lang.Object'", "method = 'c*'"] {
        assert_eq!(decided(&format!("[[rule]]\n{named}"), spring())[0], "calls 0", "{named}");
    }
    assert_eq!(decided("[filter]\nwildcard-max-bytes = 0\n[[rule]]", spring()), taken);
    assert_eq!(decided("[filter]\nmax-bytes = 0\n[[rule]]", spring()), taken, "even the smallest are wanted");
    assert_eq!(decided("[filter]\nmax-bytes = 0\nwildcard-max-bytes = 200\n[[rule]]", spring()), spared);
    assert_eq!(decided("[filter]\nwildcard-max-bytes = 51\n[[rule]]", spring()), taken, "larger than that");
    assert_eq!(decided("[[rule]]\nlevel = 'time'", spring()), ["calls 0", "leaf 0"]);
}

#[test]
fn the_filter_spares_what_is_too_small_to_watch() {
    let methods =
        || {
            class()
                .method("tiny", "()V", RETURNS)
                .method("leaf", "()V", LONG_LEAF)
                .method("calls", "()V", CALLS)
                .member(access::PUBLIC | access::SYNCHRONIZED, b"locked", "()V", Some(RETURNS), &[])
        };
    let filtered = ["tiny tiny", "leaf leaf", "calls 0", "locked 0"];
    let taken = ["tiny 0", "leaf 0", "calls 0", "locked 0"];
    assert_eq!(decided("[[rule]]\nclass = 'a.*'", methods()), filtered);
    assert_eq!(decided("[[rule]]\nmethod = ['*', '!x']\nlevel = 'off'", methods()), filtered);
    assert_eq!(decided("[[rule]]\nlevel = 'time'", methods()), taken);
    assert_eq!(decided("[[rule]]\nlevel = 'full'", methods()), taken);
    assert_eq!(decided("[filter]\nleaf = false\nmax-bytes = 0\n[[rule]]", methods()), taken);
    assert_eq!(decided("[filter]\nmax_bytes = 56\n[[rule]]", methods())[1..3], ["leaf leaf", "calls tiny"]);
    let named = decided("[[rule]]\nmethod = ['t*', 'leaf', 'tiny(..)', 'calls', 'lo*']", methods());
    assert_eq!(named, taken, "a method named in full is wanted for itself");
}

#[test]
fn fifty_bytes_is_the_last_tiny_body() {
    let body = |length: usize| [&vec![0; length - 4][..], &[0xb8, 0, 1, 0xb1]].concat();
    let methods = class().method("f", "()V", &body(50)).method("g", "()V", &body(51));
    assert_eq!(decided("[[rule]]\nclass = 'a.*'", methods), ["f tiny", "g 0"]);
}

#[test]
fn two_hundred_bytes_are_small_where_the_rule_names_no_package() {
    let body = |length: usize| [&vec![0; length - 4][..], &[0xb8, 0, 1, 0xb1]].concat();
    let methods = class().method("f", "()V", &body(200)).method("g", "()V", &body(201));
    assert_eq!(decided("[[rule]]", methods), ["f small-by-wildcard", "g 0"]);
}

#[test]
fn what_the_runtime_uses_is_left_alone() {
    let rules = rules("[[rule]]\nclass = '**'\nmethod = ['get', 'set']");
    let bytes = ClassBuilder::new("java/lang/ThreadLocal", "java/lang/Object")
        .method("get", "()V", CALLS)
        .method("set", "()V", CALLS)
        .method("other", "()V", CALLS)
        .build();
    let asked = std::cell::RefCell::new(Vec::new());
    let never = |class: &[u8], method: &[u8], descriptor: &[u8]| {
        asked.borrow_mut().push(method.to_vec());
        (class, method, descriptor) == (b"java/lang/ThreadLocal", b"get", b"()V")
    };
    let decision = rules.decide(
        &ClassFile::parse(&bytes).unwrap(),
        &ClassContext { never: &never, ..super::context(&Types::default()) },
    );
    assert_eq!(decision.methods[0], MethodDecision::Skipped(SkipReason::UsedByRuntime));
    assert!(matches!(decision.methods[1], MethodDecision::Chosen(_)));
    assert_eq!(asked.into_inner(), [b"get", b"set"], "only methods that a rule takes are looked up");
}

#[test]
fn keys_of_reasons_are_those_of_the_json() {
    for reason in SkipReason::ALL {
        assert_eq!(toml::Value::try_from(reason).unwrap().as_str(), Some(reason.key()));
        assert!(!reason.to_string().is_empty());
    }
}
