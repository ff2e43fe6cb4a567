//! The configuration file is read again while the application runs: rules and templates are replaced, and the classes of which another
//! thing is wanted are retransformed.

use std::sync::Arc;

use control::Reloaded;
use trace::report::counted;

use super::{Kinds, Session};
use crate::config::setup::{self, Setup};
use crate::desired::generation::Generation;
use crate::reconcile::Change;

impl Session {
    /// Reads the configuration file again. Holds no lock meanwhile: a drive may hang.
    pub(super) fn read_again(&self) -> Result<Setup, String> {
        let generation = self.instrumentation.generation();
        setup::from_file(&generation.setup.file.to_string_lossy())
            .map_err(|error| format!("{}\ngeneration {} stays in force", error.text.trim_end(), generation.number))
    }

    /// Carries out what is different in the configuration as read now. What cannot change leaves the present rules in force.
    pub(super) fn replace_rules(&self, setup: Setup) -> Result<Reloaded, String> {
        let _one_at_a_time = self.reloading.lock();
        self.check_that_it_stays()?;
        let before = self.instrumentation.generation();
        let in_force = || format!("generation {} stays in force", before.number);
        refuse_fixed_tables(&before.setup, &setup).map_err(|reason| format!("{reason}; {}", in_force()))?;
        let has_contexts = !setup.config.contexts.is_empty();
        let kinds = if has_contexts { Kinds::of(&setup).with_claims(&setup) } else { Kinds::of(&setup) };
        self.get_ready(kinds.and_contexts(has_contexts)).map_err(|reason| format!("{reason}; {}", in_force()))?;
        let contexts = self.change_contexts(&setup).map_err(|reason| format!("{reason}; {}", in_force()))?;
        self.silence_contexts(&contexts);
        let (warnings, rules) = (setup.warnings.clone(), setup.rules.rules().len());
        let number = self.replace_generation(&before, setup);
        let change = Change::Replan { before: Arc::clone(&before) };
        let outcome = self.reconciler.carry_out(&self.instrumentation, change);
        self.arm_contexts(&contexts);
        self.end_contexts(&contexts);
        let generation = self.instrumentation.generation();
        self.reconciler.let_wait(|name| generation.wants_name(name));
        self.close_gate();
        self.check_that_it_stays()?;
        let outcome = outcome.ok_or("the rules are in force for classes loaded from now on; the JVM attaches no more threads, and loaded classes stay as they are")?;
        let classes = outcome.changed.len();
        let line = format!(
            "generation {number}: {} from {}, {}",
            counted(rules as u64, "rule"),
            before.setup.file.display(),
            changed(classes)
        );
        tracing::info!("{line}");
        self.instrumentation.live.note(&line);
        self.instrumentation.events.note("reload", &line);
        let waiting = self.reconciler.waiting(|_| true);
        Ok(Reloaded { generation: number, rules, classes_changed: classes, waiting, warnings })
    }

    fn check_that_it_stays(&self) -> Result<(), String> {
        let ends = self.instrumentation.is_leaving();
        if ends {
            Err("the recording has ended meanwhile: the rules have no effect any more".to_owned())
        } else {
            Ok(())
        }
    }

    /// Does what the new kinds of probes need.
    pub(super) fn get_ready(&self, kinds: Kinds) -> Result<(), String> {
        let Some(runtime) = self.running.lock().runtime else { return Err("nothing is recorded yet".to_owned()) };
        let ready = self.vm.with_attached_daemon(c"instr-reload", |jni| {
            self.make_ready_for(jni, runtime, kinds)?;
            if kinds.full_is_counted { self.instrumentation.switch.count_full(jni) } else { Ok(()) }
        });
        ready.unwrap_or_else(|| Err("the JVM attaches no more threads".to_owned()))
    }

    /// From now on classes get what the new rules want; returns the number of the generation.
    fn replace_generation(&self, before: &Arc<Generation>, setup: Setup) -> u32 {
        // Open until the loaded classes are done: a class whose name the old rules do not want is let in.
        self.open_gate();
        let next = before.next(setup);
        let number = next.number;
        self.instrumentation.wanting_rules.rename(&next.rules().renamed_since(before.rules()));
        self.put_in_force(&next);
        number
    }
}

fn changed(classes: usize) -> String {
    if classes == 0 { "no class changed".to_owned() } else { format!("{} changed", counted(classes as u64, "class")) }
}

/// Refuses what only a new session can change.
fn refuse_fixed_tables(before: &Setup, now: &Setup) -> Result<(), String> {
    let tables = before.config.fixed_tables_that_differ(&now.config);
    if tables.is_empty() {
        return Ok(());
    }
    let list = tables.iter().map(|table| format!("[{table}]")).collect::<Vec<_>>().join(" and ");
    // Where contexts are kept is chosen once for a JVM.
    let how = if tables.contains(&"contexts") { "restart the JVM" } else { "detach it and attach it again" };
    Err(format!("{}: {list} cannot change while the agent runs: {how}, or take that change back", now.file.display()))
}
