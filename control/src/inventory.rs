//! Which classes and methods are instrumented, and why the others are not: in a running JVM, and by a configuration beforehand.

use std::collections::{BTreeMap, BTreeSet};

use instrument_core::selection::{ClassExplanation, Instrumentation, MethodExplanation, SkipReason};

use crate::message::messages;

messages! {
    /// A class: what is instrumented of it, or why nothing is.
    #[derive(Eq)]
    pub struct InventoryClass {
        /// Its name in source form.
        pub class: String,
        /// `instrumented` or `unchanged`.
        pub state: String,
        /// File name of its jar or directory, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub jar: Option<String>,
        /// Its methods; absent if no rule matches the class.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub methods: Option<usize>,
        /// Of these: methods that are instrumented.
        #[serde(default)]
        pub instrumented: usize,
        /// The rules (`rule NAME`) and the claims of persons (`claim NUMBER`) that want these.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub wanted_by: Vec<String>,
        /// Why the class is unchanged, for programs: `no-rule`, `no-method`, `waits`, `not-linked`, ... Words may be added.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub code: Option<String>,
        /// The same for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
        /// Methods that are not instrumented, by the code of the reason.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub left_alone: BTreeMap<String, usize>,
        /// The methods one by one, if that was asked for and a rule matches the class.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub listed: Vec<InventoryMethod>,
        /// How many loaders have a class of this name, if there are several; one of them is listed, an instrumented one if there is any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub loaders: Option<usize>,
    }

    /// Some of the classes, in a line of the answer.
    #[derive(Eq)]
    pub struct InventoryPart {
        /// Classes that follow those of the parts before, by name.
        pub part: Vec<InventoryClass>,
    }

    /// The last line of the answer.
    #[derive(Eq)]
    pub struct InventoryDone {
        /// True: this is the last line.
        pub done: bool,
        /// The generation of rules that is in force.
        pub generation: u32,
        /// Classes that are not in the answer, because it would have more lines than `most`.
        pub left_out: usize,
    }

    /// A method: how it is instrumented, or why it is not.
    #[derive(Eq)]
    pub struct InventoryMethod {
        /// Its name.
        pub name: String,
        /// Its descriptor (JVMS 4.3.3).
        pub descriptor: String,
        /// Name and types in source form.
        pub signature: String,
        /// `instrumented` or `unchanged`.
        pub state: String,
        /// The templates, outermost first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub templates: Vec<String>,
        /// The level that is wanted; people and the governor may have set another one (`methods`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub level: Option<String>,
        /// The present level, where it is another one: only in an answer to `explain`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub present_level: Option<String>,
        /// `inline` or `wrapper`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub mode: Option<String>,
        /// The rule (`rule NAME`) or the claim of a person (`claim NUMBER`) that decides.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub wanted_by: Option<String>,
        /// Why it is unchanged, for programs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub code: Option<String>,
        /// The same for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reason: Option<String>,
    }
}

/// A request for an inventory, as [`Request::Inventory`](crate::Request::Inventory) has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InventoryRequest {
    /// Only classes `package.Class` with `*` and `**`.
    pub classes: Option<String>,
    /// Whether the methods of the classes that a rule matches are listed.
    pub methods: bool,
    /// Whether classes of the JDK are listed that a rule may take.
    pub jdk: bool,
    /// Most classes and methods in the answer.
    pub most: Option<usize>,
}

/// Why a method or class is not instrumented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    /// For programs.
    pub code: String,
    /// For people.
    pub reason: String,
}

impl LeftAlone {
    /// A reason with its code.
    pub fn new(code: impl Into<String>, reason: impl Into<String>) -> LeftAlone {
        LeftAlone { code: code.into(), reason: reason.into() }
    }

    /// Why a class is not instrumented of which no rule wants anything.
    #[must_use]
    pub fn of_class(reason: SkipReason) -> LeftAlone {
        match reason {
            SkipReason::NoRule => LeftAlone::new(reason.key(), "no rule matches the class"),
            other => LeftAlone::from(other),
        }
    }
}

