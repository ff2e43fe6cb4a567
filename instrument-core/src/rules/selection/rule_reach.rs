//! Rules that take no method: how far each got, so that the nearest reason can be reported.

use std::sync::atomic::{AtomicU32, Ordering};

use super::class_match::ClassMatch;
use super::conditions::origin::OriginKey;
use super::decision::SkipReason;
use super::method_match::MethodMatch;
use super::rule::CompiledRule;
use super::rule_set::RuleSet;
use crate::internal_name::to_source;
use crate::rules::nearest_name::quoted_list;

/// How far a rule got with a class or a method, ordered by the conditions that hold by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    NoSuchMethod,
    NoAnnotatedMethod,
    ClassNotAnnotated,
    DoesNotExtend,
    Unresolved,
    OtherLoader,
    OtherModule,
    OtherJar,
    ClassCallsNothing,
    NotNamed,
    NotAnnotated,
    OtherFlags,
    NotThisKind,
    OtherSize,
    CallsNothing,
    NoDelegates,
    Excluded,
    NoBytecode,
    Filtered,
    UsedByRuntime,
    TakenBefore,
    Took,
}

const STAGES: usize = Stage::Took as usize + 1;

impl Stage {
    const ALL: [Stage; STAGES] = [
        Stage::NoSuchMethod,
        Stage::NoAnnotatedMethod,
        Stage::ClassNotAnnotated,
        Stage::DoesNotExtend,
        Stage::Unresolved,
        Stage::OtherLoader,
        Stage::OtherModule,
        Stage::OtherJar,
        Stage::ClassCallsNothing,
        Stage::NotNamed,
        Stage::NotAnnotated,
        Stage::OtherFlags,
        Stage::NotThisKind,
        Stage::OtherSize,
        Stage::CallsNothing,
        Stage::NoDelegates,
        Stage::Excluded,
        Stage::NoBytecode,
        Stage::Filtered,
        Stage::UsedByRuntime,
        Stage::TakenBefore,
        Stage::Took,
    ];

    /// `None` for an answer that says nothing new: the name does not match, or the methods will show how far the rule gets.
    pub(super) fn of_class(answer: ClassMatch) -> Option<Stage> {
        Some(match answer {
            ClassMatch::Matches | ClassMatch::Jdk | ClassMatch::NotNamed | ClassMatch::TakenAway => return None,
            ClassMatch::NotAnnotated => Stage::ClassNotAnnotated,
            ClassMatch::DoesNotExtend => Stage::DoesNotExtend,
            ClassMatch::Unresolved => Stage::Unresolved,
            ClassMatch::OtherOrigin(OriginKey::Loader) => Stage::OtherLoader,
            ClassMatch::OtherOrigin(OriginKey::Module) => Stage::OtherModule,
            ClassMatch::OtherOrigin(OriginKey::Jar) => Stage::OtherJar,
            ClassMatch::CallsNothing => Stage::ClassCallsNothing,
        })
    }

    pub(super) fn of_method(answer: MethodMatch) -> Stage {
        match answer {
            MethodMatch::Takes => Stage::Took,
            MethodMatch::NotNamed | MethodMatch::TakenAway => Stage::NotNamed,
            MethodMatch::NotAnnotated => Stage::NotAnnotated,
            MethodMatch::OtherFlags => Stage::OtherFlags,
            MethodMatch::NotThisKind(_) => Stage::NotThisKind,
            MethodMatch::OtherSize => Stage::OtherSize,
            MethodMatch::CallsNothing => Stage::CallsNothing,
            MethodMatch::Skips(SkipReason::ExcludedByRule) => Stage::Excluded,
            MethodMatch::Skips(SkipReason::Abstract | SkipReason::Native | SkipReason::NoCode) => Stage::NoBytecode,
            MethodMatch::Skips(SkipReason::UsedByRuntime) => Stage::UsedByRuntime,
            MethodMatch::Skips(_) => Stage::Filtered,
        }
    }

    fn is_of_class(self) -> bool {
        self <= Stage::ClassCallsNothing
    }
}

/// How far each rule got with the classes seen so far. Any number of threads may note and ask.
#[derive(Debug)]
pub struct RuleReach {
    /// For each rule how often it ended at each stage.
    rules: Box<[[AtomicU32; STAGES]]>,
}

/// Whether classes were noted once each, so that their number means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figures {
    /// Each class once.
    Exact,
    /// Perhaps more than once, as the class hook of a JVM sees them.
    Omitted,
}

impl RuleReach {
    /// Returns the state in which no class has been seen.
    pub fn new(rules: &RuleSet) -> RuleReach {
        RuleReach { rules: rules.rules().iter().map(|_| [const { AtomicU32::new(0) }; STAGES]).collect() }
    }

