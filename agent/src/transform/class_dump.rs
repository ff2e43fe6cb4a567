//! `[agent] dump`: every rewritten class as a file, exactly as the JVM gets it, for javap and for people.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::log::message;

/// The directory that rewritten classes go to.
#[derive(Debug, Default)]
pub(crate) struct ClassDump {
    directory: Option<PathBuf>,
    /// A full disk is told once, not for each class.
    failed: AtomicBool,
}

impl ClassDump {
    /// `None` writes nothing.
    pub(crate) fn into_directory(directory: Option<PathBuf>) -> ClassDump {
        ClassDump { directory, failed: AtomicBool::new(false) }
    }

    /// Writes a class to `package/Name.class` below the directory. A class that comes again, retransformed or from another
    /// loader, takes the place of the earlier one. Failing does no harm.
    pub(crate) fn write(&self, internal_name: &str, bytes: &[u8]) {
        let Some(directory) = &self.directory else { return };
        let Some(file) = file_below(directory, internal_name) else { return };
        if let Err(error) = write(&file, bytes)
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            message::say(&format!("cannot write rewritten classes to {}: {error}", directory.display()));
        }
    }
}

fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(file, bytes)
}

/// The file of a class; `None` for a name that is no file name or would lead out of the directory.
fn file_below(directory: &Path, internal_name: &str) -> Option<PathBuf> {
    let harmless = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\0', '\\', ':']);
    internal_name.split('/').all(harmless).then(|| directory.join(format!("{internal_name}.class")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_lead_out_of_the_directory() {
        let file = |name: &str| file_below(Path::new("d"), name).map(|path| path.display().to_string());
        assert_eq!(file("p/Outer$Inner").as_deref(), Some("d/p/Outer$Inner.class"));
        for bad in ["../x", "p/../../x", "/etc/x", "p//x", ".", "", "p/a\0b", "c:x", "p\\x"] {
            assert_eq!(file(bad), None, "{bad}");
        }
    }
}