impl From<SkipReason> for LeftAlone {
    fn from(reason: SkipReason) -> LeftAlone {
        LeftAlone::new(reason.key(), reason.to_string())
    }
}

const INSTRUMENTED: &str = "instrumented";
const UNCHANGED: &str = "unchanged";
/// As the name of the rule of a method that a person's claim decides about, before the number.
const CLAIM: &str = "claim ";

impl InventoryClass {
    /// Returns what is known of a class without its file: that it is unchanged, and why.
    #[must_use]
    pub fn unchanged(class: String, jar: Option<String>, why: LeftAlone) -> InventoryClass {
        let LeftAlone { code, reason } = why;
        InventoryClass {
            class,
            state: UNCHANGED.to_owned(),
            jar,
            methods: None,
            instrumented: 0,
            wanted_by: Vec::new(),
            code: Some(code),
            reason: Some(reason),
            left_alone: BTreeMap::new(),
            listed: Vec::new(),
            loaders: None,
        }
    }

    /// Returns the entry of a class by what rules and claims want of it. `refused` has the methods that cannot have what is wanted, by their
    /// position; a method that a claim has chosen names it as its rule, `claim NUMBER`.
    #[must_use]
    pub fn of(
        explanation: &ClassExplanation,
        jar: Option<String>,
        refused: &BTreeMap<usize, LeftAlone>,
        with_methods: bool,
    ) -> InventoryClass {
        let class = explanation.class.clone();
        if let Some(reason) = &explanation.refused {
            let code = explanation.methods.first().and_then(|method| method.skipped).map_or("refused", |why| why.key());
            return InventoryClass::unchanged(class, jar, LeftAlone::new(code, reason.as_str()));
        }
        let verdicts: Vec<(&MethodExplanation, Verdict<'_>)> = explanation
            .methods
            .iter()
            .enumerate()
            .map(|(at, method)| (method, verdict(method, refused.get(&at))))
            .collect();
        let taken = verdicts.iter().filter_map(|(_, verdict)| verdict.as_ref().ok());
        let wanted_by: BTreeSet<String> = taken.clone().map(|taken| claimant(&taken.rule)).collect();
        let instrumented = taken.count();
        // What is refused was wanted, by a claim if no rule matches.
        let is_matched =
            instrumented > 0 || !refused.is_empty() || explanation.rules.iter().any(|answer| answer.matches);
        if !is_matched {
            return InventoryClass::unchanged(class, jar, unmatched(explanation));
        }
        let mut left_alone: BTreeMap<String, usize> = BTreeMap::new();
        for why in verdicts.iter().filter_map(|(_, verdict)| verdict.as_ref().err()) {
            *left_alone.entry(why.code.clone()).or_default() += 1;
        }
        let is_wanted = |at: &usize| explanation.methods.get(*at).is_some_and(|of| of.skipped.is_none());
        let obstacle = refused.iter().find(|(at, _)| is_wanted(at)).map(|(_, why)| why);
        let why = (instrumented == 0).then(|| obstacle.cloned().unwrap_or_else(|| no_method(&left_alone)));
        let mut listed: Vec<InventoryMethod> = if with_methods {
            verdicts.into_iter().map(|(of, verdict)| entry(of, verdict)).collect()
        } else {
            Vec::new()
        };
        listed.sort_by(|a, b| (&a.name, &a.descriptor).cmp(&(&b.name, &b.descriptor)));
        InventoryClass {
            class,
            state: if instrumented > 0 { INSTRUMENTED } else { UNCHANGED }.to_owned(),
            jar,
            methods: Some(explanation.methods.len()),
            instrumented,
            wanted_by: wanted_by.into_iter().collect(),
            code: why.as_ref().map(|why| why.code.clone()),
            reason: why.map(|why| why.reason),
            left_alone,
            listed,
            loaders: None,
        }
    }

    /// Returns the entry of a class whose file cannot be read: its probes are known all the same, by the rule or claim that wants them.
    #[must_use]
    pub fn without_file(
        class: String,
        jar: Option<String>,
        probed: usize,
        wanted_by: BTreeSet<String>,
    ) -> InventoryClass {
        let why = LeftAlone::new(
            "unreadable",
            "its class file cannot be read: it was generated, or its loader does not find it",
        );
        let entry = InventoryClass::unchanged(class, jar, why);
        if probed == 0 {
            return entry;
        }
        let wanted_by = wanted_by.into_iter().collect();
        let state = INSTRUMENTED.to_owned();
        InventoryClass { state, instrumented: probed, wanted_by, code: None, reason: None, ..entry }
    }

    /// Whether some method of it is instrumented.
    #[must_use]
    pub fn is_instrumented(&self) -> bool {
        self.instrumented > 0
    }
}

impl InventoryMethod {
    /// Whether it is instrumented.
    #[must_use]
    pub fn is_instrumented(&self) -> bool {
        self.state == INSTRUMENTED
    }
}

/// How a method is instrumented, or why it is not.
type Verdict<'e> = Result<&'e Instrumentation, LeftAlone>;

fn verdict<'e>(method: &'e MethodExplanation, refused: Option<&LeftAlone>) -> Verdict<'e> {
    match (&method.instrumented, refused) {
        (Some(_), Some(why)) => Err(why.clone()),
        (Some(taken), None) => Ok(taken),
        (None, why) => Err(match (method.skipped, &method.refused) {
            (Some(reason), _) => LeftAlone::from(reason),
            (None, Some(reason)) => why.cloned().unwrap_or_else(|| LeftAlone::new("not-wrapped", reason.as_str())),
            (None, None) => why.cloned().unwrap_or_else(|| LeftAlone::new("refused", "refused")),
        }),
    }
}

