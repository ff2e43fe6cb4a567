//! Conditions on module, jar, loader, flags, size and called methods.

use std::cell::Cell;

use classfile::{ClassFile, HeadMemory, access};

use super::{Types, compile, context, decide, rules};
use crate::rules::selection::class_builder::{CALLS, ClassBuilder, LONG_LEAF, RETURNS};
use crate::rules::selection::{ClassContext, ClassOrigin, OriginAnswer};

/// A class of a web application, and how often something was asked about it.
#[derive(Default)]
struct WebApplication(Cell<usize>);

impl WebApplication {
    fn asked(&self) {
        self.0.set(self.0.get() + 1);
    }
}

impl ClassOrigin for WebApplication {
    fn module(&self) -> OriginAnswer<String> {
        self.asked();
        Ok("com.acme.shop".to_owned())
    }

    fn jar(&self) -> OriginAnswer<String> {
        self.asked();
        Ok("shop-1.2.jar".to_owned())
    }

    fn loader(&self) -> OriginAnswer<Vec<String>> {
        self.asked();
        Ok(vec!["shop".to_owned(), "org.apache.catalina.loader.WebappClassLoader".to_owned()])
    }
}

fn class(name: &str) -> ClassBuilder {
    ClassBuilder::new(name, "java/lang/Object")
}

/// Whether the rule takes the method of a class with this origin, and the reason that is given at the class.
fn asked(rule: &str, name: &str, origin: &dyn ClassOrigin) -> (bool, String) {
    let rules = rules(&format!("[[rule]]\nlevel = 'time'\n{rule}"));
    let bytes = class(name).method("run", "()V", RETURNS).build();
    let class = ClassFile::parse(&bytes).unwrap();
    let types = Types::default();
    let context = ClassContext { origin, ..context(&types) };
    let taken = rules.decide(&class, &context).chosen().count() == 1;
    let mut memory = HeadMemory::default();
    let look = rules.first_look(&bytes, &mut memory).unwrap();
    assert!(!taken || (rules.may_take(&look, &context) && rules.wants_name(name.as_bytes())), "{rule}");
    (taken, rules.explain(&class, &context).rules.remove(0).reason)
}

#[test]
fn module_jar_and_loader_of_a_class() {
    let origin = WebApplication::default();
    for (rule, taken, reason) in [
        ("module = 'com.acme.*'", true, "`com.acme.*` names its module `com.acme.shop`"),
        ("module = 'com.acme'", false, "no pattern of `module` matches `com.acme.shop`"),
        ("module = ['*', '!com.acme.*']", false, "`!com.acme.*` excludes its module `com.acme.shop`"),
        ("jar = 'shop-*.jar'", true, "`shop-*.jar` names its jar `shop-1.2.jar`"),
        ("jar = ['a.jar', 'b.jar']", false, "no pattern of `jar` matches `shop-1.2.jar`"),
        (
            "loader = 'shop'",
            true,
            "`shop` names its loader `shop` of class `org.apache.catalina.loader.WebappClassLoader`",
        ),
        (
            "loader = ['*', '!org.apache.*']",
            false,
            "`!org.apache.*` excludes its loader `shop` of class `org.apache.catalina.loader.WebappClassLoader`",
        ),
        (
            "loader = 'app'",
            false,
            "no pattern of `loader` matches `shop` of class `org.apache.catalina.loader.WebappClassLoader`",
        ),
        (
            "class = 'a.*'\nmodule = '*'\njar = 'shop*'",
            true,
            "`a.*` names the class, `*` names its module `com.acme.shop`, `shop*` names its jar `shop-1.2.jar`",
        ),
    ] {
        assert_eq!(asked(rule, "a/B", &origin), (taken, reason.to_owned()), "{rule}");
    }
}

#[test]
fn without_an_answer_the_condition_does_not_hold() {
    let unknown = crate::rules::selection::UnknownOrigin;
    for key in ["module", "jar", "loader"] {
        let (taken, reason) = asked(&format!("{key} = '*'"), "a/B", &unknown);
        assert_eq!((taken, reason), (false, format!("its {key} cannot match: its origin is unknown")));
    }
}

