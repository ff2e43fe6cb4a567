//! Sources of class files: jars and directories ([`ClassPath`]), JDK run-time images ([`JdkImage`]), and the Java installations of this machine ([`JavaHome`]).
//!
//! Nothing here understands class files, and nothing here loads a class into a JVM: names go in, bytes are returned.
//! Names are JVM-internal (`java/lang/Object`).
//!
//! ```no_run
//! use class_source::{JavaHome, JdkImage};
//!
//! let home = JavaHome::read("/usr/lib/jvm/java-17-openjdk-amd64")?;
//! let image = JdkImage::open(home.path())?;
//! let object = image.find("java/lang/Object")?;
//! assert!(object.is_some_and(|bytes| bytes.starts_with(&[0xCA, 0xFE, 0xBA, 0xBE])));
//! # Ok::<(), class_source::Error>(())
//! ```

mod class_path;
mod error;
mod java_home;
mod jdk_image;
mod regular_file;

pub use class_path::{ClassEntry, ClassPath};
pub use error::{Error, ErrorKind};
pub use java_home::JavaHome;
pub use jdk_image::{ImageClass, ImageClasses, JdkImage};
pub use regular_file::read_regular_file;
