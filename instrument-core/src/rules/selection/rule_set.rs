//! Decides class by class. Everything here runs once for each class that the application loads, so: names first, then
//! what needs the class, then what needs the hierarchy, and no text before somebody asks for it.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::hash::BuildHasher;

use classfile::ClassFile;
use rustc_hash::FxBuildHasher;

use super::asked_class::AskedClass;
use super::class_context::{ClassContext, Never};
use super::class_match::{ClassMatch, match_class};
use super::decision::{Chosen, ClassDecision, MethodDecision, SkipReason};
use super::delegate_marks::{DelegateMark, MarksOfClass, is_site, match_marked};
use super::first_look::AskedAnnotations;
use super::hierarchy::WantedTypes;
use super::jdk_packages::is_jdk_class;
use super::method_match::{MethodMatch, match_method, names_some_method};
use super::name_index::NameIndex;
use super::rule::CompiledRule;
use super::rule_reach::Stage;
use super::subject::Subject;
use crate::facts::{ClassFacts, MethodFacts};
use crate::level::Mode;
use crate::rules::config::FilterConfig;
use crate::rules::patterns::name_glob::NameGlob;

/// All rules of a configuration, in order: the first that takes a method decides.
#[derive(Debug)]
pub struct RuleSet {
    pub(super) rules: Vec<CompiledRule>,
    pub(super) index: NameIndex,
    /// Rules without class patterns, in order.
    pub(super) unnamed: Vec<usize>,
    /// Those of them that name modules of the JDK.
    pub(super) unnamed_of_jdk: Vec<usize>,
    pub(super) exclude: Vec<NameGlob>,
    pub(super) filter: FilterConfig,
    pub(super) wanted: WantedTypes,
    pub(super) annotations: AskedAnnotations,
    pub(super) may_match_jdk: bool,
}

/// What rules want of classes, as far as the name of a class says.
#[derive(Debug)]
pub struct RuleDigests<'r> {
    rules: &'r RuleSet,
    filter: u64,
    of_rules: Vec<u64>,
}

impl RuleDigests<'_> {
    /// Returns the digest of what may be wanted of a class of this name: that of the rules that may take it, in their order. `None` if no rule
    /// takes it.
    pub fn of(&self, internal_name: &[u8]) -> Option<u64> {
        if !self.rules.wants_name(internal_name) {
            return None;
        }
        let candidates = self.rules.candidates(internal_name);
        let digests: Vec<u64> = candidates.iter().filter_map(|at| self.of_rules.get(*at).copied()).collect();
        Some(FxBuildHasher.hash_one((digests, self.filter)))
    }
}

impl RuleSet {
    /// The rules in order; [`Chosen::rule`] is an index into them.
    pub fn rules(&self) -> &[CompiledRule] {
        &self.rules
    }

    /// False if no rule can ever take a method of a class of this name. Cheap, so ask it before parsing the class.
    pub fn wants_name(&self, internal_name: &[u8]) -> bool {
        let wanted = |at: &usize| self.rules.get(*at).is_some_and(|rule| wants_class(rule, internal_name));
        (self.unnamed_for(internal_name).iter().any(wanted) || self.index.rules(internal_name).any(|at| wanted(&at)))
            && self.refuse_class(internal_name).is_none()
    }

    /// Returns why no rule takes a method of a class of this name, whatever else the class is; `None` if a rule may.
    pub fn unwanted(&self, internal_name: &[u8]) -> Option<SkipReason> {
        if self.wants_name(internal_name) {
            return None;
        }
        let excludes =
            |rule: &CompiledRule| rule.class_taken_away(internal_name).is_none() && rule.excludes_class(internal_name);
        let is_excluded =
            || self.candidates(internal_name).into_iter().filter_map(|at| self.rules.get(at)).any(excludes);
        let reason = || if is_excluded() { SkipReason::ExcludedByRule } else { SkipReason::NoRule };
        Some(self.refuse_class(internal_name).unwrap_or_else(reason))
    }

