//! Java installations: where they are on this machine and which version they say they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};

/// A Java installation (JDK or run-time image) of version 9 or later.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct JavaHome {
    path: PathBuf,
    version: String,
    feature: u16,
}

impl JavaHome {
    /// Looks at `path`: it must hold `lib/modules` and a `release` file that names the version.
    pub fn read(path: impl AsRef<Path>) -> Result<JavaHome, Error> {
        let path = path.as_ref();
        if !path.join("lib/modules").is_file() {
            return Err(Error::new(path, ErrorKind::NotAJavaHome));
        }
        let release = path.join("release");
        let text = std::fs::read_to_string(&release).map_err(|error| Error::new(&release, ErrorKind::Io(error)))?;
        let version = java_version(&text)
            .ok_or_else(|| Error::new(&release, ErrorKind::Corrupt("no JAVA_VERSION in the release file")))?;
        let feature = feature_of(version)
            .ok_or_else(|| Error::new(&release, ErrorKind::Corrupt("JAVA_VERSION does not start with a number")))?;
        Ok(JavaHome { path: path.to_path_buf(), version: version.to_owned(), feature })
    }

    /// The installation a user means when none is named: `JAVA_HOME`, else the home of the `java` on the `PATH`.
    #[must_use]
    pub fn from_environment() -> Option<JavaHome> {
        if let Some(home) = std::env::var_os("JAVA_HOME").filter(|value| !value.is_empty()) {
            return JavaHome::read(home).ok();
        }
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find_map(|directory| {
            let launcher = directory.join("java").canonicalize().ok()?;
            JavaHome::read(launcher.parent()?.parent()?).ok()
        })
    }

    /// All installations found: the one of the environment, those below the usual directories, and those below
    /// `further_directories`; sorted by feature version, each home once however many links lead to it.
    #[must_use]
    pub fn installed(further_directories: &[PathBuf]) -> Vec<JavaHome> {
        let mut found = BTreeMap::new();
        let usual = [PathBuf::from("/usr/lib/jvm"), PathBuf::from("/opt/java")];
        let below = usual.iter().chain(further_directories).flat_map(|directory| homes_below(directory));
        for home in JavaHome::from_environment().into_iter().chain(below) {
            if let Ok(real) = home.path.canonicalize() {
                found.entry((home.feature, real.clone())).or_insert(JavaHome { path: real, ..home });
            }
        }
        found.into_values().collect()
    }

    /// The directory that holds `bin` and `lib`.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The full version, such as `17.0.15`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The feature version, such as 17.
    #[must_use]
    pub fn feature(&self) -> u16 {
        self.feature
    }

    /// Whether it can compile: a JDK, not only a run-time image.
    #[must_use]
    pub fn has_compiler(&self) -> bool {
        self.path.join("bin/javac").is_file()
    }
}

fn homes_below(directory: &Path) -> Vec<JavaHome> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.filter_map(|entry| JavaHome::read(entry.ok()?.path()).ok()).collect()
}

fn java_version(release: &str) -> Option<&str> {
    release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=")).map(|value| value.trim().trim_matches('"'))
}

fn feature_of(version: &str) -> Option<u16> {
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_the_release_file() {
        let text = "IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.15\"\nJAVA_VERSION_DATE=\"2025-04-15\"\n";
        assert_eq!(java_version(text), Some("17.0.15"));
        assert_eq!(java_version("IMPLEMENTOR=\"x\"\n"), None);
    }

    #[test]
    fn feature_is_the_first_number() {
        assert_eq!(feature_of("17.0.15"), Some(17));
        assert_eq!(feature_of("26-ea"), Some(26));
        assert_eq!(feature_of("x"), None);
    }

    #[test]
    fn a_directory_without_an_image_is_refused_with_its_path() {
        let error = JavaHome::read("/nowhere/at/all").unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NotAJavaHome));
        assert!(error.to_string().starts_with("/nowhere/at/all: "), "{error}");
    }
}
