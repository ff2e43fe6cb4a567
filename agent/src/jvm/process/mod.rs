//! The process and its operating system: figures, properties, the structures of HotSpot.

pub(super) mod elf_symbols;
pub(super) mod heap_size;
pub(super) mod native_libraries;
pub(super) mod operating_system;
pub(super) mod socket_peer;
pub(super) mod system_properties;
pub(super) mod thread_counters;
pub(super) mod vm_structs;
