//! Where things are in this checkout.

use std::path::{Path, PathBuf};

/// The top directory of the checkout.
pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// Cargo's target directory, which `CARGO_TARGET_DIR` may have moved.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |moved| root().join(moved))
}

/// The agent, as a release build leaves it.
pub(crate) fn agent() -> PathBuf {
    target().join("release").join("libinstr.so")
}

/// The command-line program, as a release build leaves it.
pub(crate) fn cli() -> PathBuf {
    target().join("release").join("instr")
}
