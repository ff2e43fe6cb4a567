//! The runtime's Java classes: defined from memory in the boot loader, package `java.instr`.
//!
//! Every class loader delegates `java.*`, so instrumented code finds them wherever it lives; no file is written and no boot
//! path is appended (which would cost class data sharing).

use std::ffi::CString;

use crate::embedded;
use crate::jvm::{self, GlobalClass, Jni, Jvmti, RecorderNatives, StaticLongField};
use crate::metrics::FullCalls;

/// Extends a class of `jdk.internal.misc`, and exists only where that class does.
const CARRIER_RINGS: &str = "java/instr/CarrierRings";
const CARRIER_RINGS_SINCE: u32 = 21;

/// The classes that the agent talks to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuntimeClasses {
    recorder: GlobalClass,
    full: GlobalClass,
    /// `java.instr.Watch.tick`.
    pub(crate) tick: StaticLongField,
}

impl RuntimeClasses {
    /// Defines all classes, opens what they need, binds their native methods.
    pub(crate) fn define(
        jvmti: Jvmti,
        jni: &Jni<'_>,
        natives: &'static dyn RecorderNatives,
    ) -> Result<RuntimeClasses, String> {
        let (mut recorder, mut watch, mut full, mut exported) = (None, None, None, false);
        let (after_export, plain): (Vec<_>, Vec<_>) =
            embedded::RUNTIME_CLASSES.iter().partition(|(name, _)| *name == CARRIER_RINGS);
        for (name, bytes) in plain {
            let class = define(jni, name, bytes)?;
            if !std::mem::replace(&mut exported, true) {
                jvm::export_to_class(jvmti, jni, c"jdk.internal.misc", class).map_err(|error| error.to_string())?;
            }
            match name {
                "java/instr/Recorder" => recorder = Some(class),
                "java/instr/Full" => full = Some(class),
                "java/instr/Watch" => watch = Some(class),
                _ => {}
            }
        }
        if jvmti.java_version() >= CARRIER_RINGS_SINCE {
            after_export.iter().try_for_each(|(name, bytes)| define(jni, name, bytes).map(drop))?;
        }
        let (Some(recorder), Some(watch), Some(full)) = (recorder, watch, full) else {
            return Err("this build of the agent has no runtime classes".to_owned());
        };
        jvm::register_recorder_natives(jni, recorder, natives).map_err(|error| error.to_string())?;
        jvm::register_full_natives(jni, full).map_err(|error| error.to_string())?;
        let tick = StaticLongField::find(jni, watch, c"tick").map_err(|error| error.to_string())?;
        Ok(RuntimeClasses { recorder, full, tick })
    }

    /// Switches all probes on.
    pub(crate) fn start(&self, jni: &Jni<'_>) -> Result<(), String> {
        jvm::call_static_void(jni, self.recorder, c"start").map_err(|error| error.to_string())
    }

    /// Lets the probes of level full write their figures into this memory, processor time among them or not.
    pub(crate) fn start_full(&self, jni: &Jni<'_>, calls: &FullCalls, cpu_times: bool) -> Result<(), String> {
        for (name, value) in calls.java_fields(cpu_times) {
            let field = StaticLongField::find(jni, self.full, name).map_err(|error| error.to_string())?;
            field.set(jni, value);
        }
        Ok(())
    }

    /// Switches all probes off.
    pub(crate) fn stop(&self, jni: &Jni<'_>) {
        match StaticLongField::find(jni, self.full, c"on") {
            Ok(on) => on.set(jni, 0),
            Err(error) => tracing::error!(%error, "the probes of level full cannot be switched off"),
        }
        if let Err(error) = jvm::call_static_void(jni, self.recorder, c"stop") {
            tracing::error!(%error, "the probes cannot be switched off");
        }
    }
}

fn define(jni: &Jni<'_>, name: &str, bytes: &[u8]) -> Result<GlobalClass, String> {
    let name = CString::new(name).map_err(|error| error.to_string())?;
    jvm::define_boot_class(jni, &name, bytes).map_err(|error| format!("{}: {error}", name.to_string_lossy()))
}
