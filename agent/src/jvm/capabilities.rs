//! Capability negotiation: what is wanted, reduced to what this JVM can give in its phase.

use jvmti_bindings::sys::jvmti;

use super::environment::{Jvmti, jvmti_call};
use super::error::JvmtiError;

/// What the agent was granted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Granted {
    /// Classes can be rewritten after they were loaded.
    pub(crate) retransform: bool,
}

/// What only some sessions need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Events of compiled methods.
    CompiledMethods,
    /// Events of sampled allocations.
    Allocations,
    /// To be given the bytecode of methods, and their lines if the JVM has them.
    Bytecodes,
    /// Processor time of threads.
    ThreadCpuTime,
}

/// Asks for a capability; whether the JVM gives it.
pub(crate) fn ask_for(jvmti: Jvmti, wish: Wish) -> bool {
    let mut potential = jvmti::jvmtiCapabilities::default();
    // SAFETY: valid environment, out-parameter on our stack.
    if unsafe { jvmti_call!(jvmti, GetPotentialCapabilities, &mut potential) }.is_err() {
        return false;
    }
    let mut wanted = jvmti::jvmtiCapabilities::default();
    let is_possible = match wish {
        Wish::CompiledMethods => {
            wanted.set_can_generate_compiled_method_load_events(true);
            potential.can_generate_compiled_method_load_events()
        }
        Wish::Allocations => {
            wanted.set_can_generate_sampled_object_alloc_events(true);
            wanted.set_can_get_line_numbers(potential.can_get_line_numbers());
            potential.can_generate_sampled_object_alloc_events()
        }
        Wish::Bytecodes => {
            wanted.set_can_get_bytecodes(true);
            wanted.set_can_get_line_numbers(potential.can_get_line_numbers());
            potential.can_get_bytecodes()
        }
        Wish::ThreadCpuTime => {
            wanted.set_can_get_thread_cpu_time(true);
            potential.can_get_thread_cpu_time()
        }
    };
    // SAFETY: valid environment, the structure lives through the call.
    is_possible && unsafe { jvmti_call!(jvmti, AddCapabilities, &wanted) }.is_ok()
}

/// Gives a capability back, so that other agents can have it.
pub(crate) fn give_back(jvmti: Jvmti, wish: Wish) {
    let mut unwanted = jvmti::jvmtiCapabilities::default();
    match wish {
        Wish::CompiledMethods => unwanted.set_can_generate_compiled_method_load_events(true),
        Wish::Allocations => unwanted.set_can_generate_sampled_object_alloc_events(true),
        Wish::Bytecodes => unwanted.set_can_get_bytecodes(true),
        Wish::ThreadCpuTime => unwanted.set_can_get_thread_cpu_time(true),
    }
    // SAFETY: valid environment, the structure lives through the call.
    if let Err(error) = unsafe { jvmti_call!(jvmti, RelinquishCapabilities, &unwanted) } {
        tracing::debug!(%error, ?wish, "a capability is kept");
    }
}

/// Adds the capabilities that the agent uses and that the JVM has to give.
///
/// `AddCapabilities` is all or nothing, hence the intersection. The early class hook is never asked for: it switches
/// class data sharing off and doubles the start-up time of small programs.
pub(crate) fn negotiate(jvmti: Jvmti) -> Result<Granted, JvmtiError> {
    let mut potential = jvmti::jvmtiCapabilities::default();
    // SAFETY: valid environment, out-parameter on our stack.
    unsafe { jvmti_call!(jvmti, GetPotentialCapabilities, &mut potential) }?;

    let mut wanted = jvmti::jvmtiCapabilities::default();
    wanted.set_can_generate_all_class_hook_events(potential.can_generate_all_class_hook_events());
    wanted.set_can_retransform_classes(potential.can_retransform_classes());
    wanted.set_can_retransform_any_class(potential.can_retransform_any_class());
    wanted.set_can_get_constant_pool(potential.can_get_constant_pool());
    wanted.set_can_generate_garbage_collection_events(potential.can_generate_garbage_collection_events());
    // The identity of class loaders, and their end.
    wanted.set_can_tag_objects(potential.can_tag_objects());
    wanted.set_can_generate_object_free_events(potential.can_generate_object_free_events());
    // SAFETY: valid environment, the structure lives through the call.
    unsafe { jvmti_call!(jvmti, AddCapabilities, &wanted) }?;

    Ok(Granted { retransform: wanted.can_retransform_classes() })
}
