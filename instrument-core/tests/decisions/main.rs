//! Decision cases: which methods of real classes a rule takes, and why it leaves the others alone. The classes are made by the compilers of Java,
//! Kotlin, Scala and Groovy (`build.sh`); their sources are in `src`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod annotations;
mod bodies;
mod call_sites;
mod delegates;
mod hierarchies;
mod kotlin;
mod origins;
mod other_languages;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use classfile::ClassFile;
use instrument_core::config::RuleFile;
use instrument_core::level::Level;
use instrument_core::selection::{
    ClassContext, ClassExplanation, ClassOrigin, DelegateMark, Hierarchy, NoFactsYet, RuleSet, Supertypes,
    TemplateCatalog, UnknownOrigin,
};
use instrument_core::template::TemplateId;

/// One decision.
pub(crate) struct Case {
    /// What is decided.
    pub(crate) name: &'static str,
    /// Internal name of the class.
    pub(crate) class: &'static str,
    /// Keys of one rule at level `time`, or a text that begins with `[[rule]]` or `[filter]`.
    pub(crate) rules: &'static str,
    /// The methods that are taken, in the order of the class; overloaded ones with their parameters.
    pub(crate) taken: &'static [&'static str],
    /// Parts of reasons: of the first rule's answer to the `class`, or of the decision about a method.
    pub(crate) because: &'static [(&'static str, &'static str)],
    /// Where the class is from.
    pub(crate) origin: &'static (dyn ClassOrigin + Sync),
}

/// A case in which the origin does not matter.
pub(crate) const fn case(
    name: &'static str,
    class: &'static str,
    rules: &'static str,
    taken: &'static [&'static str],
    because: &'static [(&'static str, &'static str)],
) -> Case {
    Case { name, class, rules, taken, because, origin: &UnknownOrigin }
}

#[test]
fn every_case_is_decided_as_expected_with_its_reason() {
    let groups = [
        hierarchies::CASES,
        annotations::CASES,
        bodies::CASES,
        delegates::CASES,
        origins::CASES,
        kotlin::CASES,
        other_languages::CASES,
    ];
    let cases: Vec<&Case> = groups.into_iter().flatten().collect();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name).collect();
    assert!(names.len() == cases.len() && cases.len() >= 60, "{} cases, {} names", cases.len(), names.len());
    let wrong: Vec<String> = cases.iter().filter_map(|case| judge(case)).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// The delegates of the classes of the package `tasks`.
fn marks(rules: &RuleSet) -> Vec<DelegateMark> {
    if !rules.takes_delegates() {
        return Vec::new();
    }
    let files = std::fs::read_dir(classes().join("tasks")).unwrap();
    let of_file = |bytes: Vec<u8>| {
        let class = ClassFile::parse(&bytes).unwrap();
        let (origin, facts, never) = (&UnknownOrigin, &NoFactsYet, &|_: &[u8], _: &[u8], _: &[u8]| false);
        let context = ClassContext { hierarchy: types(), origin, facts, never, delegates: &[], reach: None };
        rules.decide(&class, &context).delegates
    };
    files.flat_map(|file| of_file(std::fs::read(file.unwrap().path()).unwrap())).collect()
}

/// What is not as expected.
fn judge(case: &Case) -> Option<String> {
    let bytes = std::fs::read(classes().join(format!("{}.class", case.class))).unwrap();
    let class = ClassFile::parse(&bytes).unwrap();
    let is_file = case.rules.starts_with('[');
    let text = if is_file { case.rules.to_owned() } else { format!("[[rule]]\nlevel = 'time'\n{}", case.rules) };
    let (file, _) =
        RuleFile::parse(&text, "case.toml").unwrap_or_else(|problems| panic!("{}: {}", case.name, problems[0]));
    let rules = RuleSet::compile(file.tables(), &Catalog, &[])
        .unwrap_or_else(|problems| panic!("{}: {}", case.name, problems[0]));
    let delegates = marks(&rules);
    let context = ClassContext {
        hierarchy: types(),
        origin: case.origin,
        facts: &NoFactsYet,
        never: &|_, _, _| false,
        delegates: &delegates,
        reach: None,
    };
    let explanation = rules.explain(&class, &context);
    let taken: Vec<String> =
        decisions(&explanation).into_iter().filter(|(_, why)| why.starts_with("taken")).map(|(m, _)| m).collect();
    let reasons: Vec<String> = case.because.iter().filter_map(|because| missing(&explanation, *because)).collect();
    let right = taken == case.taken && reasons.is_empty();
    (!right)
        .then(|| format!("- {}: takes {taken:?} instead of {:?}\n  {}", case.name, case.taken, reasons.join("\n  ")))
}

