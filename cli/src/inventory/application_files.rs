//! The jars of an application: those that are named, and those in directories that are named.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns jars and directories, each directory followed by the jars anywhere in it, by name: `app/` has its classes in `app/lib/*.jar`, too.
pub(crate) fn with_jars_below(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for path in named {
        all.push(path.clone());
        if path.is_dir() {
            let before = all.len();
            add_jars(path, &mut all).with_context(|| format!("cannot list {}", path.display()))?;
            if let Some(jars) = all.get_mut(before..) {
                jars.sort();
            }
        }
    }
    Ok(all)
}

fn add_jars(directory: &Path, jars: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        // Links to directories are not followed: they may lead in a circle.
        if entry.file_type()?.is_dir() {
            add_jars(&path, jars)?;
        } else if path.extension().and_then(OsStr::to_str).is_some_and(|ending| ending == "jar" || ending == "war") {
            jars.push(path);
        }
    }
    Ok(())
}
