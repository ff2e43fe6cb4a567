//! A class in the class hook: what is wanted of it becomes a plan, and the engine rewrites it.

mod ahead_of_time;
pub(crate) mod class_dump;
mod class_load_hook;
mod class_origin;
mod class_plan;
mod hook_facts;
pub(crate) mod inspection;
pub(crate) mod instrumentation;
pub(crate) mod late_decisions;
pub(crate) mod late_restores;
mod measured_calls;
pub(crate) mod method_state;
mod numbered_places;
mod undecided;
mod wishes;

pub(crate) use class_load_hook::{class_file, ends_at_its_name, time_in_hook};
pub(crate) use class_origin::JvmOrigin;
pub(crate) use class_plan::{ClassPlan, Coming};
