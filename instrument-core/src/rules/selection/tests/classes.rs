//! Conditions on classes.

use classfile::ClassFile;

use super::{Types, context, decide, rules, takes};
use crate::rules::selection::class_builder::{CALLS, ClassBuilder, RETURNS};

fn plain(name: &str) -> ClassBuilder {
    ClassBuilder::new(name, "java/lang/Object")
}

#[test]
fn by_name_with_negation() {
    let rule = "class = ['com.acme.**', '!com.acme.generated.**']";
    assert!(takes(rule, plain("com/acme/Shop"), &Types::default()));
    assert!(!takes(rule, plain("com/acme/generated/Shop"), &Types::default()));
    assert!(!takes(rule, plain("org/acme/Shop"), &Types::default()));
}

#[test]
fn negation_hands_the_class_to_the_next_rule() {
    let rules =
        rules("[[rule]]\nclass = ['a.**', '!a.b.*']\nlevel = 'time'\n[[rule]]\nclass = 'a.b.*'\nlevel = 'time'");
    assert_eq!(decide(&rules, &plain("a/X").method("f", "()V", CALLS).build(), &Types::default()), ["f 0"]);
    assert_eq!(decide(&rules, &plain("a/b/X").method("f", "()V", CALLS).build(), &Types::default()), ["f 1"]);
}

#[test]
fn extends_reaches_any_depth_and_interfaces() {
    let types = Types::new(&[
        "a/Base: a/Root, a/Marker",
        "a/Root: java/lang/Object, a/Deep",
        "a/Deep: java/lang/Object, a/Deepest",
        "a/Deepest: java/lang/Object",
        "a/Marker: java/lang/Object",
    ]);
    for wanted in ["a.X", "a.Base", "a.Root", "a.Marker", "a.Deep", "a.Deepest", "java.lang.Object"] {
        assert!(takes(&format!("extends = '{wanted}'"), ClassBuilder::new("a/X", "a/Base"), &types), "{wanted}");
    }
    assert!(!takes("extends = 'a.Other'", ClassBuilder::new("a/X", "a/Base"), &types));
    assert!(takes("extends = ['a.Other', 'a.Deep']", ClassBuilder::new("a/X", "a/Base"), &types));
    assert!(takes("extends = 'a.Deepest'", plain("a/Y").interface("a/Deep"), &types));
}

#[test]
fn class_and_extends_must_both_hold() {
    let types = Types::new(&["a/I: java/lang/Object"]);
    let rule = "class = 'a.*'\nextends = 'a.I'";
    assert!(takes(rule, plain("a/X").interface("a/I"), &types));
    assert!(!takes(rule, plain("b/X").interface("a/I"), &types));
    assert!(!takes(rule, plain("a/X"), &types));
}

#[test]
fn cycles_and_diamonds_end() {
    let types = Types::new(&[
        "a/A: a/B",
        "a/B: a/A, a/I, a/J",
        "a/I: java/lang/Object, a/K",
        "a/J: java/lang/Object, a/K",
        "a/K: a/A",
    ]);
    assert!(takes("extends = 'a.K'", ClassBuilder::new("a/X", "a/A"), &types));
    assert!(!takes("extends = 'a.None'", ClassBuilder::new("a/X", "a/A"), &types));
    let own_parent = ClassBuilder::new("a/X", "a/X").build();
    let decision =
        rules("[[rule]]\nextends = 'a.None'").decide(&ClassFile::parse(&own_parent).unwrap(), &context(&types));
    assert_eq!(decision.unresolved, Vec::<Vec<u8>>::new(), "the class itself needs no looking up");
}

