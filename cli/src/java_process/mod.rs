//! JVMs that run on this machine, as /proc and their own files show them, and how they are asked to load an agent.
//!
//! [`process`] is any process, [`jvm`] one that runs a JVM, [`performance_file`] what HotSpot publishes about itself, and [`attach_socket`] its attach
//! protocol.

mod attach_socket;
mod jvm;
mod performance_file;
mod process;

pub(crate) use attach_socket::AttachSocket;
pub(crate) use jvm::Jvm;
pub(crate) use process::Process;