#[test]
fn the_jvm_is_asked_last_and_once() {
    let origin = WebApplication::default();
    let types = Types::new(&["a/Base: java/lang/Object"]);
    let context = ClassContext { origin: &origin, ..context(&types) };
    let rules = rules(
        "[[rule]]\nclass = 'b.*'\njar = '*'\n[[rule]]\nextends = 'a.Base'\njar = '*'\n[[rule]]\nclass = 'a.*'\nmethod = 'go'\njar = '*'",
    );
    let bytes = class("a/B").method("run", "()V", CALLS).build();
    rules.decide(&ClassFile::parse(&bytes).unwrap(), &context);
    assert_eq!(origin.0.get(), 0, "name, super types and names of methods are checked before");
    let rules = super::rules("[[rule]]\nclass = 'a.*'\njar = 'x.jar'\n[[rule]]\nclass = 'a.*'\njar = 'y.jar'");
    rules.decide(&ClassFile::parse(&bytes).unwrap(), &context);
    assert_eq!(origin.0.get(), 1, "one question for both rules");
}

#[test]
fn a_rule_without_class_takes_the_jdk_only_if_it_names_its_module() {
    struct Jdk;
    impl ClassOrigin for Jdk {
        fn module(&self) -> OriginAnswer<String> {
            Ok("java.sql".to_owned())
        }
        fn jar(&self) -> OriginAnswer<String> {
            Err("classes of the JDK are in no jar")
        }
        fn loader(&self) -> OriginAnswer<Vec<String>> {
            Ok(vec!["platform".to_owned()])
        }
    }
    let leaves_alone = "it names no classes, so it leaves those of the JDK alone";
    for (rule, taken, reason) in [
        ("module = 'java.sql'", true, "`java.sql` names its module `java.sql`"),
        (
            "module = 'java.*'\nloader = 'platform'",
            true,
            "`platform` names its loader `platform`, `java.*` names its module `java.sql`",
        ),
        ("module = '*'", false, leaves_alone),
        ("loader = 'platform'", false, leaves_alone),
        ("class = 'java.sql.**'\njar = '*.jar'", false, "its jar cannot match: classes of the JDK are in no jar"),
    ] {
        assert_eq!(asked(rule, "java/sql/DriverManager", &Jdk), (taken, reason.to_owned()), "{rule}");
    }
    assert!(rules("[[rule]]\nmodule = 'jdk.*'").may_match_jdk() && !rules("[[rule]]\nmodule = '*'").may_match_jdk());
}

#[test]
fn all_flags_must_agree() {
    let class = || {
        class("a/X")
            .member(access::PUBLIC, b"open", "()V", Some(CALLS), &[])
            .member(access::PUBLIC | access::STATIC, b"fixed", "()V", Some(CALLS), &[])
            .member(access::SYNCHRONIZED, b"locked", "()V", Some(CALLS), &[])
            .member(access::PUBLIC | access::BRIDGE | access::SYNTHETIC, b"bridge", "()V", Some(CALLS), &[])
            .build()
    };
    let taken = |flags: &str| -> Vec<String> {
        let rules = rules(&format!("[[rule]]\nclass = 'a.*'\nflags = {flags}"));
        let decided = decide(&rules, &class(), &Types::default()).into_iter();
        decided.filter_map(|line| line.strip_suffix(" 0").map(str::to_owned)).collect()
    };
    assert_eq!(taken("'public'"), ["open", "fixed"]);
    assert_eq!(taken("['public', '!static']"), ["open"]);
    assert_eq!(taken("['!public', '!private', '!protected']"), ["locked"]);
    assert_eq!(taken("'synchronized'"), ["locked"]);
    assert_eq!(taken("'bridge'"), ["bridge"], "asked for by its flag, a bridge is taken");
    assert_eq!(taken("'synthetic'"), Vec::<String>::new(), "a bridge that nobody asked for");
    for wrong in ["['public', 'private']", "['static', '!static']", "'native'", "'statik'", "[]"] {
        assert!(compile(&format!("[[rule]]\nclass = 'a.*'\nflags = {wrong}")).is_err(), "{wrong}");
    }
}