#[test]
fn a_hostile_number_of_supertypes_is_given_up() {
    let names: Vec<String> = (0..30_000).map(|n| format!("a/I{n}")).collect();
    let line = format!("a/Base: java/lang/Object, {}", names.join(", "));
    let lines: Vec<String> = names.iter().map(|name| format!("{name}: java/lang/Object")).chain([line]).collect();
    let types = Types::new(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(takes("extends = 'a.I1000'", ClassBuilder::new("a/X", "a/Base"), &types));
    let started = std::time::Instant::now();
    assert!(!takes("extends = 'a.I29999'", ClassBuilder::new("a/X", "a/Base"), &types));
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn unresolved_types_are_named_only_if_they_matter() {
    let rules = rules("[[rule]]\nextends = 'a.Wanted'\nlevel = 'time'\n[[rule]]\nclass = 'b.*'\nlevel = 'time'");
    let types = Types::new(&["a/Known: java/lang/Object", "a/Half: a/Lost, a/Wanted", "a/Wanted: java/lang/Object"]);
    let unresolved = |class: ClassBuilder| {
        let bytes = class.method("f", "()V", RETURNS).build();
        let decision = rules.decide(&ClassFile::parse(&bytes).unwrap(), &context(&types));
        let names: Vec<String> = decision.unresolved.iter().map(|name| String::from_utf8_lossy(name).into()).collect();
        (names.join(" "), decision.chosen().count())
    };
    assert_eq!(unresolved(ClassBuilder::new("a/X", "a/Known")), (String::new(), 0));
    assert_eq!(unresolved(ClassBuilder::new("a/X", "a/Lost").interface("a/AlsoLost")), ("a/Lost a/AlsoLost".into(), 0));
    assert_eq!(unresolved(ClassBuilder::new("a/X", "a/Half")), (String::new(), 1), "found although a part is missing");
    assert_eq!(unresolved(ClassBuilder::new("b/X", "a/Lost")), ("a/Lost".into(), 1), "a later rule takes it for now");
}

#[test]
fn the_hierarchy_is_asked_once_per_type_and_only_if_needed() {
    struct Counting(Types, std::cell::Cell<usize>);
    impl crate::rules::selection::Hierarchy for Counting {
        fn supertypes(&self, name: &[u8]) -> Option<std::sync::Arc<crate::rules::selection::Supertypes>> {
            self.1.set(self.1.get() + 1);
            self.0.supertypes(name)
        }
    }
    let types = Types::new(&["a/B: a/C, a/I", "a/C: java/lang/Object, a/I", "a/I: java/lang/Object"]);
    let counting = Counting(types, std::cell::Cell::new(0));
    let rules = rules(
        "[[rule]]\nclass = 'x.*'\nextends = 'a.I'\n[[rule]]\nclass = 'a.*'\nextends = 'z.Z'\n[[rule]]\nclass = 'a.*'\nextends = 'a.I'",
    );
    let class = |name: &str| ClassBuilder::new(name, "a/B").method("f", "()V", CALLS).build();
    rules.decide(&ClassFile::parse(&class("other/X")).unwrap(), &context(&counting));
    assert_eq!(counting.1.get(), 0, "no rule names the class, so nobody needs its super types");
    rules.decide(&ClassFile::parse(&class("a/X")).unwrap(), &context(&counting));
    assert_eq!(counting.1.get(), 3, "a/B, a/C and a/I once each, for two rules");
}

#[test]
fn the_super_types_of_a_class_that_is_loaded_are_walked_once() {
    use std::cell::{Cell, RefCell};
    use std::sync::Arc;

    use crate::rules::selection::{Hierarchy, Supertypes};
    #[derive(Default)]
    struct Loading(Types, RefCell<Option<Arc<Supertypes>>>, Cell<usize>);
    impl Hierarchy for Loading {
        fn supertypes(&self, name: &[u8]) -> Option<Arc<Supertypes>> {
            self.0.supertypes(name)
        }
        fn found_above(&self) -> Option<Arc<Supertypes>> {
            self.1.borrow().clone()
        }
        fn note_walk(&self, found: Option<Supertypes>) {
            self.2.set(self.2.get() + 1);
            *self.1.borrow_mut() = found.map(Arc::new);
        }
    }
    let taken_and_walks = |types: Types, super_class: &str| {
        let loading = Loading(types, RefCell::default(), Cell::default());
        let rules = rules("[[rule]]\nextends = ['a.One', 'a.Two']\nlevel = 'time'\n[[rule]]\nextends = 'a.Two'");
        let bytes = ClassBuilder::new("a/X", super_class).method("f", "()V", CALLS).build();
        let mut memory = classfile::HeadMemory::default();
        let look = rules.first_look(&bytes, &mut memory).unwrap();
        assert!(rules.may_take(&look, &context(&loading)));
        let decision = rules.decide(&ClassFile::parse(&bytes).unwrap(), &context(&loading));
        (decision.chosen().map(|(_, chosen)| chosen.rule).collect::<Vec<_>>(), loading.2.get())
    };
    let known = || Types::new(&["a/B: a/C, a/I", "a/C: a/Two", "a/Two: java/lang/Object", "a/I: java/lang/Object"]);
    assert_eq!(taken_and_walks(known(), "a/B"), (vec![0], 1), "the first look has found it");
    assert_eq!(taken_and_walks(Types::default(), "a/B"), (vec![], 2), "what was unknown is looked for again");
}

#[test]
fn the_first_look_says_no_to_what_has_nothing_that_rules_ask_for() {
    let types = Types::new(&["a/B: java/lang/Object", "a/Wanted: java/lang/Object", "a/C: a/Wanted"]);
    let looks_on = |text: &str, class: ClassBuilder| {
        let (rules, bytes) = (rules(text), class.method("f", "()V", RETURNS).build());
        let mut memory = classfile::HeadMemory::default();
        let look = rules.first_look(&bytes, &mut memory).unwrap();
        rules.may_take(&look, &context(&types))
    };
    let extends = "[[rule]]\nextends = 'a.Wanted'";
    assert!(!looks_on(extends, ClassBuilder::new("a/X", "a/B")));
    assert!(
        looks_on(extends, ClassBuilder::new("a/X", "a/C")) && looks_on(extends, ClassBuilder::new("a/X", "a/Lost"))
    );
    assert!(looks_on(extends, ClassBuilder::new("a/Wanted", "a/B")), "the type itself");
    assert!(!looks_on(extends, ClassBuilder::new("java/util/X", "a/C")), "of the JDK");
    let annotated = "[[rule]]\nannotated = 'a.Mark'\n[[rule]]\nmethod-annotated = 'a.Other'\nextends = 'a.Wanted'";
    assert!(!looks_on(annotated, plain("a/X")) && looks_on(annotated, plain("a/X").annotated("a/Mark")));
    assert!(!looks_on(annotated, ClassBuilder::new("a/X", "a/C")), "no method can carry the annotation");
}

#[test]
fn a_type_noted_as_unasked_is_not_walked_again() {
    use crate::rules::selection::Hierarchy;
    struct Noting(Types, std::cell::RefCell<Vec<Vec<u8>>>);
    impl crate::rules::selection::Hierarchy for Noting {
        fn supertypes(&self, name: &[u8]) -> Option<std::sync::Arc<crate::rules::selection::Supertypes>> {
            assert!(!self.is_unasked(name), "{} is walked again", String::from_utf8_lossy(name));
            self.0.supertypes(name)
        }
        fn is_unasked(&self, name: &[u8]) -> bool {
            self.1.borrow().iter().any(|noted| noted == name)
        }
        fn note_unasked(&self, name: &[u8]) {
            self.1.borrow_mut().push(name.to_vec());
        }
    }
    let types =
        Types::new(&["a/B: a/C, a/I", "a/C: java/lang/Object", "a/I: java/lang/Object", "a/W: java/lang/Object"]);
    let noting = Noting(types, std::cell::RefCell::default());
    let rules = rules("[[rule]]\nextends = 'a.W'\nlevel = 'time'");
    let chosen = |class: ClassBuilder| {
        let bytes = class.method("f", "()V", CALLS).build();
        rules.decide(&ClassFile::parse(&bytes).unwrap(), &context(&noting)).chosen().count()
    };
    assert_eq!(chosen(ClassBuilder::new("a/X", "a/Lost").interface("a/C")), 0);
    assert!(noting.1.borrow().is_empty(), "a part is unknown");
    assert_eq!(chosen(ClassBuilder::new("a/X", "a/B")), 0);
    assert!([&b"a/B"[..], b"a/C", b"a/I"].into_iter().all(|name| noting.is_unasked(name)));
    assert_eq!(chosen(ClassBuilder::new("a/Y", "a/B").interface("a/I")), 0);
    assert_eq!(chosen(ClassBuilder::new("a/Z", "a/B").interface("a/W")), 1);
    assert!(!noting.is_unasked(b"a/W"));
}

#[test]
fn class_annotations() {
    let marked = || plain("a/X").annotated("a/Other").annotated("org/Service");
    assert!(takes("annotated = 'org.Service'", marked(), &Types::default()));
    assert!(takes("annotated = ['x.Y', '@org.Service']", marked(), &Types::default()));
    assert!(!takes("annotated = 'org.Serv'", marked(), &Types::default()));
    assert!(!takes("annotated = 'org.Service'", plain("a/X"), &Types::default()));
}

#[test]
fn rules_without_class_leave_the_jdk_alone() {
    let types = Types::new(&["java/sql/Statement: java/lang/Object"]);
    let statement = |name: &str| plain(name).interface("java/sql/Statement");
    assert!(takes("extends = 'java.sql.Statement'", statement("org/h2/jdbc/JdbcStatement"), &types));
    assert!(!takes("extends = 'java.sql.Statement'", statement("com/sun/rowset/Thing"), &types));
    assert!(takes("class = '**'\nextends = 'java.sql.Statement'", statement("com/sun/rowset/Thing"), &types));
    assert!(!takes("method = '*'", plain("java/util/HashMap"), &types));
    assert!(takes("class = 'java.util.HashMap'", plain("java/util/HashMap"), &types));
    assert!(takes("method = '*'", plain("javax/servlet/http/HttpServlet"), &types));
}

#[test]
fn the_runtime_and_excluded_classes_are_never_taken() {
    let rules = rules("[exclude]\nclass = ['a.internal.**']\n[[rule]]\nclass = '**'\nlevel = 'time'");
    for (name, expected) in
        [("java/instr/Timer", "f runtime-class"), ("a/internal/X", "f excluded-globally"), ("a/X", "f 0")]
    {
        assert_eq!(decide(&rules, &plain(name).method("f", "()V", RETURNS).build(), &Types::default()), [expected]);
        assert_eq!(rules.wants_name(name.as_bytes()), expected == "f 0", "{name}");
    }
}

#[test]
fn names_that_are_no_text_are_compared_as_bytes() {
    let rules = rules("[[rule]]\nclass = 'a.*'\nlevel = 'time'");
    for name in [&b"a/\xC0\x80"[..], b"a/\xED\xA0\xBD", b"a/\xFF\xFE", "a/Caf\u{e9}".as_bytes()] {
        let class = ClassBuilder::of_bytes(name, "java/lang/Object").method("f", "()V", RETURNS).build();
        assert_eq!(decide(&rules, &class, &Types::default()), ["f 0"]);
    }
    assert!(!rules.wants_name(b"") && !rules.wants_name(b"\xFF") && !rules.wants_name(b"a"));
}

#[test]
fn wants_name_asks_each_rule() {
    let mine = rules("[[rule]]\nclass = ['a.**', '!a.b.**']\nexclude = 'a.c.**'\n[[rule]]\nclass = 'z.Z'");
    for (name, expected) in [("a/X", true), ("a/b/X", false), ("a/c/X", false), ("z/Z", true), ("z/Y", false)] {
        assert_eq!(mine.wants_name(name.as_bytes()), expected, "{name}");
    }
    assert!(!mine.needs_hierarchy() && !mine.may_match_jdk());
    let any = rules("[[rule]]\nextends = 'a.B'");
    assert!(any.wants_name(b"x/Y") && !any.wants_name(b"java/util/List"));
    assert!(any.needs_hierarchy() && !any.may_match_jdk());
    assert!(rules("[[rule]]\nclass = 'sun.nio.ch.*'").may_match_jdk());
    assert!(!rules("").wants_name(b"a/B"));
}

#[test]
fn classes_without_methods_or_super_class() {
    let rules = rules("[[rule]]\nextends = 'a.B'\nclass = '**'");
    assert!(decide(&rules, &ClassBuilder::new("java/lang/Object", "").build(), &Types::default()).is_empty());
}
