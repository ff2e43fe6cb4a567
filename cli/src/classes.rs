//! Classes off-line: those of the jars that were named, then those of a JDK; and their super types.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use class_source::{ClassPath, Error as SourceError, JavaHome, JdkImage};
use classfile::ClassFile;
use instrument_core::internal_name::{to_internal, to_source};
use instrument_core::rules::nearest_name::nearest_name;
use instrument_core::selection::{Hierarchy, Supertypes};

use crate::failure::Failure;
use crate::file_origin::FileOrigin;

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

    /// Returns the class that a user names on the command line, in source or internal form; an error suggests a similar name.
    pub(crate) fn named(&self, name: &str) -> Result<Vec<u8>> {
        let source_form = name.strip_suffix(".class").unwrap_or(name).replace('/', ".");
        if let Some(found) = self.find(&to_internal(&source_form))? {
            return Ok(found);
        }
        let jars = match self.jars.containers().count() {
            1 => "1 jar".to_owned(),
            count => format!("{count} jars"),
        };
        let jdk = self.jdk.as_ref().map(|image| image.path().display().to_string());
        let jdk = jdk.unwrap_or_else(|| "no JDK (none was found)".to_owned());
        let help = match self.nearest(&source_form)? {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "name the jar that holds it after the class; a nested class is written Outer$Nested".to_owned(),
        };
        Err(Failure::new(format!("there is no class {name} in {jars} and {jdk}"), help).into())
    }

    /// The name of a class that is nearest to a mistyped one: first one of the jars, then one of the JDK. A name without its
    /// package is near, too.
    pub(crate) fn nearest(&self, name: &str) -> Result<Option<String>> {
        let mut names = Vec::new();
        self.jars.for_each(|entry| -> Result<(), SourceError> {
            if let Ok(class) = ClassFile::parse(entry.bytes) {
                names.push(to_source(class.this_class().as_bytes()));
            }
            Ok(())
        })?;
        if let Some(nearest) = near(name, &names) {
            return Ok(Some(nearest));
        }
        let Some(jdk) = &self.jdk else { return Ok(None) };
        let names: Vec<String> =
            jdk.classes().filter_map(Result::ok).map(|class| class.name().replace('/', ".")).collect();
        Ok(near(name, &names))
    }

    /// Returns where the class with this internal name is read from.
    pub(crate) fn origin_of(&self, internal_name: &[u8]) -> FileOrigin {
        if let Some(container) = self.jars.container_of(internal_name) {
            let descriptor = self.jars.module_descriptor(container).ok().flatten();
            return FileOrigin::of_container(container, descriptor.as_deref());
        }
        let module = self.jdk.as_ref().and_then(|jdk| jdk.module_of(internal_name).ok().flatten());
        module.map_or_else(FileOrigin::unknown, FileOrigin::of_jdk)
    }

    /// Returns the number of jars and directories, jars inside jars included.
    pub(crate) fn containers(&self) -> usize {
        self.jars.containers().count()
    }

    /// Visits every class of the jars that can be read with its origin. An error of `visit` ends it.
    pub(crate) fn for_each_in_jars<E: From<SourceError>>(
        &self,
        mut visit: impl FnMut(&ClassFile<'_>, &FileOrigin) -> Result<(), E>,
    ) -> Result<(), E> {
        (0..self.containers()).try_for_each(|number| self.for_each_in_jar(number, &mut visit))
    }

    /// Visits every class of the jar or directory with this number that can be read. An error of `visit` ends it.
    pub(crate) fn for_each_in_jar<E: From<SourceError>>(
        &self,
        number: usize,
        mut visit: impl FnMut(&ClassFile<'_>, &FileOrigin) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_file_in_jar(number, |_, class, origin| class.map_or(Ok(()), |class| visit(class, origin)))
    }

    /// Visits every class file of the jars with its name in source form and its origin. An error of `visit` ends it.
    pub(crate) fn for_each_file_in_jars<E: From<SourceError>>(
        &self,
        mut visit: impl FnMut(&str, Result<&ClassFile<'_>, &classfile::Error>, &FileOrigin) -> Result<(), E>,
    ) -> Result<(), E> {
        (0..self.containers()).try_for_each(|number| self.for_each_file_in_jar(number, &mut visit))
    }

    fn for_each_file_in_jar<E: From<SourceError>>(
        &self,
        number: usize,
        mut visit: impl FnMut(&str, Result<&ClassFile<'_>, &classfile::Error>, &FileOrigin) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(container) = self.jars.containers().nth(number) else { return Ok(()) };
        let descriptor = self.jars.module_descriptor(container).ok().flatten();
        let origin = FileOrigin::of_container(container, descriptor.as_deref());
        self.jars.for_each_of(number, |entry| {
            if entry.release.is_some() || entry.path.ends_with("module-info.class") {
                return Ok(());
            }
            match ClassFile::parse(entry.bytes) {
                Ok(class) => visit(&to_source(class.this_class().as_bytes()), Ok(&class), &origin),
                Err(error) => {
                    let name = entry.path.strip_suffix(".class").unwrap_or(entry.path);
                    visit(&to_source(name.as_bytes()), Err(&error), &origin)
                }
            }
        })
    }

    /// Visits the classes of the JDK of these names with their origin. An error of `visit` ends it.
    pub(crate) fn for_each_in_jdk<E: From<SourceError>>(
        &self,
        wants: impl Fn(&[u8]) -> bool,
        mut visit: impl FnMut(&ClassFile<'_>, &FileOrigin) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(jdk) = &self.jdk else { return Ok(()) };
        for class in jdk.classes() {
            let class = class?;
            if class.name() == "module-info" || !wants(class.name().as_bytes()) {
                continue;
            }
            let bytes = jdk.read(&class)?;
            if let Ok(file) = ClassFile::parse(&bytes) {
                visit(&file, &FileOrigin::of_jdk(class.module()))?;
            }
        }
        Ok(())
    }

    /// A class file of the JDK.
    pub(crate) fn jdk_class(&self, internal_name: &[u8]) -> Option<Vec<u8>> {
        self.jdk.as_ref()?.find(internal_name).ok()?
    }

    fn read_supertypes(&self, internal_name: &[u8]) -> Option<Arc<Supertypes>> {
        // A class that cannot be read is unknown, as it would be to the agent.
        let bytes = self.find(internal_name).ok()??;
        let class = ClassFile::parse(&bytes).ok()?;
        Some(Arc::new(Supertypes::of(&class)))
    }
}

/// The nearest name; one without its package is compared with simple names.
fn near(name: &str, names: &[String]) -> Option<String> {
    if name.contains('.') {
        return nearest_name(name, names.iter().map(String::as_str)).map(str::to_owned);
    }
    let simple = |known: &'_ String| known.rfind('.').map_or(0, |dot| dot + 1);
    let simple_names = || names.iter().filter_map(|known| known.get(simple(known)..));
    let exact = simple_names().find(|known| *known == name);
    let nearest = exact.or_else(|| nearest_name(name, simple_names()))?;
    names.iter().find(|known| known.get(simple(known)..) == Some(nearest)).cloned()
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
