//! The identity of a class loader.

/// Identity of a class loader: the number that the agent tags the loader object with when it first meets it. No other loader of the process
/// ever has it, not even after this one is gone. 0 is the boot loader.
pub type LoaderId = u64;

/// The boot loader.
pub const BOOT: LoaderId = 0;
