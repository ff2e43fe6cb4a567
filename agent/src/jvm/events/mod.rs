//! Events of the JVM: callbacks, who listens to them, and what every call from the JVM into the agent passes.

pub(super) mod callbacks;
pub(super) mod code_events;
pub(super) mod event_guard;
pub(super) mod event_listener;
pub(super) mod name_gate;
pub(super) mod object_events;
