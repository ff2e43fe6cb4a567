//! What is wanted by one reading of the configuration: rules, templates, the engine with these, types that rules ask for. Nothing in it changes; a
//! reload replaces all of it at once.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use instrument_core::selection::{Chosen, CompiledRule, RuleDigests, RuleReach, RuleSet, Untouchable};
use instrument_core::template::TemplateLibrary;
use instrument_core::{Engine, EngineOptions};

use crate::call_sites;
use crate::caller_hooks::CallerHook;
use crate::classes::hierarchy::TypeIndex;
use crate::classes::parameter_doubts::ParameterDoubts;
use crate::config::setup::Setup;
use crate::contexts::{AnchorStep, Context};
use crate::desired::{Claim, DelegateMarks, RequestedProbes};

/// Methods that get probes because somebody asked for them.
#[derive(Debug)]
pub(crate) struct ClaimedProbes {
    /// The number of the claim.
    pub(crate) claim: u32,
    /// What the methods get.
    pub(crate) role: ClaimedRole,
    /// What takes the methods.
    pub(crate) rules: RuleSet,
}

/// What the methods of a claim get.
#[derive(Debug, Clone)]
pub(crate) enum ClaimedRole {
    /// Probes.
    Probe,
    /// Probes that record inside the context only.
    Conditional(Arc<Context>),
    /// Anchors, as this step of the claim's context.
    Anchor(AnchorStep),
    /// What has tasks take the claim's context along.
    Handover,
    /// What remembers the texts of prepared statements for the claim's condition.
    Preparing,
    /// The hook of a caller finder.
    CallerHook(CallerHook),
}

/// What claims want of classes, as far as the name of a class says, to be compared with those of another generation.
#[derive(Debug)]
pub(crate) struct ClaimDigests<'g>(Vec<(u32, RuleDigests<'g>)>);

impl ClaimDigests<'_> {
    /// Returns the claims that may want a class of this name, with digests of what they want.
    pub(crate) fn of(&self, name: &[u8]) -> Vec<(u32, u64)> {
        self.0.iter().filter_map(|(claim, digests)| Some((*claim, digests.of(name)?))).collect()
    }
}

/// One generation. Claims on probes change more often than the file: they make a copy that shares all else.
#[derive(Debug, Clone)]
pub(crate) struct Generation {
    /// 1 for that of the start.
    pub(crate) number: u32,
    /// Configuration, templates and rules.
    pub(crate) setup: Arc<Setup>,
    /// The engine with these templates.
    pub(crate) engine: Arc<Engine>,
    /// Known super types, as far as these rules need them.
    pub(crate) types: Arc<TypeIndex>,
    /// What rules ask for and no method has.
    pub(crate) doubts: Arc<ParameterDoubts>,
    /// How far each rule got with the classes up to now.
    pub(crate) reach: Arc<RuleReach>,
    /// Methods that are called as delegates of others.
    pub(crate) delegates: Arc<DelegateMarks>,
    /// Methods that are never instrumented, computed when a class of the JDK is first decided.
    untouchable: Arc<OnceLock<Untouchable>>,
    /// Claims on probes, the oldest first.
    pub(crate) claimed: Arc<[ClaimedProbes]>,
}

impl Generation {
    /// The generation of the start, for a JVM at `java_home`.
    pub(crate) fn first(java_home: PathBuf, setup: Setup) -> Generation {
        let types = Arc::new(TypeIndex::new(java_home, &setup.rules));
        Generation::new(1, setup, types)
    }

    fn new(number: u32, setup: Setup, types: Arc<TypeIndex>) -> Generation {
        Generation {
            number,
            engine: Arc::new(Engine::new(Arc::clone(&setup.templates), EngineOptions::default())),
            types,
            doubts: Arc::new(ParameterDoubts::new()),
            reach: Arc::new(RuleReach::new(&setup.rules)),
            delegates: Arc::default(),
            untouchable: Arc::default(),
            claimed: Arc::new([]),
            setup: Arc::new(setup),
        }
    }

    /// The same with these claims on probes. One that its templates do not allow any more is left out, with the reason.
    pub(crate) fn with_claims(&self, claims: &[Claim]) -> (Generation, Vec<(u32, String)>) {
        let (mut claimed, mut refused) = (Vec::new(), Vec::new());
        for claim in claims {
            match self.compile(claim) {
                Ok(of_claim) => claimed.extend(of_claim),
                Err(reason) => refused.push((claim.id, reason)),
            }
        }
        (Generation { claimed: claimed.into(), ..self.clone() }, refused)
    }