#[test]
fn size_takes_the_place_of_the_filter() {
    let class = class("a/X")
        .method("small", "()V", &[0xb8, 0, 1, 0xb1])
        .method("large", "()V", CALLS)
        .method("leaf", "()V", LONG_LEAF);
    let bytes = class.member(access::ABSTRACT, b"none", "()V", None, &[]).build();
    let decided = |size: &str| {
        let rules = rules(&format!("[[rule]]\nclass = 'a.*'\nsize = '{size}'"));
        decide(&rules, &bytes, &Types::default())
    };
    assert_eq!(decided("<=50"), ["small 0", "large no-rule", "leaf no-rule", "none abstract"]);
    assert_eq!(decided(">50"), ["small no-rule", "large 0", "leaf leaf", "none abstract"]);
    assert_eq!(decided("55-55"), ["small no-rule", "large 0", "leaf no-rule", "none abstract"]);
}

#[test]
fn calls_are_looked_for_in_the_constants_and_then_in_bodies() {
    let bytes = class("a/X")
        .calling("query", &["java/sql/Statement.executeQuery"])
        .calling("both", &["java/util/Date.getTime", "java/sql/Statement.close"])
        .calling("other", &["java/util/Date.getTime"])
        .method("none", "()V", LONG_LEAF)
        .build();
    let decided = |calls: &str| {
        let rules = rules(&format!("[[rule]]\nclass = 'a.*'\ncalls = {calls}"));
        decide(&rules, &bytes, &Types::default())
    };
    assert_eq!(decided("'java.sql.Statement.execute*'"), ["query 0", "both no-rule", "other no-rule", "none no-rule"]);
    assert_eq!(decided("'java.sql.**'"), ["query 0", "both 0", "other no-rule", "none no-rule"]);
    assert_eq!(decided("['java.**', '!java.util.**']"), ["query 0", "both 0", "other no-rule", "none no-rule"]);
    assert_eq!(decided("'java.net.**'"), ["query no-rule", "both no-rule", "other no-rule", "none no-rule"]);
}

#[test]
fn reasons_name_what_was_compared() {
    let class = class("a/X").calling("query", &["java/sql/Statement.executeQuery"]).member(
        access::STATIC,
        b"fixed",
        "()V",
        Some(CALLS),
        &[],
    );
    let bytes = class.build();
    let reasons = |rule: &str| -> Vec<String> {
        let rules = rules(&format!("[[rule]]\nclass = 'a.*'\n{rule}"));
        let types = Types::default();
        let explanation = rules.explain(&ClassFile::parse(&bytes).unwrap(), &context(&types));
        let of_methods = explanation.methods.into_iter().flat_map(|method| method.rules);
        of_methods.map(|answer| answer.reason).collect()
    };
    assert_eq!(
        reasons("calls = 'java.sql.**'\nflags = 'public'\nsize = '<=50'"),
        [
            "it is `public`, its 4 bytes of bytecode are `<=50`, it calls `java.sql.Statement.executeQuery`",
            "the method is not `public`"
        ]
    );
    assert_eq!(
        reasons("flags = '!static'\nsize = '>=200'"),
        ["its 4 bytes of bytecode are not `>=200`", "the method is `static`"]
    );
    assert_eq!(reasons("calls = 'java.sql.**'")[1], "the method calls no method that matches `java.sql.**`");
    let rules = rules("[[rule]]\nclass = 'a.*'\ncalls = ['java.net.**', '!java.net.URL.*']");
    let types = Types::default();
    let explanation = rules.explain(&ClassFile::parse(&bytes).unwrap(), &context(&types));
    assert_eq!(explanation.rules[0].reason, "the class calls no method that matches `java.net.**`");
}
