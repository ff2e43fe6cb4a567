//! From all that is wanted of one method to what it carries: a pure function, whatever the order of the wishes.

use std::collections::BTreeMap;
use std::sync::Arc;

use instrument_core::level::{Level, Mode};
use instrument_core::rules::capture::Capture;
use instrument_core::template::TemplateId;

use crate::contexts::{AnchorStep, Context};

/// What one claimant wants of a method.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wish {
    /// The rules: these templates, outermost first, at this level.
    Rules { templates: Arc<[TemplateId]>, level: Level, mode: Mode, capture: Option<Arc<Capture>> },
    /// A person: the same, under the number of the claim.
    Person { claim: u32, templates: Arc<[TemplateId]>, level: Level },
    /// A person: probes of this template that record inside the context only.
    Conditional { claim: u32, template: TemplateId, level: Level, context: Arc<Context> },
    /// A context: the method is one of it, at this step.
    Anchor(AnchorStep),
    /// A diagnosis: the calls in its body are measured under this number.
    CallSites(u32),
    /// A diagnosis or a condition: it wants the text that the method, one of JDBC, executes or prepares. This template records nothing.
    StatementText(TemplateId),
    /// A context that reaches across threads, or a diagnosis: the method hands tasks over or runs them. This template records nothing.
    Handover(TemplateId),
    /// A caller finder: the hook with this number.
    CallerHook(u32),
    /// The governor: no probe of the rules, because it costs too much.
    Suppress,
}

/// A probe that records inside a context only. It has a level of its own, whatever else is wanted of the method.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConditionalProbe {
    pub(crate) template: TemplateId,
    pub(crate) context: Arc<Context>,
    /// The claims that want it: number and level, the oldest first.
    pub(crate) claims: Vec<(u32, Level)>,
}

impl ConditionalProbe {
    /// Returns the highest level that is wanted.
    pub(crate) fn level(&self) -> Option<Level> {
        self.claims.iter().map(|(_, level)| *level).max_by_key(|level| rank(*level))
    }
}

/// What a method carries.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effective {
    /// The templates, outermost first, each once.
    pub(crate) templates: Arc<[TemplateId]>,
    pub(crate) level: Level,
    pub(crate) mode: Mode,
    pub(crate) capture: Option<Arc<Capture>>,
    /// The claim of the person who decides about the level.
    pub(crate) decided_by: Option<u32>,
    /// Probes that record inside contexts only, within the templates.
    pub(crate) conditional: Vec<ConditionalProbe>,
    /// The steps of contexts for which the method stands; its anchors are the innermost, so that a method is not inside a context by itself.
    pub(crate) steps: Vec<AnchorStep>,
    /// The number under which the calls in its body are measured. Their template is the innermost of all.
    pub(crate) measured: Option<u32>,
    /// What asks for the text of a statement, within the templates.
    pub(crate) statement_text: Option<TemplateId>,
    /// What has tasks take contexts along, within the templates.
    pub(crate) handover: Option<TemplateId>,
    /// The numbers of the hooks of caller finders, within all but what measures calls.
    pub(crate) caller_hooks: Vec<u32>,
}