    /// Whether this rule may take a method of a class of this name.
    pub fn rule_wants_name(&self, rule: usize, internal_name: &[u8]) -> bool {
        self.refuse_class(internal_name).is_none()
            && self.candidates(internal_name).contains(&rule)
            && self.rules.get(rule).is_some_and(|rule| wants_class(rule, internal_name))
    }

    /// Whether `[exclude]` names classes.
    pub(super) fn excludes_classes(&self) -> bool {
        !self.exclude.is_empty()
    }

    /// Rules without class patterns that may take a class of this name.
    pub(super) fn unnamed_for(&self, internal_name: &[u8]) -> &[usize] {
        let leaves_alone = !self.unnamed.is_empty() && is_jdk_class(internal_name);
        if leaves_alone { &self.unnamed_of_jdk } else { &self.unnamed }
    }

    /// Returns digests of what the rules want of classes, to be compared with those of other rules.
    pub fn digests(&self) -> RuleDigests<'_> {
        let filter = FxBuildHasher.hash_one(format!("{:?}", self.filter));
        RuleDigests { rules: self, filter, of_rules: self.rules.iter().map(CompiledRule::digest).collect() }
    }

    /// Returns the rules that have another name than in these rules before, by their former names: rules that take the same methods and do the same.
    pub fn renamed_since(&self, before: &RuleSet) -> BTreeMap<String, String> {
        let now: Vec<(u64, &str)> = self.rules.iter().map(|rule| (rule.digest(), rule.name())).collect();
        let name_now = |rule: &CompiledRule| {
            let same = || now.iter().filter(|(digest, _)| *digest == rule.digest());
            // Of several equal rules one may have kept its name.
            let kept = same().any(|(_, name)| *name == rule.name());
            let renamed = same().next().filter(|_| !kept)?;
            Some((rule.name().to_owned(), renamed.1.to_owned()))
        };
        before.rules.iter().filter_map(name_now).collect()
    }

    /// Whether these rules decide the same about every class as others do.
    pub fn decides_like(&self, other: &RuleSet) -> bool {
        let all = |rules: &RuleSet| {
            let digests: Vec<u64> = rules.rules.iter().map(CompiledRule::digest).collect();
            let exclude: Vec<String> = rules.exclude.iter().map(|glob| glob.text().to_owned()).collect();
            (digests, exclude, format!("{:?}", rules.filter))
        };
        all(self) == all(other)
    }

    /// Returns a digest of what a decision of these rules does to a class, to be compared with decisions of other rules about the same
    /// class. `None` if the decision is not final, because super types are unknown.
    pub fn effect(&self, decision: &ClassDecision) -> Option<u64> {
        if !decision.unresolved.is_empty() {
            return None;
        }
        let effect = |chosen: &Chosen| self.rules.get(chosen.rule).map(CompiledRule::effect);
        let effects: Vec<(usize, Option<u64>)> =
            decision.chosen().map(|(method, chosen)| (method, effect(chosen))).collect();
        Some(FxBuildHasher.hash_one(effects))
    }

    /// What the name of a class must begin with if a rule is to take a method of it; `None` if it may be any name.
    pub fn beginnings(&self) -> Option<impl Iterator<Item = &[u8]>> {
        (self.unnamed.is_empty() && !self.takes_delegates()).then(|| self.index.beginnings())
    }

    /// True if some rule asks for super types.
    pub fn needs_hierarchy(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Internal names of the super types that rules ask for.
    pub fn asked_types(&self) -> impl Iterator<Item = &[u8]> {
        self.wanted.names()
    }

    /// True if some rule that asks for super types takes methods in a way that is only possible while a class is loaded.
    pub fn needs_hierarchy_at_load(&self) -> bool {
        self.rules.iter().any(|rule| !rule.extends.is_empty() && rule.mode == Mode::Wrapper)
    }

    /// True if some rule names classes that may belong to the JDK.
    pub fn may_match_jdk(&self) -> bool {
        self.may_match_jdk
    }

    /// Decides for each method of a class.
    pub fn decide(&self, class: &ClassFile<'_>, context: &ClassContext<'_>) -> ClassDecision {
        let facts = OnceCell::new();
        self.decide_about(Subject::File(class, context.facts, &facts), context)
    }

    /// Decides for each method of a class that was analysed before.
    pub fn decide_known(&self, class: &ClassFacts, context: &ClassContext<'_>) -> ClassDecision {
        self.decide_about(Subject::Known(class), context)
    }

    pub(super) fn decide_about(&self, class: Subject<'_, '_>, context: &ClassContext<'_>) -> ClassDecision {
        let name = class.name();
        let all = |reason| vec![MethodDecision::Skipped(reason); class.method_count()];
        if let Some(reason) = self.refuse_class(name) {
            return ClassDecision { methods: all(reason), ..ClassDecision::default() };
        }
        let facts = AskedClass::new(class, context, &self.wanted);
        let mut unresolved = false;
        let mut matching = self.candidates(name);
        matching.retain(|at| {
            let Some(rule) = self.rules.get(*at) else { return false };
            // A class without a method that the rule names is not worth a look at its super types and its origin.
            let asks = !rule.extends.is_empty() || rule.asks_for_origin();
            if asks && !names_some_method(rule, class) {
                context.reach.inspect(|reach| reach.note(*at, Stage::NoSuchMethod));
                return false;
            }
            let matched = match_class(rule, &facts);
            if let (Some(reach), Some(stage)) = (context.reach, Stage::of_class(matched)) {
                reach.note(*at, stage);
            }
            unresolved |= matched == ClassMatch::Unresolved;
            matched == ClassMatch::Matches
        });
        let unresolved = if unresolved { facts.supertypes().unresolved.clone() } else { Vec::new() };
        let delegates = self.delegates_of(&matching, class, context);
        let marks = MarksOfClass::new(class, delegates.iter().chain(context.delegates));
        matching.retain(|at| self.rules.get(*at).is_some_and(|rule| rule.delegates.is_none()));
        if self.name_no_method(&matching, class, context) {
            matching.clear();
        }
        let takes_delegates = |at: &usize| self.rules.get(*at).is_some_and(|rule| rule.delegates.is_some());
        matching.extend(marks.rules().filter(takes_delegates));
        matching.sort_unstable();
        matching.dedup();
        if matching.is_empty() {
            return ClassDecision { methods: all(SkipReason::NoRule), unresolved, delegates };
        }
        let methods = class.methods().map(|method| self.decide_method(&matching, &method, &marks, context));
        ClassDecision { methods: methods.collect(), unresolved, delegates }
    }

    /// What a rule says to a method: one with `delegates` takes those that are marked for it.
    pub(super) fn answer(
        &self,
        (number, rule): (usize, &CompiledRule),
        method: &MethodFacts<'_>,
        marks: &MarksOfClass<'_>,
        never: &Never<'_>,
    ) -> MethodMatch {
        if rule.delegates.is_none() {
            return match_method(rule, method, &self.filter, never);
        }
        let is_used = || never(method.class(), method.name(), method.descriptor());
        let is_marked = marks.find(number, method).is_some();
        if is_marked { match_marked(rule, method, is_used()) } else { MethodMatch::NotNamed }
    }

    /// The delegates of methods of the class that these rules are about.
    pub(super) fn delegates_of(
        &self,
        rules: &[usize],
        class: Subject<'_, '_>,
        context: &ClassContext<'_>,
    ) -> Vec<DelegateMark> {
        let mut found = Vec::new();
        let rules = rules.iter().filter_map(|at| Some((*at, self.rules.get(*at)?)));
        for (number, rule, kind) in rules.filter_map(|(number, rule)| Some((number, rule, rule.delegates?))) {
            for method in class.methods() {
                let is_site = is_site(match_method(rule, &method, &self.filter, &|_, _, _| false));
                let before = found.len();
                if is_site {
                    let marks =
                        method.delegates().filter_map(|delegate| DelegateMark::of(number, kind, &method, &delegate));
                    found.extend(marks);
                }
                let stage = match (is_site, found.len() > before) {
                    (false, _) => Stage::NotNamed,
                    (true, false) => Stage::NoDelegates,
                    (true, true) => Stage::Took,
                };
                context.reach.inspect(|reach| reach.note(number, stage));
            }
        }
        found
    }

    /// True if some rule takes delegates, so that it may take methods of classes of any name.
    pub fn takes_delegates(&self) -> bool {
        self.rules.iter().any(|rule| rule.delegates.is_some())
    }

    /// Whether none of the rules names a method of the class: its bodies need not be read then.
    fn name_no_method(&self, rules: &[usize], class: Subject<'_, '_>, context: &ClassContext<'_>) -> bool {
        let is_named = |at: &usize| self.rules.get(*at).is_some_and(|rule| names_some_method(rule, class));
        if rules.iter().any(is_named) {
            return false;
        }
        if let Some(reach) = context.reach {
            let methods = class.method_count();
            rules.iter().for_each(|at| (0..methods).for_each(|_| reach.note(*at, Stage::NotNamed)));
        }
        true
    }

    /// Why no rule is even asked about a class of this name.
    pub(super) fn refuse_class(&self, name: &[u8]) -> Option<SkipReason> {
        if name.starts_with(b"java/instr/") {
            return Some(SkipReason::RuntimeClass);
        }
        self.exclude.iter().any(|glob| glob.matches(name)).then_some(SkipReason::ExcludedGlobally)
    }

    /// Rules whose class patterns match the name (`!` not considered), in order.
    fn candidates(&self, name: &[u8]) -> Vec<usize> {
        let mut candidates: Vec<usize> = self.index.rules(name).collect();
        candidates.extend(self.unnamed_for(name));
        candidates.sort_unstable();
        candidates.dedup();
        candidates
    }

    fn decide_method(
        &self,
        rules: &[usize],
        method: &MethodFacts<'_>,
        marks: &MarksOfClass<'_>,
        context: &ClassContext<'_>,
    ) -> MethodDecision {
        let mut reason = SkipReason::NoRule;
        let mut rules = rules.iter().filter_map(|at| Some((*at, self.rules.get(*at)?)));
        while let Some((number, rule)) = rules.next() {
            let answer = self.answer((number, rule), method, marks, context.never);
            context.reach.inspect(|reach| reach.note(number, Stage::of_method(answer)));
            let decided = match answer {
                MethodMatch::Takes => MethodDecision::Chosen(Chosen {
                    rule: number,
                    templates: rule.templates.clone(),
                    level: rule.level,
                    mode: rule.mode,
                    capture: rule.capture.clone(),
                }),
                MethodMatch::Skips(final_reason) => MethodDecision::Skipped(final_reason),
                MethodMatch::NotThisKind(kind) if reason == SkipReason::NoRule => {
                    reason = kind;
                    continue;
                }
                _ => continue,
            };
            self.note_later(rules.filter(|(_, rule)| rule.delegates.is_none()), method, context);
            return decided;
        }
        MethodDecision::Skipped(reason)
    }

    /// Notes how far the rules after the one that decided would have got, of those that took nothing so far.
    fn note_later<'r>(
        &self,
        later: impl Iterator<Item = (usize, &'r CompiledRule)>,
        method: &MethodFacts<'_>,
        context: &ClassContext<'_>,
    ) {
        let Some(reach) = context.reach else { return };
        for (number, rule) in later.filter(|(number, _)| reach.is_open(*number)) {
            let stage = Stage::of_method(match_method(rule, method, &self.filter, context.never));
            reach.note(number, stage.min(Stage::TakenBefore));
        }
    }
}

/// Returns whether the rule may match the class, judged by the class's name alone.
pub(super) fn wants_class(rule: &CompiledRule, name: &[u8]) -> bool {
    rule.class_taken_away(name).is_none() && !rule.excludes_class(name)
}
