//! The methods of a trace with the figures of all their calls.

use rustc_hash::FxHashMap;

use super::RecordedPart;
use super::blocks::{Block, Blocks};
use super::lengths::CallTimes;
use super::tree::Subtracted;
use crate::reader::Method;
use crate::{IN_BURSTS, INSIDE};

/// Stands in the call tree for the paths that have no nodes of their own.
pub(super) const LEFT_OUT: &str = "(paths left out)";

/// A method of an [`Analysis`](super::Analysis), with the template that measured it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FrameId(pub(crate) u32);

impl FrameId {
    /// Position in [`Analysis::frames`](super::Analysis::frames).
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The figures of a method. All times in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// Name of the class with dots.
    pub class: String,
    /// Name of the class's module; empty if the recording does not say it.
    pub module: String,
    /// Name of the method; of calls that were recorded inside a context only, followed by that: `find inside a.B.c > d.E.f`.
    pub method: String,
    /// Descriptor of the method.
    pub descriptor: String,
    /// The types of its parameters (`int, String`), if the class has another recorded method of this name.
    pub parameters: Option<String>,
    /// Template that measured it.
    pub template: String,
    /// Calls; at level watch only those that a tick has seen.
    pub calls: u64,
    /// Time in the method and all that it called. A call inside another call of the same method counts once.
    pub total: u64,
    /// Time in the method itself, without measured methods that it called.
    pub own: u64,
    /// In 19 cases of 20 the true `total` is not farther off than this; 0 where times are exact.
    pub total_margin: u64,
    /// The same of `own`.
    pub own_margin: u64,
    /// The recorded times of its calls.
    pub times: CallTimes,
    /// Time of calls of which it is unknown whether this method or another one made them ([`crate::NestingEvidence`]).
    pub(super) doubtful: u64,
    /// Time of its calls before the first moment of which everything was kept: what they called until then is missing.
    pub(super) cut: u64,
    /// Whether `own` is an estimate: some calls, or some calls that they made, were measured by ticks.
    pub own_is_estimated: bool,
    /// What was subtracted from the recorded `own` and `total` because it was the time of probes.
    pub(super) probes: Subtracted,
    /// The calls by blocks of time, if that was asked for.
    pub(super) blocks: Option<Box<Blocks>>,
    /// The part of the time to which the number of calls applies, if the level was changed meanwhile.
    pub part: Option<RecordedPart>,
}

impl Frame {
    /// Whether times are estimates: some calls were measured by ticks.
    #[must_use]
    pub fn is_estimated(&self) -> bool {
        self.times.estimated_calls > 0
    }

    /// Whether only calls that began in a window of level burst were recorded.
    #[must_use]
    pub fn is_in_bursts(&self) -> bool {
        self.template.ends_with(IN_BURSTS)
    }

    /// Class and method: `com.acme.Handler.handle`.
    #[must_use]
    pub fn full_name(&self) -> String {
        if self.class.is_empty() { self.method.clone() } else { format!("{}.{}", self.class, self.method) }
    }

    /// The full name; of an overloaded method with the types of its parameters.
    #[must_use]
    pub fn distinct_name(&self) -> String {
        let parameters = self.parameters.as_ref().map_or_else(String::new, |parameters| format!("({parameters})"));
        format!("{}{parameters}", self.full_name())
    }

    /// The full name, followed by whether figures are of bursts only: those are another thing than figures of all calls.
    #[must_use]
    pub fn reported_name(&self) -> String {
        format!("{}{}", self.full_name(), self.bursts())
    }

    /// Returns the name of the method alone.
    pub(super) fn bare_method(&self) -> &str {
        self.method.strip_suffix(context_of(&self.template)).unwrap_or(&self.method)
    }

    fn bursts(&self) -> &'static str {
        if self.is_in_bursts() { IN_BURSTS } else { "" }
    }

    /// The distinct name, and after it the part of the time to which the number of calls applies.
    #[must_use]
    pub fn marked_name(&self) -> String {
        self.name_marked_with(self.part.as_ref())
    }

    /// Returns the same with a part that was found before the analysis was complete.
    pub(crate) fn name_marked_with(&self, part: Option<&RecordedPart>) -> String {
        let part = part.map_or(String::new(), |part| format!(" [{}]", part.text));
        format!("{}{}{part}", self.distinct_name(), self.bursts())
    }

    pub(super) fn add(&mut self, duration: u64, exact: bool, is_outermost: bool) {
        self.calls += 1;
        self.times.add(duration, exact);
        if is_outermost {
            self.total = self.total.saturating_add(duration);
        }
    }

    /// The calls of a block of time.
    pub(super) fn block_mut(&mut self, block: usize) -> Option<&mut Block> {
        self.blocks.get_or_insert_default().get_mut(block)
    }
}

/// Returns what follows the name of a template of which calls were recorded inside a context only; empty for others.
fn context_of(template: &str) -> &str {
    let template = template.strip_suffix(IN_BURSTS).unwrap_or(template);
    template.find(INSIDE).and_then(|at| template.get(at..)).unwrap_or("")
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity {
    class: String,
    method: String,
    descriptor: String,
    template: String,
}

/// Gives equal methods of all chunks the same id.
#[derive(Debug, Default)]
pub(super) struct Frames {
    ids: FxHashMap<Identity, FrameId>,
    pub(super) frames: Vec<Frame>,
}

impl Frames {
    /// The id of a method; a call whose method the chunk does not name counts for a method named `?`.
    pub(super) fn id(&mut self, (method, template): (Option<Method<'_>>, &str)) -> FrameId {
        let Method { class, module, name, descriptor } =
            method.unwrap_or(Method { name: "?", ..Method::of_class("?") });
        let identity = Identity {
            class: class.replace('/', "."),
            method: name.to_owned(),
            descriptor: descriptor.to_owned(),
            template: template.to_owned(),
        };
        let next = FrameId(self.frames.len() as u32);
        *self.ids.entry(identity).or_insert_with_key(|identity| {
            self.frames.push(Frame {
                class: identity.class.clone(),
                module: module.to_owned(),
                method: format!("{}{}", identity.method, context_of(&identity.template)),
                descriptor: identity.descriptor.clone(),
                template: identity.template.clone(),
                ..Frame::default()
            });
            next
        })
    }

    /// The id of [`LEFT_OUT`].
    pub(super) fn left_out(&mut self) -> FrameId {
        self.id((Some(Method { name: LEFT_OUT, ..Method::of_class("") }), ""))
    }

    pub(super) fn get_mut(&mut self, id: FrameId) -> Option<&mut Frame> {
        self.frames.get_mut(id.index())
    }
}
