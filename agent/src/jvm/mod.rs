//! The safe layer over the JVM's two native interfaces, JVMTI and JNI, and with `ffi` the only place of the agent with `unsafe` code.
//!
//! Raw tables come from `jvmti_bindings::sys`. Rules that every function here keeps:
//! * JNI is called only in the LIVE phase and only on a thread that the JVM knows ([`Jni`] is proof of that);
//! * local references are freed where they are made, no Java exception of ours stays pending;
//! * memory that the JVM allocated is copied and given back at once;
//! * no panic crosses into the JVM (`events::event_guard`).
#![allow(unsafe_code, reason = "the border to the JVM's C interfaces; every block says why it is sound")]

mod capabilities;
mod classes;
mod clock;
mod environment;
mod error;
mod events;
mod java_vm;
mod jni;
mod objects;
mod process;
mod runtime_classes;
mod threads;

pub(crate) use capabilities::{Wish, ask_for, give_back, negotiate};
pub(crate) use classes::class_origin::{code_location, loader_names, module_name, parent_loaders};
pub(crate) use classes::class_resource::{read_class_resource, read_class_resource_up_to, with_protection_domain};
pub(crate) use classes::loaded_classes::{ConstantPool, LoadedClass, LoadedClasses, TooLong, retransform};
pub(crate) use classes::loader_id::objects_tagged;
pub(crate) use classes::method_facts::{
    MethodFacts, MethodId, MethodNames, make_method_ids, methods_of, methods_with_ids,
};
pub(crate) use classes::object_fields::UrlParts;
pub(crate) use clock::nano_time::{NanoClock, nanos_as_probe_length, probe_length_nanos, probe_nanos};
pub(crate) use environment::Jvmti;
pub(crate) use error::JvmtiError;
pub(crate) use events::callbacks::install;
pub(crate) use events::event_guard::Event;
pub(crate) use events::event_listener::{ClassFile, CodePlace, JvmEvents};
pub(crate) use events::name_gate::{LARGE_FILE, NAME_GATE};
pub(crate) use java_vm::JavaVm;
pub(crate) use jni::{Jni, Local, ObjectRef};
pub(crate) use objects::anchored_call::AnchoredCall;
pub(crate) use objects::arrays::Array;
pub(crate) use objects::bounded_table::BoundedTable;
pub(crate) use objects::logging_context::{LOGGING_CONTEXT, has_logging_context, logging_context};
pub(crate) use objects::members::{FieldId, FieldNames, Member, ObjectClass, fields_with_ids, with_class_of};
pub(crate) use objects::native_baggage::register_baggage_native;
pub(crate) use objects::native_evaluation::register_condition_natives;
pub(crate) use objects::plain_values::{PlainValue, ReadValue, class_name, plain_value};
pub(crate) use objects::request_getters::{RequestGetter, request_text};
pub(crate) use objects::statements::{STATEMENT, is_statement_class, statement_text};
pub(crate) use objects::weak_class::WeakClass;
pub(crate) use process::elf_symbols::Symbols;
pub(crate) use process::heap_size::{HeapSize, heap_size};
pub(crate) use process::native_libraries::NativeLibrary;
pub(crate) use process::operating_system::{
    block_signals, current_thread_id, own_switches, process_cpu_time, run_at_once, thread_cpu_time, wake_up_in_time,
    zeroed_words,
};
pub(crate) use runtime_classes::define_class::{GlobalClass, define_boot_class};
pub(crate) use runtime_classes::modules::export_to_class;
pub(crate) use runtime_classes::natives::{
    ContextClasses, RecorderClasses, RecorderNatives, register_full_natives, register_recorder_natives,
    register_stack_walk, register_table_natives,
};
pub(crate) use threads::own_stack::{
    HookCallbacks, OwnStack, StackedCall, register_caller_finder_natives, register_caller_native,
};
pub(crate) use threads::sample_buffer::{Sample, SampleBuffer};
pub(crate) use threads::sample_signal::ThreadSlot;
pub(crate) mod counter {
    //! The processor's counter as the clock of the probes.
    pub(crate) use super::clock::counter_watch::{CounterWatch, PresentTime};
    pub(crate) use super::clock::processor_clock::{
        TickScale, is_read, note_beginning, prepare, read_system, scale_in_use, time_of_cycles,
    };
}
/// What every call from the JVM into the agent passes.
pub(crate) mod guard {
    pub(crate) use super::events::event_guard::{Event, run};
}
pub(crate) mod signal {
    //! Samples by signals.
    pub(crate) use super::threads::sample_signal::{has_signal, monotonic_nanos, prepare, slot, switch_off, switch_on};
}
pub(crate) use process::socket_peer::{effective_user, is_hung_up, socket_peer};
pub(crate) use process::thread_counters::{CounterKind, ThreadCounters, present_thread};
pub(crate) use process::vm_structs::{AllocationFields, CodeRegion, CodeRegions, VmStructs, perf_memory};
pub(crate) use runtime_classes::static_members::{
    StaticDoubleField, StaticLongField, call_static_void, call_static_void_with_class, with_static_thread,
};
pub(crate) use threads::thread_facts::{
    AllThreads, ThreadFacts, ThreadState, WalkedStack, ask_for_sampling, current_java_thread_id, is_virtual_thread,
    java_thread_id, stacks_in_states, state_and_stack, thread_cpu_nanos, thread_facts, threads_by_environment,
    threads_have_ids, walk_stacks, walk_stacks_with_states,
};
