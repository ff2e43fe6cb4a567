//! Whether one method of a loaded class carries a probe, and what keeps it from having one: by what the JVM and the session know of it, without reading
//! its class file.

use control::LeftAlone;
use instrument_core::selection::SkipReason;

use super::inspection::{Inspection, ProbedMethod};
use crate::classes::hierarchy::ClassId;

const ACC_BRIDGE: u16 = 0x0040;
const ACC_NATIVE: u16 = 0x0100;
const ACC_ABSTRACT: u16 = 0x0400;

/// A method of a class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MethodOfClass<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) descriptor: &'a [u8],
    pub(crate) flags: u16,
}

impl Inspection<'_> {
    /// Returns what is known of the method's probes, if it carries any.
    pub(crate) fn probe_of(&self, id: &ClassId, method: MethodOfClass<'_>) -> Option<&ProbedMethod> {
        if !self.instrumentation.rewritten.has(&id.0, id.1) {
            return None;
        }
        let text = |bytes: &[u8]| classfile::ModifiedUtf8(bytes).to_string();
        let of_class = self.probed.by_class.get(&instrument_core::internal_name::to_source(&id.0))?;
        of_class.get(&(text(method.name), text(method.descriptor)))
    }

    /// Returns why the method can have no probe, whoever asks for one, apart from what the state of its class has to do with it
    /// ([`Inspection::obstacle`]).
    pub(crate) fn obstacle_of(&self, id: &ClassId, method: MethodOfClass<'_>) -> Option<LeftAlone> {
        if id.0.contains(&b'+') {
            return Some(LeftAlone::new("hidden", "its class is hidden: the JVM allows nobody to change it"));
        }
        let of_class = self.generation.rules().unwanted(&id.0);
        let of_class = of_class.filter(|why| matches!(why, SkipReason::ExcludedGlobally | SkipReason::RuntimeClass));
        let of_method =
            [(ACC_ABSTRACT, SkipReason::Abstract), (ACC_NATIVE, SkipReason::Native), (ACC_BRIDGE, SkipReason::Bridge)];
        let of_method = of_method.into_iter().find(|(flag, _)| method.flags & flag != 0).map(|(_, why)| why);
        let is_untouchable = || self.generation.is_untouchable(&id.0, method.name, method.descriptor);
        let why = of_class.or(of_method).or_else(|| is_untouchable().then_some(SkipReason::UsedByRuntime));
        match why {
            // The text for rules names a key that claims do not have.
            Some(SkipReason::Bridge) => Some(LeftAlone::new(SkipReason::Bridge.key(), "a bridge only forwards")),
            why => why.map(LeftAlone::from),
        }
    }
}
