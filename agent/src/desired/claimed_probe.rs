//! Who wants one probe of a method that claims of persons are about, and what is left when a claim ends.

use instrument_core::level::Level;
use instrument_core::template::TemplateId;
use rustc_hash::FxHashSet;

use super::effective_plan::{Wish, rank};

/// What is wanted of one probe. Its level is that of the whole method: a claim on the method decides about it even if it wants another probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimedProbe {
    /// The level that the rules want of the method, and whether they want this probe.
    rules: Option<(Level, bool)>,
    /// The claims on the method: number, level, and whether the claim wants this probe.
    claims: Vec<(u32, Level, bool)>,
}

impl ClaimedProbe {
    /// A probe of a method of which the rules and these claims want something.
    pub(crate) fn new(rules: Option<(Level, bool)>, claims: Vec<(u32, Level, bool)>) -> ClaimedProbe {
        ClaimedProbe { rules, claims }
    }

    /// The probe of this template, in a method of which all this is wanted.
    pub(crate) fn of(wishes: &[Wish], template: TemplateId) -> ClaimedProbe {
        let (mut rules, mut claims) = (None, Vec::new());
        for wish in wishes {
            match wish {
                Wish::Rules { templates, level, .. } => rules = Some((*level, templates.contains(&template))),
                Wish::Person { claim, templates, level } => {
                    claims.push((*claim, *level, templates.contains(&template)))
                }
                Wish::Conditional { .. }
                | Wish::Anchor(_)
                | Wish::CallSites(_)
                | Wish::StatementText(_)
                | Wish::Handover(_)
                | Wish::CallerHook(_)
                | Wish::Suppress => {}
            }
        }
        ClaimedProbe::new(rules, claims)
    }

    /// Whether this claim wants the probe.
    pub(crate) fn is_wanted_by(&self, claim: u32) -> bool {
        self.claims.iter().any(|(id, _, wants)| *id == claim && *wants)
    }

    /// Whether the rules want the probe.
    pub(crate) fn is_wanted_by_rules(&self) -> bool {
        self.rules.is_some_and(|(_, wants)| wants)
    }

    /// Returns the claims that want the probe.
    pub(crate) fn wanting_claims(&self) -> impl Iterator<Item = u32> {
        self.claims.iter().filter(|(.., wants)| *wants).map(|(id, ..)| *id)
    }

    /// Whether claims want all calls of the method recorded, and all of these claims are among those.
    pub(crate) fn is_every_call_wanted_only_by(&self, claims: &FxHashSet<u32>) -> bool {
        let mut wanting = self.claims.iter().filter(|(_, level, _)| rank(*level) >= rank(Level::Time)).peekable();
        wanting.peek().is_some() && wanting.all(|(id, ..)| claims.contains(id))
    }

    /// Has these claims want the level that they want in an earlier decision about the method.
    pub(crate) fn keep_levels(&mut self, earlier: &ClaimedProbe, claims: &FxHashSet<u32>) {
        for (id, level, _) in self.claims.iter_mut().filter(|(id, ..)| claims.contains(id)) {
            if let Some((_, before, _)) = earlier.claims.iter().find(|(of, ..)| of == id) {
                *level = *before;
            }
        }
    }

