//! What the engine hands back.

use std::ops::Deref;
use std::sync::Arc;

use crate::level::Mode;
use crate::weave::call_sites::{CallSite, RefusedSite};
use crate::weave::captured::CapturedValues;
use crate::weave::offset_map::OffsetMap;
use crate::weave::refusal::Refusal;
use crate::weave::template::TemplateId;

/// A method to instrument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodPlan {
    /// Place of the method in the class.
    pub method_index: usize,
    /// Templates, outermost first. None at all is allowed in wrapper mode only: the wrapper then just passes the call on.
    pub templates: Templates,
    /// How they are attached.
    pub mode: Mode,
    /// In inline mode: whether the method may get a wrapper where its body cannot take the templates. Only while the class
    /// is loaded for the first time: nothing can be added to a class that is loaded.
    pub wrapper_allowed: bool,
    /// The values that templates which ask for them are given.
    pub captured: Option<Box<CapturedValues>>,
    /// Invoke instructions of the method's own body with calls of the runtime around them. Only with an innermost template that declares
    /// a scope, see [`Template::declares_scope`](crate::template::Template::declares_scope).
    pub sites: Vec<CallSite>,
}

/// Templates around one method, outermost first. One alone, which is most often the case, takes no memory of its own.
#[derive(Clone, Debug)]
pub enum Templates {
    /// One.
    One(TemplateId),
    /// None at all or several.
    Several(Arc<[TemplateId]>),
}

impl Deref for Templates {
    type Target = [TemplateId];

    #[inline]
    fn deref(&self) -> &[TemplateId] {
        match self {
            Templates::One(id) => std::slice::from_ref(id),
            Templates::Several(ids) => ids,
        }
    }
}

impl PartialEq for Templates {
    fn eq(&self, other: &Templates) -> bool {
        **self == **other
    }
}

impl Eq for Templates {}

impl From<&Arc<[TemplateId]>> for Templates {
    fn from(ids: &Arc<[TemplateId]>) -> Templates {
        match **ids {
            [id] => Templates::One(id),
            _ => Templates::Several(Arc::clone(ids)),
        }
    }
}

impl From<Vec<TemplateId>> for Templates {
    fn from(ids: Vec<TemplateId>) -> Templates {
        Templates::from(&Arc::from(ids))
    }
}

impl From<TemplateId> for Templates {
    fn from(id: TemplateId) -> Templates {
        Templates::One(id)
    }
}

impl MethodPlan {
    /// A method whose body takes the templates in.
    pub fn inline(method_index: usize, templates: impl Into<Templates>) -> MethodPlan {
        MethodPlan {
            method_index,
            templates: templates.into(),
            mode: Mode::Inline,
            wrapper_allowed: false,
            captured: None,
            sites: Vec::new(),
        }
    }

    /// The same with call sites.
    #[must_use]
    pub fn with_sites(self, sites: Vec<CallSite>) -> MethodPlan {
        MethodPlan { sites, ..self }
    }

    /// The same with values to capture.
    #[must_use]
    pub fn capturing(self, captured: Option<CapturedValues>) -> MethodPlan {
        MethodPlan { captured: captured.map(Box::new), ..self }
    }

    /// A method that is renamed and called by a new one of its name.
    pub fn wrapper(method_index: usize, templates: impl Into<Templates>) -> MethodPlan {
        MethodPlan {
            method_index,
            templates: templates.into(),
            mode: Mode::Wrapper,
            wrapper_allowed: true,
            captured: None,
            sites: Vec::new(),
        }
    }
}

/// The result for one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// At least one method was rewritten.
    Rewritten(Rewritten),
    /// No method was rewritten: use the original bytes.
    Unchanged {
        /// The methods that were planned, each with the reason.
        refused: Vec<Refused>,
    },
}

/// A rewritten class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The class file. The same input always gives the same bytes.
    pub bytes: Vec<u8>,
    /// Positions of the probe numbers, which the agent overwrites when the class is loaded.
    pub probes: Vec<ProbeSlot>,
    /// The methods that were rewritten.
    pub methods: Vec<RewrittenMethod>,
    /// The methods that were planned but left as they are.
    pub refused: Vec<Refused>,
}

/// A probe number in a rewritten class: a big-endian `CONSTANT_Integer` that holds the slot's own place in
/// [`Rewritten::probes`] until somebody overwrites it with a number that is unique in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeSlot {
    /// Place of the method in the class.
    pub method_index: usize,
    /// The template that uses the number.
    pub template: TemplateId,
    /// Offset in the class file of the four bytes.
    pub offset: usize,
}

/// A rewritten method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewrittenMethod {
    /// Place of the method in the class.
    pub method_index: usize,
    /// Bytes of code before.
    pub length_before: u32,
    /// Bytes of code now; of the wrapper, if there is one.
    pub length_after: u32,
    /// Layout passes: 1, unless the method has over 32,767 bytes.
    pub passes: u32,
    /// Where each original instruction went; empty where a wrapper was made, which leaves the original as it is.
    pub offset_map: OffsetMap,
    /// The name under which the original body is found, if a wrapper took its name.
    pub renamed: Option<Box<[u8]>>,
    /// Call sites of the plan that were not inserted; all others were.
    pub refused_sites: Vec<RefusedSite>,
}

/// Bytes of code up to which HotSpot inlines a method however seldom it is called (`-XX:MaxInlineSize`).
pub const MAX_INLINE_SIZE: u32 = 35;
/// Bytes of code up to which HotSpot inlines a method that is called often (`-XX:FreqInlineSize`).
pub const FREQ_INLINE_SIZE: u32 = 325;

impl RewrittenMethod {
    /// True if the method was within a limit, and is not any more.
    pub fn grew_past(&self, limit: u32) -> bool {
        self.length_before <= limit && self.length_after > limit
    }
}

/// A method that was planned but left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Place of the method in the class.
    pub method_index: usize,
    /// Why.
    pub reason: Refusal,
}