fn entry(method: &MethodExplanation, verdict: Verdict<'_>) -> InventoryMethod {
    let entry = InventoryMethod {
        name: method.name.clone(),
        descriptor: method.descriptor.clone(),
        signature: method.signature.clone(),
        state: if verdict.is_ok() { INSTRUMENTED } else { UNCHANGED }.to_owned(),
        templates: Vec::new(),
        level: None,
        present_level: None,
        mode: None,
        wanted_by: None,
        code: None,
        reason: None,
    };
    match verdict {
        Ok(taken) => InventoryMethod {
            templates: taken.templates.clone(),
            level: Some(taken.level.to_string()),
            mode: Some(taken.mode.to_string()),
            wanted_by: Some(claimant(&taken.rule)),
            ..entry
        },
        Err(LeftAlone { code, reason }) => InventoryMethod { code: Some(code), reason: Some(reason), ..entry },
    }
}

fn claimant(rule: &str) -> String {
    if rule.starts_with(CLAIM) { rule.to_owned() } else { format!("rule {rule}") }
}

/// Returns why no rule matches the class.
fn unmatched(explanation: &ClassExplanation) -> LeftAlone {
    if explanation.unresolved.is_empty() {
        return LeftAlone::of_class(SkipReason::NoRule);
    }
    let reason = format!("unknown whether a rule matches the class: cannot find {}", explanation.unresolved.join(", "));
    LeftAlone::new("unresolved", reason)
}

/// Returns why nothing of a class that a rule matches is instrumented.
fn no_method(left_alone: &BTreeMap<String, usize>) -> LeftAlone {
    let counts: Vec<String> = left_alone.iter().map(|(code, count)| format!("{count} {code}")).collect();
    let reason = match counts.as_slice() {
        [] => "a rule matches the class, which has no methods".to_owned(),
        counts => format!("a rule matches the class, but no method is taken: {}", counts.join(", ")),
    };
    LeftAlone::new("no-method", reason)
}

#[cfg(test)]
mod tests {
    use instrument_core::level::{Level, Mode};
    use instrument_core::selection::RuleAnswer;

    use super::*;

