//! What of the JVM is recorded besides calls: collected by callbacks, written by the drainer.

pub(super) mod jvm_event_queue;
pub(crate) mod jvm_event_recording;