/// Returns what the method carries; `None` if nothing is left.
///
/// Equal templates count once: those of the rules first, then those of persons, by the numbers of their claims. A person's level goes before that of
/// the rules; of several persons the highest counts. The governor takes away what the rules want, never what a person asked for, and no anchor.
/// Contexts are united, and a probe that is wanted inside a context is another one than that of everywhere.
pub(crate) fn effective_plan(wishes: &[Wish]) -> Option<Effective> {
    let is_suppressed = wishes.contains(&Wish::Suppress);
    let mut by_rules = None;
    let mut by_persons = Vec::new();
    let (mut conditional, mut steps, mut measured) = (Vec::new(), BTreeMap::new(), None);
    let (mut statement_text, mut handover, mut caller_hooks) = (None, None, Vec::new());
    for wish in wishes {
        match wish {
            Wish::Rules { templates, level, mode, capture } if !is_suppressed => {
                by_rules = Some((templates, *level, *mode, capture.clone()));
            }
            Wish::Person { claim, templates, level } => by_persons.push((*claim, templates, *level)),
            Wish::Conditional { claim, template, level, context } => {
                conditional.push((context, *template, (*claim, *level)));
            }
            Wish::Anchor(step) => _ = steps.insert(step.step, step),
            Wish::CallSites(number) => measured = measured.max(Some(*number)),
            Wish::StatementText(template) => statement_text = Some(*template),
            Wish::Handover(template) => handover = Some(*template),
            Wish::CallerHook(number) => caller_hooks.push(*number),
            Wish::Rules { .. } | Wish::Suppress => {}
        }
    }
    by_persons.sort_by_key(|(claim, ..)| *claim);
    let mut templates: Vec<TemplateId> = Vec::new();
    let of_rules = by_rules.iter().flat_map(|(templates, ..)| templates.iter());
    for template in of_rules.chain(by_persons.iter().flat_map(|(_, templates, _)| templates.iter())) {
        if !templates.contains(template) {
            templates.push(*template);
        }
    }
    // Of claims with the same level the oldest decides.
    let person = by_persons.iter().rev().max_by_key(|(claim, _, level)| (rank(*level), u32::MAX - claim));
    let level = person.map(|(.., level)| *level).or(by_rules.as_ref().map(|(_, level, ..)| *level));
    let (mode, capture) = by_rules.map_or((Mode::Inline, None), |(.., mode, capture)| (mode, capture));
    let conditional = conditional_probes(conditional);
    caller_hooks.sort_unstable();
    let is_for_nothing_else = conditional.is_empty() && steps.is_empty() && measured.is_none();
    let is_for_nothing_else = is_for_nothing_else && caller_hooks.is_empty();
    if level.is_none() && is_for_nothing_else && statement_text.is_none() && handover.is_none() {
        return None;
    }
    Some(Effective {
        templates: templates.into(),
        level: level.or_else(|| conditional.first().and_then(ConditionalProbe::level)).unwrap_or(Level::Off),
        mode,
        capture,
        decided_by: person.map(|(claim, ..)| *claim),
        conditional,
        steps: steps.into_values().cloned().collect(),
        measured,
        statement_text,
        handover,
        caller_hooks,
    })
}

/// Makes one probe of equal wishes.
fn conditional_probes(mut wishes: Vec<(&Arc<Context>, TemplateId, (u32, Level))>) -> Vec<ConditionalProbe> {
    wishes.sort_by_key(|(context, template, (claim, level))| (context.text(), *template, *claim, rank(*level)));
    let mut probes: Vec<ConditionalProbe> = Vec::new();
    for (context, template, claim) in wishes {
        match probes.last_mut().filter(|last| last.context == *context && last.template == template) {
            Some(probe) => probe.claims.push(claim),
            None => probes.push(ConditionalProbe { template, context: Arc::clone(context), claims: vec![claim] }),
        }
    }
    probes
}

