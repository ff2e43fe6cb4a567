//! The identity of a class loader.

/// Identity of a class loader; 0 is the boot loader.
pub type LoaderId = i32;

/// The boot loader.
pub const BOOT: LoaderId = 0;
