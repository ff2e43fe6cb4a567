//! Loaded classes are made to carry what is wanted. All retransforming is done here: by one thread that works off one queue
//! ([`reconciler`]), except for a class that is being linked, which its own thread retransforms before the class runs
//! ([`linked_classes`]).
//!
//! What is wanted is not known here: the class hook (`transform/`) is presented with the class and decides.

mod batches;
mod claimed_before;
mod linked_classes;
mod loaded_before;
mod loaded_head;
mod reconciler;
mod restoring;
mod retransforming;
mod standing_frames;
mod stop_time;

pub(crate) use linked_classes::class_prepared;
pub(crate) use reconciler::{Change, Outcome, Reconciler};
pub(crate) use restoring::class_linked;
