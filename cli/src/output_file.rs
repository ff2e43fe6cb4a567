//! Files that the verbs write. None of them replaces a recording: a recording cannot be made again.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context, Result};

use crate::failure::Failure;

/// Writes a whole file.
///
/// # Errors
/// When it cannot be written, or a recording has this name.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    refuse_recording(path)?;
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Creates a file, or empties the one that has this name.
///
/// # Errors
/// When it cannot be written, or a recording has this name.
pub(crate) fn create(path: &Path) -> Result<File> {
    refuse_recording(path)?;
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Fails if a recording has this name. Verbs that work for a while before they write ask at their start.
///
/// # Errors
/// When a recording has this name.
pub(crate) fn refuse_recording(path: &Path) -> Result<()> {
    // A pipe or a device is not read: that may wait for ever.
    if !path.is_file() {
        return Ok(());
    }
    let is_recording = trace::is_recording(path);
    if is_recording.with_context(|| format!("cannot read {}, which may be a recording", path.display()))? {
        let what = format!("the output would overwrite the recording {}", path.display());
        return Err(Failure::new(what, "give another name for the output, or move the recording first").into());
    }
    Ok(())
}
