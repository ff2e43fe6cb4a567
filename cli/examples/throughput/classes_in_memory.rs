//! The classes that are measured, held in memory: those of `java.base` and of jars.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use class_source::{ClassPath, JavaHome, JdkImage};

/// Adds the classes of a jar, or of every jar in a directory, as far as they are loaded by name.
pub(crate) fn add_jars(path: &str, classes: &mut Vec<Vec<u8>>) -> Result<()> {
    for jar in &jars_of(PathBuf::from(path))? {
        ClassPath::open(std::slice::from_ref(jar))?.for_each(|class| -> Result<()> {
            if !class.path.starts_with("META-INF/") && !class.path.ends_with("module-info.class") {
                classes.push(class.bytes.to_vec());
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// A jar, or every jar in a directory.
pub(crate) fn jars_of(path: PathBuf) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path]);
    }
    let mut jars: Vec<PathBuf> = fs::read_dir(&path)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    jars.retain(|jar| jar.extension().is_some_and(|extension| extension == "jar"));
    jars.sort();
    Ok(jars)
}

/// Adds the classes of `java.base` of a JDK.
pub(crate) fn add_java_base(home: &str, classes: &mut Vec<Vec<u8>>) -> Result<()> {
    let image = JdkImage::open(JavaHome::read(home)?.path())?;
    for class in image.classes() {
        let class = class?;
        if class.module() == "java.base" && class.name() != "module-info" {
            classes.push(image.read(&class)?);
        }
    }
    Ok(())
}
