//! Conditions that persons ask for: what they cannot read of loaded methods is refused, and texts of statements are remembered for them.

use std::sync::Arc;

use crate::conditions::{KnownClasses, MethodUnderCondition, check, takes_request};
use crate::desired::{Claim, RequestedProbes};
use crate::jvm::{LoadedClasses, Wish, ask_for, methods_of};

use super::Session;

/// Methods that are looked at; more are only counted as failures.
const MOST_METHODS: usize = 1_000;
/// Most classes of connections that are changed for a condition.
const MOST_CONNECTIONS: usize = 256;

impl Session {
    /// Returns the probes with this condition; `Err` if it can hold for none of the loaded methods that are meant.
    pub(super) fn with_condition(
        &self,
        probes: RequestedProbes,
        condition: Option<&str>,
    ) -> Result<RequestedProbes, String> {
        let Some(condition) = condition else { return Ok(probes) };
        // Shows which getters only return a field.
        ask_for(self.jvmti, Wish::Bytecodes);
        let checked = self.vm.with_attached_daemon(c"instr-condition", |jni| {
            let loaded = LoadedClasses::all(self.jvmti, jni).map_err(|error| error.to_string())?;
            let known = KnownClasses::new(loaded.as_slice());
            let methods_meant = |pattern: &RequestedProbes| {
                let mut meant = Vec::new();
                for class in loaded.as_slice() {
                    let Some(name) = class.internal_name(self.jvmti) else { continue };
                    if meant.len() >= MOST_METHODS || !pattern.may_be_in(&String::from_utf8_lossy(&name)) {
                        continue;
                    }
                    let methods = methods_of(self.jvmti, *class).into_iter();
                    let is_meant = methods.filter(|method| pattern.takes_of(&name, method));
                    meant.extend(is_meant.map(|names| MethodUnderCondition { class: *class, names }));
                }
                meant
            };
            let evaluated_in = methods_meant(probes.within.first().unwrap_or(&probes));
            let all_take_requests =
                !evaluated_in.is_empty() && evaluated_in.iter().all(|method| takes_request(&method.names));
            let probes = probes.when(condition, all_take_requests)?;
            for (at, of, _) in probes.condition.iter().flat_map(|condition| condition.steps()) {
                let Some(pattern) = probes.within.get(at) else { continue };
                let allowed = &self.instrumentation.config.conditions;
                let found = methods_meant(pattern);
                let mut results = found.iter().map(|method| check((self.jvmti, jni), &known, method, of, allowed));
                // One of several overloads may be the one that is meant.
                if let Some(Err(reason)) = results.next()
                    && results.all(|other| other.is_err())
                {
                    return Err(reason);
                }
            }
            Ok(probes)
        });
        let probes = checked.unwrap_or_else(|| Err("the JVM attaches no more threads".to_owned()))?;
        if probes.looks_at_statements() { self.with_preparing(probes) } else { Ok(probes) }
    }

    /// The same, with the connections changed that are loaded now: they remember what the statements execute that they prepare.
    fn with_preparing(&self, probes: RequestedProbes) -> Result<RequestedProbes, String> {
        let mut names: Vec<Arc<[u8]>> = self.connections().into_iter().map(|(name, _)| name.into()).collect();
        names.sort();
        names.dedup();
        if names.len() > MOST_CONNECTIONS {
            tracing::warn!(
                "`sql` in a condition: statements of more than {MOST_CONNECTIONS} classes of connections are not known"
            );
            names.truncate(MOST_CONNECTIONS);
        }
        probes.with_preparing(names.iter().map(|name| &**name))
    }

    /// Has Java remember what is prepared as long as a condition looks at it, and forget it then.
    pub(super) fn remember_statements(&self) {
        let is_wanted = |claim: &Claim| !claim.probes.preparing().is_empty();
        let remember = self.instrumentation.claims.all().iter().any(is_wanted);
        let runtime = {
            let mut running = self.running.lock();
            let is_changed = std::mem::replace(&mut running.remembers_statements, remember) != remember;
            running.runtime.filter(|_| is_changed)
        };
        let Some(runtime) = runtime else { return };
        let attached =
            self.vm.with_attached_daemon(c"instr-condition", |jni| runtime.remember_statements(jni, remember));
        if attached.is_none() {
            tracing::error!("texts of statements are not known to conditions: the JVM attaches no more threads");
        }
    }
}
