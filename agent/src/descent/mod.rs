//! The descent of a diagnosis: which branch below a method makes its slow calls slow. Knows no JVM: figures by cell and stacks of slow calls are handed
//! in, and what is to be measured next is handed out (`session/diagnosis` does both).
//!
//! `tree` has what is measured and what that explains; `branches` chooses what to follow; `stacks` says what slow calls were seen in, `passed_over`
//! which methods of that are measured; `waits` what they waited for; `wording` makes the result; `slow_path` says where the time of one call went.

mod branches;
mod passed_over;
mod slow_path;
mod stacks;
mod tree;
mod waits;
mod wording;

pub(crate) use passed_over::{level_by_level, thinned};
pub(crate) use slow_path::slow_path;
pub(crate) use stacks::{Frame, FrameMethod, GoesOn, SlowStack, Stacks, Step, end_by_name};
pub(crate) use trace::report::class_and_method as short;
pub(crate) use tree::{End, Fate, NodeAt, NodeOf, Tree};
pub(crate) use wording::{Counted, Subject, result_of};