/// Each method with `taken` or the reason.
fn decisions(explanation: &ClassExplanation) -> Vec<(String, String)> {
    let methods = &explanation.methods;
    let label = |name: &str, signature: &str| {
        let overloaded = methods.iter().filter(|method| method.name == name).count() > 1;
        let end = signature.rfind(')').map_or(signature.len(), |end| end + 1);
        if overloaded { signature[..end].to_owned() } else { name.to_owned() }
    };
    let decision = |method: &instrument_core::selection::MethodExplanation| {
        let mut answers = method.rules.iter().map(|answer| answer.reason.clone());
        if method.instrumented.is_some() {
            return format!("taken: {}", answers.next_back().unwrap_or_default());
        }
        let skipped = method.skipped.map(|reason| reason.to_string()).unwrap_or_default();
        answers.chain([skipped]).collect::<Vec<_>>().join("; ")
    };
    methods.iter().map(|method| (label(&method.name, &method.signature), decision(method))).collect()
}

fn missing(explanation: &ClassExplanation, (subject, part): (&str, &str)) -> Option<String> {
    let reason = match subject {
        "class" => explanation.rules.first()?.reason.clone(),
        method => decisions(explanation).into_iter().find(|(name, _)| name == method).map(|(_, why)| why)?,
    };
    (!reason.contains(part)).then(|| format!("{subject}: {reason:?} does not say {part:?}"))
}

struct Catalog;

impl TemplateCatalog for Catalog {
    fn find(&self, name: &str, _: Level) -> Option<TemplateId> {
        (name == "timed").then_some(TemplateId(0))
    }

    fn names(&self) -> Vec<String> {
        vec!["timed".to_owned()]
    }

    fn of_category(&self, _: &str) -> Option<String> {
        None
    }

    fn categories(&self) -> Vec<String> {
        Vec::new()
    }
}

fn classes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/decisions/classes")
}

/// Types of the JDK and of the languages' libraries: name, super class, interfaces.
const LIBRARY: &[(&str, &[&str])] = &[
    ("java/util/ArrayList", &["java/util/AbstractList", "java/util/List"]),
    ("java/util/AbstractList", &["java/util/AbstractCollection", "java/util/List"]),
    ("java/util/AbstractCollection", &["java/lang/Object", "java/util/Collection"]),
    ("java/util/List", &["java/lang/Object", "java/util/Collection"]),
    ("java/util/Collection", &["java/lang/Object", "java/lang/Iterable"]),
    ("java/lang/Iterable", &["java/lang/Object"]),
    ("java/lang/Enum", &["java/lang/Object", "java/lang/Comparable"]),
    ("java/lang/Comparable", &["java/lang/Object"]),
    ("java/lang/Record", &["java/lang/Object"]),
    ("java/lang/Runnable", &["java/lang/Object"]),
    ("java/io/Serializable", &["java/lang/Object"]),
    ("kotlin/Lazy", &["java/lang/Object"]),
    ("kotlin/coroutines/jvm/internal/ContinuationImpl", &["kotlin/coroutines/jvm/internal/BaseContinuationImpl"]),
    ("kotlin/coroutines/jvm/internal/BaseContinuationImpl", &["java/lang/Object", "kotlin/coroutines/Continuation"]),
    ("kotlin/coroutines/Continuation", &["java/lang/Object"]),
    ("scala/Product", &["java/lang/Object", "scala/Equals"]),
    ("scala/Equals", &["java/lang/Object"]),
    ("groovy/lang/GroovyObject", &["java/lang/Object"]),
    ("groovy/lang/Closure", &["groovy/lang/GroovyObjectSupport", "java/lang/Runnable"]),
    ("groovy/lang/GroovyObjectSupport", &["java/lang/Object", "groovy/lang/GroovyObject"]),
    ("org/codehaus/groovy/runtime/GeneratedClosure", &["java/lang/Object"]),
];

struct Types(HashMap<Vec<u8>, Arc<Supertypes>>);

impl Hierarchy for Types {
    fn supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        self.0.get(internal_name).cloned()
    }
}

/// The compiled classes and those of the library.
fn types() -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(|| {
        let mut types = HashMap::new();
        for (name, above) in LIBRARY {
            let above = above.iter().map(|name| name.as_bytes());
            types.insert(name.as_bytes().to_vec(), Arc::new(Supertypes::named(above)));
        }
        for folder in std::fs::read_dir(classes()).unwrap() {
            for file in std::fs::read_dir(folder.unwrap().path()).unwrap() {
                let bytes = std::fs::read(file.unwrap().path()).unwrap();
                let class = ClassFile::parse(&bytes).unwrap();
                types.insert(class.this_class().as_bytes().to_vec(), Arc::new(Supertypes::of(&class)));
            }
        }
        Types(types)
    })
}
