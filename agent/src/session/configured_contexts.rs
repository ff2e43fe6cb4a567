//! Probes inside contexts that the configuration file asks for: claims that begin and end with the generation.

use std::sync::Arc;
use std::time::Instant;

use control::ClaimLimits;
use settings::ContextConfig;

use super::Session;
use super::claims::open_context;
use crate::config::setup::Setup;
use crate::contexts::{self, Context};
use crate::desired::{Claim, Expiry, Kept, RequestedProbes};

/// What another configuration changes.
#[derive(Debug, Default)]
pub(super) struct ChangedContexts {
    /// Contexts that begin, to be armed when loaded classes have what is wanted.
    begun: Vec<Arc<Context>>,
    /// Claims that end.
    ended: Vec<Claim>,
}

impl Session {
    /// Makes the claims of the first generation; one that cannot be made is an error.
    pub(super) fn begin_contexts(&self, setup: &Setup) -> Result<(), String> {
        let changed = self.change_contexts(setup)?;
        self.arm_contexts(&changed);
        if !changed.begun.is_empty() {
            self.put_claims_in_force();
        }
        Ok(())
    }

    /// Replaces the claims of the configuration by those of another one; the caller puts them in force. Those that stay the same keep their numbers. On
    /// an error nothing is changed.
    pub(super) fn change_contexts(&self, setup: &Setup) -> Result<ChangedContexts, String> {
        let claims = &self.instrumentation.claims;
        let mut wanted: Vec<RequestedProbes> = Vec::new();
        for context in &setup.config.contexts {
            let reason = |reason| format!("{}:{}: {reason}", setup.file.display(), context.line);
            wanted.push(requested(setup, context).map_err(reason)?);
        }
        let mut changed = ChangedContexts::default();
        for claim in claims.all().into_iter().filter(|claim| claim.kept == Kept::InConfiguration) {
            match wanted.iter().position(|wanted| wanted.wants_the_same(&claim.probes)) {
                Some(at) => _ = wanted.remove(at),
                None => changed.ended.push(claim),
            }
        }
        let mut begun = Vec::new();
        for probes in wanted {
            match open_context(&probes, &self.instrumentation.config.conditions) {
                Ok(context) => begun.push((probes, context)),
                Err(reason) => {
                    let contexts = contexts::of_process();
                    for context in begun.iter().filter_map(|(_, context)| context.as_ref()) {
                        contexts.give_up(context);
                    }
                    return Err(reason);
                }
            }
        }
        for (probes, context) in begun {
            changed.begun.extend(context.clone());
            let expiry = Expiry::exactly(ClaimLimits::default(), Instant::now(), None);
            let id = self.instrumentation.claim_ids.next();
            claims.add(Claim { kept: Kept::InConfiguration, context, ..Claim::new(id, probes, expiry) });
        }
        for Claim { id, .. } in &changed.ended {
            claims.remove(*id);
        }
        Ok(changed)
    }

    /// Has threads be inside the contexts that have begun.
    pub(super) fn arm_contexts(&self, changed: &ChangedContexts) {
        changed.begun.iter().for_each(|context| contexts::of_process().arm(context));
    }

    /// Records nothing any more for the claims that have ended. Before the generation is replaced: then their probes are known still.
    pub(super) fn silence_contexts(&self, changed: &ChangedContexts) {
        changed.ended.iter().for_each(|claim| self.switch_off(claim.id));
    }

    /// Takes away what the claims that have ended wanted.
    pub(super) fn end_contexts(&self, changed: &ChangedContexts) {
        for claim in &changed.ended {
            self.switch_off(claim.id);
            self.take_away_of(claim);
        }
    }
}

fn requested(setup: &Setup, context: &ContextConfig) -> Result<RequestedProbes, String> {
    let methods = context.methods.as_deref().unwrap_or_default();
    let probes = RequestedProbes::parse(methods, context.template_name(), context.level)?;
    let probes = context.within.as_deref().into_iter().try_fold(probes, RequestedProbes::within)?;
    let probes = if context.direct { probes.directly()? } else { probes };
    let probes = context.when.as_deref().into_iter().try_fold(probes, |probes, when| probes.when(when, false))?;
    let probes = if context.across_threads { probes.across_threads()? } else { probes };
    let probes = context.across_hosts.iter().try_fold(probes, |probes, name| probes.across_hosts(name))?;
    for pattern in probes.asked_patterns() {
        pattern.rules(&setup.templates, &setup.config.exclude)?;
    }
    Ok(probes)
}
