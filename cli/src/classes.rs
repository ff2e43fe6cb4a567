//! Classes off-line: those of the jars that were named, then those of a JDK; and their super types.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use class_source::{ClassPath, JavaHome, JdkImage};
use classfile::ClassFile;
use instrument_core::selection::{Hierarchy, Supertypes};

use crate::failure::Failure;

/// Looks for classes where a JVM with these jars on its class path would find them.
#[derive(Debug)]
pub(crate) struct Classes {
    jars: ClassPath,
    jdk: Option<JdkImage>,
    supertypes: Mutex<HashMap<Vec<u8>, Option<Arc<Supertypes>>>>,
}

impl Classes {
    /// `java_home` must be one if it is given; otherwise the JDK of the environment is taken, if there is any.
    pub(crate) fn open(jars: &[PathBuf], java_home: Option<&Path>) -> Result<Classes> {
        let jars = ClassPath::open(jars)
            .map_err(|error| Failure::new(error.to_string(), "name jars or directories with class files"))?;
        let jdk = match java_home {
            Some(home) => Some(JdkImage::open(home).map_err(|error| {
                Failure::new(error.to_string(), "--java-home is the directory that holds bin/java and lib/modules")
            })?),
            None => JavaHome::from_environment().map(|home| JdkImage::open(home.path())).transpose()?,
        };
        Ok(Classes { jars, jdk, supertypes: Mutex::default() })
    }

    /// The class with this internal name.
    pub(crate) fn find(&self, internal_name: &[u8]) -> Result<Option<Vec<u8>>> {
        if let Some(bytes) = self.jars.find(internal_name)? {
            return Ok(Some(bytes));
        }
        let Some(jdk) = &self.jdk else { return Ok(None) };
        jdk.find(internal_name).context("looking into the JDK")
    }

    /// The JDK that is asked, for messages.
    pub(crate) fn jdk(&self) -> Option<&Path> {
        self.jdk.as_ref().map(JdkImage::path)
    }

    fn read_supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        // A class that cannot be read is unknown, as it would be to the agent.
        let bytes = self.find(internal_name).ok()??;
        let class = ClassFile::parse(&bytes).ok()?;
        Some(Arc::new(Supertypes::of(&class)))
    }
}

impl Hierarchy for Classes {
    fn supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        let lock = || self.supertypes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(internal_name) {
            return known.clone();
        }
        let read = self.read_supertypes(internal_name);
        lock().insert(internal_name.to_vec(), read.clone());
        read
    }
}
