//! The origin of a class as far as files show it: the jar that holds it and the module that the jar declares.

use classfile::ClassFile;
use instrument_core::selection::{ClassOrigin, OriginAnswer};

/// Where a class was read from.
#[derive(Clone, Debug)]
pub(crate) struct FileOrigin {
    module: OriginAnswer<String>,
    jar: OriginAnswer<String>,
}

impl FileOrigin {
    /// Returns the origin of classes in this jar or directory; `descriptor` is the `module-info.class` in it.
    pub(crate) fn of_container(container: &str, descriptor: Option<&[u8]>) -> FileOrigin {
        let name = container.rsplit('/').find(|part| !part.is_empty()).unwrap_or(container);
        let module = descriptor.and_then(declared_module).ok_or("there is no module-info.class beside it");
        FileOrigin { module, jar: Ok(name.to_owned()) }
    }

    /// Returns the origin of a class of a JDK.
    pub(crate) fn of_jdk(module: &str) -> FileOrigin {
        FileOrigin { module: Ok(module.to_owned()), jar: Err("classes of the JDK are in no jar") }
    }

    /// Returns the origin of a class that is in none of the files.
    pub(crate) fn unknown() -> FileOrigin {
        let nowhere = "the class is in none of the files";
        FileOrigin { module: Err(nowhere), jar: Err(nowhere) }
    }
}

impl ClassOrigin for FileOrigin {
    fn module(&self) -> OriginAnswer<String> {
        self.module.clone()
    }

    fn jar(&self) -> OriginAnswer<String> {
        self.jar.clone()
    }

    fn loader(&self) -> OriginAnswer<Vec<String>> {
        Err("class loaders exist only in a running program")
    }
}

/// The name in a module descriptor.
fn declared_module(descriptor: &[u8]) -> Option<String> {
    let class = ClassFile::parse(descriptor).ok()?;
    let attribute = class.attributes().find(b"Module").ok()??;
    let index = attribute.content.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))?;
    Some(class.constant_pool().module_name(index).ok()?.to_string())
}
