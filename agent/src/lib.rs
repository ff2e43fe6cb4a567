//! The JVM agent `libinstr.so`: merges templates into the methods of a running application and records their calls.
//!
//! The life of the agent:
//! 1. `entry`: the JVM loads the library; `config::setup` reads the configuration. Any mistake in it is reported on stderr, and the
//!    application runs un-instrumented.
//! 2. The JVM is up (or the agent was attached): `session` defines the runtime's Java classes from memory, starts the
//!    `recorder`, switches the class hook on and has the classes loaded before rewritten (`reconcile`).
//! 3. `transform`: each class passes by; most end at their name. `classes::hierarchy` knows super types without loading.
//! 4. The JVM goes down, or the agent is detached: probes off, bodies restored, trace completed, statistics written.
//!
//! Only `jvm` touches the JVM's C interfaces; `ffi` has the functions that the JVM looks up in the library.

#[cfg(panic = "abort")]
compile_error!("the agent must be built with panic = \"unwind\": an abort would take the application with it");

mod call_sites;
mod caller_hooks;
mod classes;
mod conditions;
mod config;
mod contexts;
mod control;
mod descent;
mod desired;
mod discovery;
mod entry;
mod ffi;
mod files;
mod health;
mod hot_spots;
#[cfg(test)]
mod java_constants;
mod jvm;
mod jvm_figures;
mod live_levels;
mod log;
mod monitor;
mod probes;
mod random;
mod reconcile;
mod recorder;
mod sampler;
mod session;
mod statistics;
mod thread_memory;
mod transform;
mod walks;