    fn method(name: &str, instrumented: Option<&str>, skipped: Option<SkipReason>) -> MethodExplanation {
        let taken = |rule: &str| Instrumentation {
            rule: rule.to_owned(),
            templates: vec!["timed".to_owned()],
            level: Level::Time,
            mode: Mode::Inline,
            captured: Vec::new(),
            not_captured: Vec::new(),
        };
        MethodExplanation {
            name: name.to_owned(),
            descriptor: "()V".to_owned(),
            signature: format!("{name}() void"),
            instrumented: instrumented.map(taken),
            skipped,
            refused: None,
            rules: Vec::new(),
        }
    }

    fn class(matches: bool, methods: Vec<MethodExplanation>) -> ClassExplanation {
        let (rule, origin, reason) = ("orders".to_owned(), "c.toml:1".to_owned(), String::new());
        ClassExplanation {
            class: "a.B".to_owned(),
            refused: None,
            instrumented_ahead: None,
            rules: vec![RuleAnswer { rule, origin, matches, reason }],
            unresolved: Vec::new(),
            methods,
        }
    }

    fn entry(class: &ClassExplanation, refused: &[(usize, &str)]) -> InventoryClass {
        let refused =
            refused.iter().map(|(at, code)| (*at, LeftAlone::new(*code, format!("because of {code}")))).collect();
        InventoryClass::of(class, None, &refused, true)
    }

    #[test]
    fn rules_and_claims_are_named_and_methods_are_sorted() {
        let methods = vec![
            method("z", Some("orders"), None),
            method("a", Some("claim 3"), None),
            method("m", None, Some(SkipReason::Leaf)),
        ];
        let entry = entry(&class(true, methods), &[]);
        assert_eq!(entry.wanted_by, ["claim 3", "rule orders"]);
        assert_eq!(entry.listed.iter().map(|method| method.name.as_str()).collect::<Vec<_>>(), ["a", "m", "z"]);
        assert_eq!((entry.instrumented, entry.methods, entry.code), (2, Some(3), None));
        assert_eq!(entry.left_alone, BTreeMap::from([("leaf".to_owned(), 1)]));
    }

    #[test]
    fn what_keeps_wanted_probes_out_is_the_reason_of_the_class() {
        let explanation =
            class(true, vec![method("a", None, Some(SkipReason::Leaf)), method("b", Some("orders"), None)]);
        let waits = entry(&explanation, &[(1, "waits")]);
        assert_eq!((waits.code.as_deref(), waits.reason.as_deref()), (Some("waits"), Some("because of waits")));
        assert_eq!((waits.listed[0].code.as_deref(), waits.listed[1].code.as_deref()), (Some("leaf"), Some("waits")));
        // A method that nobody wants keeps the reason of the rules.
        let explanation = class(true, vec![method("a", None, Some(SkipReason::Leaf))]);
        let leaf = entry(&explanation, &[(0, "waits")]);
        assert_eq!((leaf.code.as_deref(), leaf.listed[0].code.as_deref()), (Some("no-method"), Some("leaf")));
    }

    #[test]
    fn what_only_a_claim_names_and_cannot_take_has_its_reason() {
        let explanation = class(false, vec![method("a", None, None), method("b", None, Some(SkipReason::NoRule))]);
        let entry = entry(&explanation, &[(0, "bridge")]);
        assert_eq!((entry.code.as_deref(), entry.methods), (Some("bridge"), Some(2)));
        assert_eq!(
            (entry.listed[0].code.as_deref(), entry.listed[1].code.as_deref()),
            (Some("bridge"), Some("no-rule"))
        );
    }

    #[test]
    fn a_class_that_no_rule_matches_has_no_methods_listed() {
        let mut explanation = class(false, vec![method("a", None, Some(SkipReason::NoRule))]);
        let unmatched = entry(&explanation, &[]);
        assert_eq!((unmatched.code.as_deref(), unmatched.methods, unmatched.listed.len()), (Some("no-rule"), None, 0));
        explanation.unresolved.push("a.Gone".to_owned());
        assert_eq!(
            entry(&explanation, &[]).reason.unwrap(),
            "unknown whether a rule matches the class: cannot find a.Gone"
        );
    }
}