    /// Returns the state of rules that replace others while a program runs: a rule that takes the same methods as before got as far as before, since
    /// the classes that it takes are not decided again.
    pub fn carried_over(rules: &RuleSet, before: &RuleSet, reach: &RuleReach) -> RuleReach {
        let carried = RuleReach::new(rules);
        let digests: Vec<u64> = before.rules().iter().map(CompiledRule::digest).collect();
        for (rule, stages) in rules.rules().iter().zip(&carried.rules) {
            let digest = rule.digest();
            let same = digests.iter().position(|other| *other == digest).and_then(|at| reach.rules.get(at));
            for (count, known) in stages.iter().zip(same.into_iter().flatten()) {
                count.store(known.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
        carried
    }

    pub(super) fn note(&self, rule: usize, stage: Stage) {
        let Some(stages) = self.rules.get(rule) else { return };
        let Some(count) = stages.get(stage as usize) else { return };
        if !has(stages, Stage::Took) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether it is still of interest whether the rule would take a method that an earlier rule takes.
    pub(super) fn is_open(&self, rule: usize) -> bool {
        self.rules.get(rule).is_some_and(|stages| !has(stages, Stage::Took) && !has(stages, Stage::TakenBefore))
    }

    /// Whether some rule of each `[[rule]]` of the file took a method.
    pub fn is_complete(&self, rules: &RuleSet) -> bool {
        self.idle(rules).next().is_none()
    }

    /// Whether a rule belongs to a `[[rule]]` that took no method so far.
    pub fn is_idle(&self, rules: &RuleSet, rule: usize) -> bool {
        let Some(asked) = rules.rules().get(rule) else { return false };
        self.idle(rules).any(|group| group.iter().any(|(_, rule)| rule.number_in_file() == asked.number_in_file()))
    }

    /// Returns a sentence for each `[[rule]]` of the file that took no method. `nearest` returns the name of a class that is similar to one
    /// that does not exist.
    pub fn lines(&self, rules: &RuleSet, figures: Figures, nearest: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        self.idle(rules).filter_map(|group| self.line(rules, &group, figures, nearest)).collect()
    }

    /// Returns why a rule has taken no method so far; `None` if it has taken one.
    pub fn why_idle(&self, rules: &RuleSet, rule: usize) -> Option<String> {
        let asked = rules.rules().get(rule)?;
        match self.furthest(rule) {
            Some((Stage::Took, _)) => None,
            Some((stage, count)) => Some(reason(asked, stage, count, Figures::Omitted)),
            None => Some(no_class(rules, asked, &|_| None)),
        }
    }

    /// The compiled rules of each `[[rule]]` none of which took a method; a preset has several.
    fn idle<'r>(&self, rules: &'r RuleSet) -> impl Iterator<Item = Vec<(usize, &'r CompiledRule)>> {
        let groups = rules.rules().chunk_by(|one, other| one.number_in_file() == other.number_in_file());
        let mut next = 0;
        let numbered = groups.map(move |group| {
            let numbers = next..;
            next += group.len();
            numbers.zip(group).collect::<Vec<_>>()
        });
        let took = |at: usize| self.rules.get(at).is_some_and(|stages| has(stages, Stage::Took));
        numbered.filter(move |group| !group.iter().any(|(at, _)| took(*at)))
    }

    fn line(
        &self,
        rules: &RuleSet,
        group: &[(usize, &CompiledRule)],
        figures: Figures,
        nearest: &dyn Fn(&str) -> Option<String>,
    ) -> Option<String> {
        let (at, rule) = group.iter().max_by_key(|(at, _)| self.furthest(*at).map(|(stage, _)| stage))?;
        let (name, place) = (rule.name(), &rule.place_in_file);
        let reason = match self.furthest(*at) {
            Some((stage, count)) => reason(rule, stage, count, figures),
            None => no_class(rules, rule, nearest),
        };
        Some(match (group.len(), name.rsplit_once('/')) {
            (2.., Some((preset, _))) => {
                format!("none of the rules of {preset} ({place}) takes a method; the nearest is {name}: {reason}")
            }
            _ => format!("rule {name} ({place}) takes no method: {reason}"),
        })
    }

    fn furthest(&self, rule: usize) -> Option<(Stage, u32)> {
        let stages = self.rules.get(rule)?;
        let counts = Stage::ALL.iter().zip(stages).map(|(stage, count)| (*stage, count.load(Ordering::Relaxed)));
        counts.filter(|(_, count)| *count > 0).last()
    }
}

fn has(stages: &[AtomicU32; STAGES], stage: Stage) -> bool {
    stages.get(stage as usize).is_some_and(|count| count.load(Ordering::Relaxed) > 0)
}

fn reason(rule: &CompiledRule, stage: Stage, count: u32, figures: Figures) -> String {
    let noun = if stage.is_of_class() { ["class", "classes"] } else { ["method", "methods"] };
    let held = held_conditions(rule, stage);
    let number = match (figures, count) {
        (Figures::Omitted, _) => noun[1].to_owned(),
        (Figures::Exact, 1) => format!("1 {}", noun[0]),
        (Figures::Exact, count) => format!("{count} {}", noun[1]),
    };
    let is_one = figures == Figures::Exact && count == 1;
    let verb = match (held.is_empty(), is_one) {
        (true, false) => "were checked".to_owned(),
        (true, true) => "was checked".to_owned(),
        (false, false) => format!("match {}", quoted_list(&held, "and")),
        (false, true) => format!("matches {}", quoted_list(&held, "and")),
    };
    format!("{number} {verb}, {}", failed_condition(rule, stage))
}

fn no_class(rules: &RuleSet, rule: &CompiledRule, nearest: &dyn Fn(&str) -> Option<String>) -> String {
    let patterns: Vec<&str> = rule.class.iter().filter(|p| !p.negated).map(|p| p.glob.text()).collect();
    // A class that `[exclude]` names is not even looked at, whether there is one or not.
    let is_refused =
        |name: &&str| !name.contains('*') && rules.refuse_class(name.replace('.', "/").as_bytes()).is_some();
    if !patterns.is_empty() && patterns.iter().all(is_refused) {
        return format!("`[exclude]` names {}", quoted_list(&patterns, "and"));
    }
    let excludes = rule.class.len() > patterns.len() || rule.exclude.iter().any(|pattern| pattern.method.is_none());
    let aside = match (excludes, rules.excludes_classes()) {
        (false, false) => "",
        (true, false) => ", apart from those that it excludes",
        (false, true) => ", apart from those that `[exclude]` names",
        (true, true) => ", apart from those that it or `[exclude]` excludes",
    };
    if patterns.is_empty() {
        return format!("there is no class outside the JDK{aside}");
    }
    let similar = patterns.iter().filter(|name| !name.contains('*')).find_map(|name| nearest(name));
    let similar = similar.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
    format!("no class matches {}{aside}{similar}", quoted_list(&patterns, "or"))
}

/// The keys of the rule that are checked before this stage.
fn held_conditions(rule: &CompiledRule, stage: Stage) -> Vec<&'static str> {
    let keys = [
        ("class", !rule.class.is_empty(), Stage::NoSuchMethod),
        ("annotated", !rule.annotated.is_empty(), Stage::DoesNotExtend),
        ("extends", !rule.extends.is_empty(), Stage::OtherLoader),
        ("loader", !rule.loader.is_empty(), Stage::OtherModule),
        ("module", !rule.module.is_empty(), Stage::OtherJar),
        ("jar", !rule.jar.is_empty(), Stage::ClassCallsNothing),
        ("method", !rule.method.is_empty(), Stage::NotAnnotated),
        ("method-annotated", !rule.method_annotated.is_empty(), Stage::OtherFlags),
        ("flags", !rule.flags.is_empty(), Stage::NotThisKind),
        ("size", rule.size.is_some(), Stage::CallsNothing),
        ("calls", !rule.calls.is_empty(), Stage::NoDelegates),
    ];
    keys.into_iter().filter(|(_, stated, from)| *stated && stage >= *from).map(|(key, ..)| key).collect()
}

fn failed_condition(rule: &CompiledRule, stage: Stage) -> String {
    let annotations = |names: &[Vec<u8>]| {
        let names: Vec<String> = names.iter().map(|name| format!("@{}", to_source(name))).collect();
        quoted_list(&names.iter().map(String::as_str).collect::<Vec<_>>(), "or")
    };
    let types = || quoted_list(&rule.extends.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), "or");
    match stage {
        Stage::NoSuchMethod => "none has a method that `method` matches".to_owned(),
        Stage::NoAnnotatedMethod => format!("none has a method annotated with {}", annotations(&rule.method_annotated)),
        Stage::ClassNotAnnotated => format!("none is annotated with {}", annotations(&rule.annotated)),
        Stage::DoesNotExtend => format!("none extends or implements {}", types()),
        Stage::Unresolved => format!("of none it is known whether it extends or implements {}", types()),
        Stage::OtherLoader => "none is defined by a class loader that `loader` matches".to_owned(),
        Stage::OtherModule => "none is in a module that `module` matches".to_owned(),
        Stage::OtherJar => "none is from a jar that `jar` matches".to_owned(),
        Stage::ClassCallsNothing | Stage::CallsNothing => "none calls a method that `calls` matches".to_owned(),
        Stage::NotNamed => "none matches `method`".to_owned(),
        Stage::NotAnnotated => format!("none is annotated with {}", annotations(&rule.method_annotated)),
        Stage::OtherFlags => "none has all of `flags`".to_owned(),
        Stage::NotThisKind => {
            "but they are constructors, class initialisers or bridges, which must be asked for".to_owned()
        }
        Stage::OtherSize => {
            format!("none has a size of `{}`", rule.size.as_ref().map(|size| size.text()).unwrap_or_default())
        }
        Stage::NoDelegates => "none creates a delegate of the kind that `delegates` says".to_owned(),
        Stage::Excluded => "but `exclude` of the rule names them".to_owned(),
        Stage::NoBytecode => "but they are abstract or native".to_owned(),
        Stage::Filtered => "but `[filter]` leaves them out because they are small".to_owned(),
        Stage::UsedByRuntime => "but the probes themselves call them".to_owned(),
        Stage::TakenBefore | Stage::Took => "but earlier rules decide about them".to_owned(),
    }
}
