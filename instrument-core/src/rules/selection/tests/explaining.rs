//! Explanations say what decides, and nothing else.

use classfile::{ClassFile, access};

use super::{Types, context, rules};
use crate::rules::selection::class_builder::{CALLS, ClassBuilder, LONG_LEAF};
use crate::rules::selection::{ClassExplanation, MethodDecision};

const RULES: &str = "
[[rule]]
name = 'jdk-only'
class = 'java.**'
[[rule]]
name = 'handlers'
class = ['a.**', '!a.b.**']
extends = 'a.Servlet'
method = ['do*', '!doNot']
exclude = '**#doTrace'
template = ['logged', 'timed']
level = 'time'
[[rule]]
name = 'marked'
annotated = 'org.Service'
[[rule]]
name = 'rest'
[filter]
wildcard-max-bytes = 0
";

fn explain(class: ClassBuilder) -> ClassExplanation {
    let bytes = class.build();
    let class = ClassFile::parse(&bytes).unwrap();
    let types = Types::new(&["a/Base: java/lang/Object, a/Servlet", "a/Servlet: java/lang/Object"]);
    let rules = rules(RULES);
    let explanation = rules.explain(&class, &context(&types));
    for (decision, method) in rules.decide(&class, &context(&types)).methods.iter().zip(&explanation.methods) {
        match decision {
            MethodDecision::Chosen(chosen) => {
                let shown = method.instrumented.as_ref().unwrap();
                assert_eq!(shown.rule, rules.rules()[chosen.rule].name());
                assert!(method.rules.last().unwrap().matches, "the last answer shown is the one that decided");
            }
            MethodDecision::Skipped(reason) => {
                assert_eq!(method.skipped, Some(*reason));
                assert!(method.rules.iter().all(|answer| !answer.matches));
            }
        }
    }
    explanation
}

#[test]
fn text_for_people() {
    let class = ClassBuilder::new("a/Shop", "a/Base")
        .method("doGet", "(La/Request;[I)V", CALLS)
        .method("doNot", "()V", CALLS)
        .method("doTrace", "()V", CALLS)
        .method("leaf", "()I", LONG_LEAF)
        .member(access::ABSTRACT, b"later", "()[[Ljava/lang/String;", None, &[]);
    let expected = "\
class a.Shop
rules:
  no  jdk-only  no pattern of `class` matches (test.toml:2)
  yes handlers  `a.**` names the class, it extends or implements `a.Servlet` (test.toml:5)
  no  marked    the class is not annotated with `@org.Service` (test.toml:13)
  yes rest      it takes every class outside the JDK (test.toml:16)
methods:
  + doGet(a.Request, int[]) void: logged around timed at level time, inline (rule handlers)
      yes handlers: `do*` names the method
  + doNot() void: timed at level watch, inline (rule rest)
      no  handlers: `!doNot` takes the method away
      yes rest: it takes every method
  - doTrace() void: `exclude` of the rule names it
      no  handlers: `exclude` of the rule names it
  - leaf() int: pre-filter: it calls nothing, locks nothing and has no loop
      no  handlers: no pattern of `method` matches
      no  rest: pre-filter: it calls nothing, locks nothing and has no loop
  - later() java.lang.String[][]: it is abstract
      no  handlers: no pattern of `method` matches
      no  rest: it is abstract
";
    assert_eq!(explain(class).to_string(), expected);
}

#[test]
fn every_reason_at_class_level() {
    let reasons =
        |class: ClassBuilder| explain(class).rules.into_iter().map(|answer| answer.reason).collect::<Vec<_>>();
    assert_eq!(reasons(ClassBuilder::new("a/b/X", "a/Base"))[1], "`!a.b.**` takes the class away");
    assert_eq!(
        reasons(ClassBuilder::new("a/X", "java/lang/Object"))[1],
        "the class does not extend or implement `a.Servlet`"
    );
    let lost = explain(ClassBuilder::new("a/X", "q/Lost"));
    assert_eq!(lost.rules[1].reason, "unknown whether it extends or implements `a.Servlet`: cannot find `q.Lost`");
    assert_eq!(lost.unresolved, ["q.Lost"]);
    let jdk = reasons(ClassBuilder::new("java/util/X", "java/lang/Object").annotated("org/Service"));
    assert_eq!(jdk[0], "`java.**` names the class");
    assert_eq!(jdk[2], "it names no classes, so it leaves those of the JDK alone");
    let marked = reasons(ClassBuilder::new("x/X", "java/lang/Object").annotated("org/Service"));
    assert_eq!(marked[2], "it is annotated with `@org.Service`");
}

#[test]
fn a_class_of_the_runtime_is_refused_before_the_rules() {
    let explanation = explain(ClassBuilder::new("java/instr/Timer", "java/lang/Object").method("f", "()V", CALLS));
    assert_eq!(
        explanation.to_string(),
        "class java.instr.Timer\n  left alone: the class belongs to the agent's own runtime\n"
    );
}

#[test]
fn serialises_with_stable_names() {
    let class = ClassBuilder::new("a/Shop", "a/Base").method("doGet", "()V", CALLS).method("leaf", "()I", LONG_LEAF);
    let table = toml::Table::try_from(explain(class)).unwrap();
    let methods = table["methods"].as_array().unwrap();
    assert_eq!(methods[0]["instrumented"]["level"].as_str(), Some("time"));
    assert_eq!(methods[0]["instrumented"]["templates"][0].as_str(), Some("logged"));
    assert_eq!(methods[1]["skipped"].as_str(), Some("leaf"));
    assert_eq!(methods[1]["rules"][1]["reason"].as_str().map(|reason| reason.starts_with("pre-filter")), Some(true));
}