    /// Compiles a claim, and the methods of its context.
    fn compile(&self, claim: &Claim) -> Result<Vec<ClaimedProbes>, String> {
        let rules = |probes: &RequestedProbes| probes.rules(self.templates(), &self.setup.config.exclude);
        let of_claim = |role: ClaimedRole, rules| ClaimedProbes { claim: claim.id, role, rules };
        let Claim { probes, context, .. } = claim;
        let mut compiled = match (context, claim.diagnosis) {
            _ if let Some(hook) = &claim.caller_hook => {
                vec![of_claim(ClaimedRole::CallerHook(hook.clone()), rules(probes)?)]
            }
            // What is measured is known by method and class loader (`call_sites`).
            (_, Some(_)) => Vec::new(),
            (Some(context), None) => vec![of_claim(ClaimedRole::Conditional(Arc::clone(context)), rules(probes)?)],
            (None, None) => vec![of_claim(ClaimedRole::Probe, rules(probes)?)],
        };
        for method in probes.handover() {
            compiled.push(of_claim(ClaimedRole::Handover, rules(method)?));
        }
        for method in probes.preparing() {
            compiled.push(of_claim(ClaimedRole::Preparing, rules(method)?));
        }
        let Some(context) = context else { return Ok(compiled) };
        for (method, step) in probes.within.iter().zip(context.steps()) {
            compiled.push(of_claim(
                ClaimedRole::Anchor(AnchorStep { context: Arc::clone(context), step: *step }),
                rules(method)?,
            ));
        }
        Ok(compiled)
    }

    /// Whether some rule or claim may want a class of this name.
    pub(crate) fn wants_name(&self, name: &[u8]) -> bool {
        self.rules().wants_name(name) || self.is_claimed(name) || self.delegates.has(name)
    }

    /// Whether some claim may want a class of this name.
    pub(crate) fn is_claimed(&self, name: &[u8]) -> bool {
        self.claimed.iter().any(|claimed| claimed.rules.wants_name(name)) || call_sites::of_process().wants_name(name)
    }

    /// Returns the number of the newest claim on probes that this generation knows.
    pub(crate) fn newest_claim(&self) -> u32 {
        self.claimed.last().map_or(0, |claimed| claimed.claim)
    }

    /// Returns digests of what claims want of classes.
    pub(crate) fn claim_digests(&self) -> ClaimDigests<'_> {
        ClaimDigests(self.claimed.iter().map(|claimed| (claimed.claim, claimed.rules.digests())).collect())
    }

    /// Whether some rule or claim may want classes of the JDK.
    pub(crate) fn may_match_jdk(&self) -> bool {
        self.rules().may_match_jdk() || self.claimed.iter().any(|claimed| claimed.rules.may_match_jdk())
    }

    /// The next one, with this configuration. What is known of super types is kept if the rules ask for the same types.
    pub(crate) fn next(&self, setup: Setup) -> Generation {
        let types = self.types.for_rules(&setup.rules).map_or_else(|| Arc::clone(&self.types), Arc::new);
        let reach = Arc::new(RuleReach::carried_over(&setup.rules, self.rules(), &self.reach));
        // The classes that have made the marks are not decided again.
        let delegates =
            if setup.rules.decides_like(self.rules()) { Arc::clone(&self.delegates) } else { Arc::default() };
        Generation { reach, delegates, ..Generation::new(self.number + 1, setup, types) }
    }

    /// The rules.
    pub(crate) fn rules(&self) -> &RuleSet {
        &self.setup.rules
    }

    /// The templates.
    pub(crate) fn templates(&self) -> &TemplateLibrary {
        &self.setup.templates
    }

    /// The rule that has chosen a method.
    pub(crate) fn rule_of(&self, chosen: &Chosen) -> Option<&CompiledRule> {
        self.rules().rules().get(chosen.rule)
    }

    /// Whether a method that the rules want must be left alone all the same.
    pub(crate) fn is_untouchable(&self, class: &[u8], method: &[u8], descriptor: &[u8]) -> bool {
        if !Untouchable::concerns(class) {
            return false;
        }
        let untouchable = self.untouchable.get_or_init(|| self.setup.untouchable(&|name| self.types.jdk_class(name)));
        untouchable.contains(class, method, descriptor)
    }
}
