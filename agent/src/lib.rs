//! The JVM agent `libinstr.so`: merges templates into the methods of a running application and records their calls.
//!
//! The life of the agent:
//! 1. `entry`: the JVM loads the library; `setup` reads the configuration. Any mistake in it is told on stderr, and the
//!    application runs un-instrumented.
//! 2. The JVM is up (or the agent was attached): `session` defines the runtime's Java classes from memory, starts the
//!    `recorder`, switches the class hook on and has the classes loaded before rewritten (`reconcile`).
//! 3. `transform`: each class passes by; most end at their name. `hierarchy` knows super types without loading.
//! 4. The JVM goes down, or the agent is detached: probes off, bodies restored, trace completed, statistics written.
//!
//! Only `jvm` touches the JVM's C interfaces; `ffi` has the functions that the JVM looks up in the library.

#[cfg(panic = "abort")]
compile_error!("the agent must be built with panic = \"unwind\": an abort would take the application with it");

mod call_tree;
mod class_dump;
mod compiler_time;
mod control;
mod desired;
mod embedded;
mod entry;
mod ffi;
mod file_names;
mod followed_loaders;
mod generation;
mod governor;
mod health;
mod hierarchy;
mod hotspot_hazards;
mod hottest;
mod initial_state;
mod instrumentation;
mod jvm;
mod jvm_event_recording;
mod jvm_figures;
mod late_decisions;
mod late_restores;
mod live_control;
mod live_levels;
mod live_selection;
mod logging;
mod message;
mod native_libraries;
mod parameter_doubts;
mod probe_prices;
mod probe_switch;
mod reconcile;
mod recorder;
mod rewritten_classes;
mod runtime_classes;
mod safe_retransforms;
mod sampler;
mod session;
mod setup;
mod statistics;
mod thread_memory;
mod trace_file;
mod transform;
mod unloaded_classes;
mod withdrawn_probes;
mod wrapped_classes;
