//! Why a class is treated as it is: each rule's answer to the class and to each method.
//!
//! The answers come from the same functions as the decision, so an explanation cannot differ from what happens.

use std::cell::OnceCell;

use classfile::{ClassFile, Member};
use serde::{Deserialize, Serialize};

use super::answer_text::{class_answer, method_answer};
use super::asked_class::AskedClass;
use super::class_context::{ClassContext, Never};
use super::class_match::{ClassMatch, match_class};
use super::decision::{MethodDecision, SkipReason};
use super::delegate_marks::MarksOfClass;
use super::method_match::MethodMatch;
use super::rule::CompiledRule;
use super::rule_set::RuleSet;
use super::signature::signature;
use super::subject::Subject;
use crate::facts::MethodFacts;
use crate::internal_name::to_source;
use crate::level::{Level, Mode};
use crate::rules::capture::CapturedMethod;
use crate::weave::ahead;
use crate::weave::refusal::Refusal;
use crate::weave::wrapper::NotWrapped;

const NO_DELEGATE: &str = "no method that the rule is about hands it to somebody who calls it";

/// Everything the rules say about one class. `Display` shows it as text for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassExplanation {
    /// Name of the class in source form.
    pub class: String,
    /// Why no rule is asked at all.
    pub refused: Option<String>,
    /// The version of instr that instrumented it ahead of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instrumented_ahead: Option<String>,
    /// Each rule's answer to the class, in order.
    pub rules: Vec<RuleAnswer>,
    /// Types whose super types are unknown although a rule depends on them.
    pub unresolved: Vec<String>,
    /// Each method, in order.
    pub methods: Vec<MethodExplanation>,
}

/// What one rule says, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RuleAnswer {
    /// Name of the rule.
    pub rule: String,
    /// File and line of the rule.
    pub origin: String,
    /// Whether its conditions hold.
    pub matches: bool,
    /// The condition that decided.
    pub reason: String,
}

/// What happens to one method, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct MethodExplanation {
    /// Name.
    pub name: String,
    /// Descriptor.
    pub descriptor: String,
    /// Name and types as they would be written in a rule's `method`.
    pub signature: String,
    /// How it is instrumented; `None` if it is left alone.
    pub instrumented: Option<Instrumentation>,
    /// Why it is left alone.
    pub skipped: Option<SkipReason>,
    /// Why it is left alone although a rule takes it: it cannot have the wrapper that the rule asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Answers of the rules that match the class, up to the one that decided.
    pub rules: Vec<RuleAnswer>,
}

/// How a method is instrumented.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Instrumentation {
    /// Name of the rule that decided.
    pub rule: String,
    /// Names of the templates, outermost first.
    pub templates: Vec<String>,
    /// What the probe does.
    pub level: Level,
    /// How it is attached.
    pub mode: Mode,
    /// Names of the values of a call that are recorded with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub captured: Vec<String>,
    /// Which values are not, although the rule asks for them, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_captured: Vec<String>,
}

impl RuleSet {
    /// Says for each rule why it matches the class or not, and for each method which rule decided and why the ones
    /// before it did not.
    pub fn explain(&self, class: &ClassFile<'_>, context: &ClassContext<'_>) -> ClassExplanation {
        let known = OnceCell::new();
        let subject = Subject::File(class, context.facts, &known);
        let facts = AskedClass::new(subject, context, &self.wanted);
        let refused = self.refuse_class(facts.name());
        let answers: Vec<(&CompiledRule, ClassMatch)> =
            self.rules.iter().map(|rule| (rule, match_class(rule, &facts))).collect();
        let matching: Vec<usize> = match refused {
            Some(_) => Vec::new(),
            None => (0..).zip(&answers).filter(|(_, (_, m))| *m == ClassMatch::Matches).map(|(at, _)| at).collect(),
        };
        let delegates = self.delegates_of(&matching, subject, &ClassContext { reach: None, ..*context });
        let marks = MarksOfClass::new(subject, delegates.iter().chain(context.delegates));
        let matching = (0..).zip(&self.rules).filter(|(at, rule)| match rule.delegates {
            None => matching.contains(at),
            Some(_) => refused.is_none() && marks.rules().any(|marked| marked == *at),
        });
        let matching: Vec<(usize, &CompiledRule)> = matching.collect();
        let waits = answers.iter().any(|(_, answer)| *answer == ClassMatch::Unresolved);
        let unresolved = if waits { facts.supertypes().unresolved.as_slice() } else { &[] };
        let decision = self.decide_about(subject, context);
        let methods = class.methods().iter().zip(subject.methods()).zip(decision.methods);
        ClassExplanation {
            class: to_source(facts.name()),
            refused: refused.map(|reason| reason.to_string()),
            instrumented_ahead: ahead::version(class),
            rules: answers.iter().map(|(rule, answer)| class_answer(rule, *answer, &facts)).collect(),
            unresolved: unresolved.iter().map(|name| to_source(name)).collect(),
            methods: methods
                .map(|((method, facts), decision)| {
                    self.explain_method(&matching, (class, method), &facts, (decision, &marks), context.never)
                })
                .collect(),
        }
    }

    fn explain_method(
        &self,
        rules: &[(usize, &CompiledRule)],
        (class, method): (&ClassFile<'_>, &Member<'_>),
        facts: &MethodFacts<'_>,
        (decision, marks): (MethodDecision, &MarksOfClass<'_>),
        never: &Never<'_>,
    ) -> MethodExplanation {
        let mut answers = Vec::new();
        for (number, rule) in rules {
            let answer = self.answer((*number, rule), facts, marks, never);
            let mut answered = method_answer(rule, answer, facts);
            if rule.delegates.is_some() && matches!(answer, MethodMatch::Takes | MethodMatch::NotNamed) {
                let mark = marks.find(*number, facts);
                answered.reason = mark.map_or_else(|| NO_DELEGATE.to_owned(), ToString::to_string);
            }
            answers.push(answered);
            if matches!(answer, MethodMatch::Takes | MethodMatch::Skips(_)) {
                break;
            }
        }
        let (instrumented, skipped, refused) = match decision {
            MethodDecision::Skipped(reason) => (None, Some(reason), None),
            MethodDecision::Chosen(chosen) => match not_wrapped(chosen.mode, class, method) {
                None => (self.rules.get(chosen.rule).map(|rule| instrumentation(rule, class, method)), None, None),
                refused => (None, None, refused),
            },
        };
        MethodExplanation {
            name: method.name.to_string(),
            descriptor: method.descriptor.to_string(),
            signature: signature(method),
            instrumented,
            skipped,
            refused,
            rules: answers,
        }
    }
}

/// Why the engine will refuse a wrapper, in its own words.
fn not_wrapped(mode: Mode, class: &ClassFile<'_>, method: &Member<'_>) -> Option<String> {
    let reason = NotWrapped::of(class, method).filter(|_| mode == Mode::Wrapper)?;
    Some(Refusal::from(reason).to_string())
}

fn instrumentation(rule: &CompiledRule, class: &ClassFile<'_>, method: &Member<'_>) -> Instrumentation {
    let captured = rule.capture().map(|capture| CapturedMethod::of(class, method, capture));
    let (values, notes) = captured.map(|captured| (captured.values, captured.notes)).unwrap_or_default();
    Instrumentation {
        captured: values.into_iter().map(|(_, name)| name).collect(),
        not_captured: notes,
        rule: rule.name.clone(),
        templates: rule.template_names.clone(),
        level: rule.level,
        mode: rule.mode,
    }
}
