//! The safe layer over the JVM's two native interfaces, JVMTI and JNI, and with `ffi` the only place of the agent with `unsafe` code.
//!
//! Raw tables come from `jvmti_bindings::sys`. Rules that every function here keeps:
//! * JNI is called only in the LIVE phase and only on a thread that the JVM knows ([`Jni`] is proof of that);
//! * local references are freed where they are made, pending Java exceptions are never left behind by us;
//! * memory that the JVM allocated is copied and given back at once;
//! * no panic crosses into the JVM ([`event_guard`]).
#![allow(unsafe_code, reason = "the border to the JVM's C interfaces; every block says why it is sound")]

mod capabilities;
mod class_loaders;
mod class_origin;
mod class_resource;
mod code_events;
mod counter_watch;
mod define_class;
mod direct_call;
mod environment;
mod error;
mod event_guard;
mod event_listener;
mod events;
mod heap_size;
mod java_vm;
mod jni;
mod loaded_classes;
mod method_facts;
mod modules;
mod name_gate;
mod nano_time;
mod natives;
mod object_events;
mod operating_system;
mod processor_clock;
mod sample_buffer;
mod sample_signal;
mod socket_peer;
mod static_members;
mod system_properties;
mod threads;
mod vm_structs;
mod weak_object;

pub(crate) use capabilities::{Wish, ask_for, negotiate};
pub(crate) use class_loaders::{LoaderKind, UrlParts, class_path_length, class_path_urls, loader_kind, with_parent};
pub(crate) use class_origin::{code_location, loader_names, module_name};
pub(crate) use class_resource::{read_class_resource, with_protection_domain};
pub(crate) use define_class::{GlobalClass, define_boot_class};
pub(crate) use environment::Jvmti;
pub(crate) use error::JvmtiError;
pub(crate) use event_guard::Event;
pub(crate) use event_listener::{ClassFile, CodePlace, JvmEvents};
pub(crate) use events::install;
pub(crate) use heap_size::{HeapSize, heap_size};
pub(crate) use java_vm::JavaVm;
pub(crate) use jni::{Jni, ObjectRef};
pub(crate) use loaded_classes::{LoadedClass, LoadedClasses, retransform};
pub(crate) use method_facts::{MethodFacts, MethodId, MethodNames, make_method_ids, methods_of};
pub(crate) use modules::export_to_class;
pub(crate) use name_gate::NAME_GATE;
pub(crate) use nano_time::{NanoClock, probe_nanos};
pub(crate) use natives::{RecorderClasses, RecorderNatives, register_full_natives, register_recorder_natives};
pub(crate) use operating_system::{
    block_signals, current_thread_id, own_switches, process_cpu_time, process_start, run_at_once, thread_cpu_time,
    wake_up_in_time, zeroed_words,
};
pub(crate) use sample_buffer::{Sample, SampleBuffer};
pub(crate) use sample_signal::ThreadSlot;
pub(crate) mod counter {
    //! The processor's counter as the clock of the probes.
    pub(crate) use super::counter_watch::{CounterWatch, PresentTime};
    pub(crate) use super::processor_clock::{TickScale, is_read, note_beginning, prepare, read_system, scale_in_use};
}
/// What every call from the JVM into the agent passes.
pub(crate) mod guard {
    pub(crate) use super::event_guard::{Event, run};
}
pub(crate) mod signal {
    //! Samples by signals.
    pub(crate) use super::sample_signal::{
        has_signal, kernel_tick, monotonic_nanos, prepare, slot, switch_off, switch_on,
    };
}
pub(crate) use socket_peer::{effective_user, socket_peer};
pub(crate) use static_members::{StaticDoubleField, StaticLongField, call_static_void, call_static_void_with_class};
pub(crate) use threads::{
    AllThreads, ThreadFacts, WalkedStack, ask_for_sampling, current_java_thread_id, is_virtual_thread, java_thread_id,
    thread_cpu_nanos, thread_facts, threads_by_environment, threads_have_ids, walk_stacks, walk_stacks_with_states,
};
pub(crate) use vm_structs::{AllocationFields, VmStructs, perf_memory};
pub(crate) use weak_object::WeakObject;