    /// Whether claims decide about the level.
    pub(crate) fn is_by_person(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Adds a claim on the method: number, level, and whether the claim wants this probe.
    pub(crate) fn add(&mut self, claim: (u32, Level, bool)) {
        self.claims.retain(|(id, ..)| *id != claim.0);
        self.claims.push(claim);
    }

    /// Adds the claims of another decision about the same method that are newer than this one.
    pub(crate) fn add_newer(&mut self, other: &ClaimedProbe, newest: u32) {
        other.claims.iter().filter(|(id, ..)| *id > newest).for_each(|claim| self.add(*claim));
    }

    /// Takes a claim away, and returns whether it was one of them.
    pub(crate) fn end(&mut self, claim: u32) -> bool {
        let before = self.claims.len();
        self.claims.retain(|(id, ..)| *id != claim);
        self.claims.len() < before
    }

    /// Returns the claim that decides about the level, and this level: the highest, of equal ones the oldest.
    pub(crate) fn deciding_claim(&self) -> Option<(u32, Level)> {
        let claims = self.claims.iter().map(|(id, level, _)| (*id, *level));
        claims.max_by_key(|(id, level)| (rank(*level), u32::MAX - id))
    }

    /// Returns the level of the probe; `None` if nobody wants it. The same as [`super::effective_plan`] decides about the method.
    pub(crate) fn level(&self) -> Option<Level> {
        let is_wanted = self.is_wanted_by_rules() || self.claims.iter().any(|(.., wants)| *wants);
        let person = self.claims.iter().map(|(_, level, _)| *level).max_by_key(|level| rank(*level));
        person.or(self.rules.map(|(level, _)| level)).filter(|_| is_wanted)
    }
}

#[cfg(test)]
mod tests {
    use instrument_core::level::Mode;

    use super::*;
    use crate::desired::effective_plan;

    /// Whatever of this is wanted, and whichever claim ends: the level is the one that the class hook would decide.
    #[test]
    fn the_level_is_that_of_the_effective_plan() {
        let setup = crate::config::setup::from_text("[[rule]]\nclass = 'a.B'\n", "c.toml").unwrap();
        let ids: Vec<TemplateId> = setup.templates.iter().map(|(id, _)| id).take(2).collect();
        let person = |claim: u32, templates: &[TemplateId], level| {
            let templates = templates.into();
            Wish::Person { claim, templates, level }
        };
        let rules = Wish::Rules { templates: ids[..1].into(), level: Level::Full, mode: Mode::Inline, capture: None };
        let wishes = [
            rules,
            person(1, &ids, Level::Watch),
            person(2, &ids[1..], Level::Time),
            person(3, &ids[..1], Level::Off),
            person(4, &ids[1..], Level::Time),
        ];
        let level_of = |wishes: &[Wish], template| {
            effective_plan(wishes).filter(|plan| plan.templates.contains(&template)).map(|plan| plan.level)
        };
        for set in 0..1_usize << wishes.len() {
            let wanted: Vec<Wish> =
                wishes.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, wish)| wish.clone()).collect();
            for template in &ids {
                let mut probe = ClaimedProbe::of(&wanted, *template);
                assert_eq!(probe.level(), level_of(&wanted, *template), "{wanted:?}");
                for ended in 1..=4 {
                    probe.end(ended);
                    let is_left = |wish: &&Wish| !matches!(wish, Wish::Person { claim, .. } if *claim <= ended);
                    let left: Vec<Wish> = wanted.iter().filter(is_left).cloned().collect();
                    assert_eq!(probe.level(), level_of(&left, *template), "{wanted:?} without those up to {ended}");
                }
            }
        }
    }

    #[test]
    fn a_probe_is_left_at_the_level_that_the_others_want() {
        let both = [(1, Level::Time, true), (2, Level::Time, true), (3, Level::Watch, true)];
        let mut probe = ClaimedProbe::new(Some((Level::Watch, true)), both.to_vec());
        assert_eq!(probe.deciding_claim(), Some((1, Level::Time)), "the oldest of the highest");
        assert!(probe.end(1) && !probe.end(1) && probe.is_wanted_by(2));
        assert_eq!(probe.level(), Some(Level::Time), "an equal claim is left");
        assert!(probe.end(3));
        assert_eq!(probe.level(), Some(Level::Time), "the lower one ended");
        assert!(probe.end(2) && !probe.is_by_person());
        assert_eq!(probe.level(), Some(Level::Watch), "what the rules want");
    }

    #[test]
    fn a_probe_that_nobody_wants_is_left_at_none_whatever_is_wanted_of_its_method() {
        let mut probe =
            ClaimedProbe::new(Some((Level::Full, false)), vec![(1, Level::Time, true), (2, Level::Off, false)]);
        assert_eq!(probe.level(), Some(Level::Time));
        assert!(probe.end(1));
        assert_eq!((probe.level(), probe.is_by_person()), (None, true));
    }
}