/// The order of levels by what they record.
pub(crate) fn rank(level: Level) -> u8 {
    match level {
        Level::Off => 0,
        Level::Watch => 1,
        Level::Burst => 2,
        Level::Time => 3,
        Level::Full => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contexts::{Contexts, Kind};

    fn ids() -> Vec<TemplateId> {
        let setup = crate::config::setup::from_text("[[rule]]\nclass = 'a.B'\n", "c.toml").unwrap();
        setup.templates.iter().map(|(id, _)| id).take(3).collect()
    }

    fn rules(templates: &[TemplateId], level: Level) -> Wish {
        Wish::Rules { templates: templates.into(), level, mode: Mode::Inline, capture: None }
    }

    fn person(claim: u32, templates: &[TemplateId], level: Level) -> Wish {
        Wish::Person { claim, templates: templates.into(), level }
    }

    /// All orders of a few wishes.
    fn orders(wishes: &[Wish]) -> Vec<Vec<Wish>> {
        if wishes.len() < 2 {
            return vec![wishes.to_vec()];
        }
        let with_first = |at: usize| {
            let mut rest = wishes.to_vec();
            let first = rest.remove(at);
            orders(&rest).into_iter().map(move |rest| [vec![first.clone()], rest].concat())
        };
        (0..wishes.len()).flat_map(with_first).collect()
    }

    #[test]
    fn the_order_of_arrival_does_not_matter() {
        let ids = ids();
        let wishes = [
            rules(&ids[..2], Level::Watch),
            person(7, &ids[1..], Level::Time),
            person(3, &ids[..1], Level::Off),
            Wish::Suppress,
        ];
        // Each set of wishes in each order.
        for set in 0..16 {
            let chosen: Vec<Wish> =
                wishes.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, wish)| wish.clone()).collect();
            let plans: Vec<Option<Effective>> = orders(&chosen).iter().map(|order| effective_plan(order)).collect();
            assert!(plans.iter().all(|plan| plan == &plans[0]), "{chosen:?}: {plans:?}");
        }
    }

    #[test]
    fn equal_templates_count_once_and_a_persons_level_goes_before() {
        let ids = ids();
        let plan = effective_plan(&[rules(&ids[..1], Level::Full), person(1, &ids[..2], Level::Off)]).unwrap();
        assert_eq!((&*plan.templates, plan.level, plan.decided_by), (&ids[..2], Level::Off, Some(1)));
        let plan = effective_plan(&[person(1, &ids[..1], Level::Off), person(2, &ids[..1], Level::Time)]).unwrap();
        assert_eq!((plan.level, plan.decided_by), (Level::Time, Some(2)), "of several persons the highest");
    }

    #[test]
    fn the_governor_takes_away_what_rules_want_and_nothing_else() {
        let ids = ids();
        assert_eq!(effective_plan(&[rules(&ids[..1], Level::Watch), Wish::Suppress]), None);
        let both = [rules(&ids[..1], Level::Watch), Wish::Suppress, person(1, &ids[1..2], Level::Time)];
        let plan = effective_plan(&both).unwrap();
        assert_eq!((&*plan.templates, plan.level), (&ids[1..2], Level::Time));
    }

    #[test]
    fn a_probe_inside_a_context_is_another_one_and_anchors_stay_whatever_is_suppressed() {
        let ids = ids();
        let contexts = Contexts::default();
        let context = |text: &str| contexts.open(text, 1, Vec::new(), Kind::default()).unwrap();
        let conditional =
            |claim, text: &str, level| Wish::Conditional { claim, template: ids[0], level, context: context(text) };
        let wishes = [
            Wish::Anchor(AnchorStep { context: context("x.Y.z"), step: 7 }),
            conditional(2, "a.B.c", Level::Time),
            Wish::Suppress,
            conditional(1, "a.B.c", Level::Full),
            conditional(3, "d.E.f", Level::Watch),
            rules(&ids[..1], Level::Watch),
        ];
        let plans: Vec<Option<Effective>> = orders(&wishes).iter().map(|order| effective_plan(order)).collect();
        assert!(plans.iter().all(|plan| plan == &plans[0]), "{plans:?}");
        let plan = plans[0].clone().unwrap();
        assert_eq!((plan.templates.len(), plan.decided_by), (0, None), "the rule's probe is suppressed");
        let of: Vec<_> = plan.conditional.iter().map(|of| (&**of.context.text(), of.claims.clone())).collect();
        assert_eq!(of, [("a.B.c", vec![(1, Level::Full), (2, Level::Time)]), ("d.E.f", vec![(3, Level::Watch)])]);
        assert_eq!(plan.steps.iter().map(|of| of.step).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn the_text_of_a_statement_changes_nothing_of_what_others_want() {
        let ids = ids();
        let others = [rules(&ids[..1], Level::Watch), person(1, &ids[1..2], Level::Time)];
        let both = effective_plan(&[&others[..], &[Wish::StatementText(ids[2])]].concat()).unwrap();
        assert_eq!(Some(Effective { statement_text: None, ..both.clone() }), effective_plan(&others));
        assert_eq!(both.statement_text, Some(ids[2]));
        let alone = effective_plan(&[Wish::StatementText(ids[2])]).unwrap();
        assert_eq!((alone.templates.len(), alone.level), (0, Level::Off));
    }

    #[test]
    fn hooks_of_caller_finders_change_nothing_of_what_others_want() {
        let ids = ids();
        let others = [rules(&ids[..1], Level::Watch), person(1, &ids[1..2], Level::Time)];
        let hooks = [Wish::CallerHook(257), Wish::CallerHook(129), Wish::Suppress];
        let both = effective_plan(&[&others[..], &hooks[..2]].concat()).unwrap();
        assert_eq!(Some(Effective { caller_hooks: Vec::new(), ..both.clone() }), effective_plan(&others));
        assert_eq!(both.caller_hooks, [129, 257]);
        let alone = effective_plan(&hooks).unwrap();
        assert_eq!((alone.templates.len(), alone.level, alone.caller_hooks.len()), (0, Level::Off, 2));
    }

    #[test]
    fn one_claim_less_leaves_what_the_others_want() {
        let ids = ids();
        let all =
            [rules(&ids[..1], Level::Watch), person(1, &ids[..1], Level::Time), person(2, &ids[1..2], Level::Full)];
        let without = |at: usize| {
            let rest: Vec<Wish> =
                all.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, w)| w.clone()).collect();
            effective_plan(&rest).unwrap()
        };
        assert_eq!((&*without(1).templates, without(1).level), (&ids[..2], Level::Full));
        assert_eq!((&*without(2).templates, without(2).level), (&ids[..1], Level::Time));
        assert_eq!(effective_plan(&[]), None);
    }
}
