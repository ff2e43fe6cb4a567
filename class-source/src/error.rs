//! What can go wrong while reading a source of classes, and in which file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A source of classes could not be read.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    kind: ErrorKind,
}

/// The kinds of [`Error`].
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file system said no.
    Io(io::Error),
    /// A jar or one of its entries is no valid ZIP data.
    Archive(zip::result::ZipError),
    /// The path is neither a jar nor a directory.
    NotAClassContainer,
    /// The directory is not a Java installation with a run-time image (`lib/modules`).
    NotAJavaHome,
    /// The file does not start with the magic number of a run-time image.
    NotAnImage,
    /// A run-time image of a version this reader does not know.
    UnsupportedImageVersion {
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// A resource of the image is packed by a plug-in this reader does not know.
    UnsupportedCompression(String),
    /// The data contradict themselves; the text says what was being read.
    Corrupt(&'static str),
}

impl Error {
    #[cold]
    pub(crate) fn new(path: impl Into<PathBuf>, kind: ErrorKind) -> Error {
        Error { path: path.into(), kind }
    }

    /// The file or directory the error is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.kind)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Io(error) => write!(f, "{error}"),
            ErrorKind::Archive(error) => write!(f, "not a readable jar: {error}"),
            ErrorKind::NotAClassContainer => write!(f, "neither a jar nor a directory"),
            ErrorKind::NotAJavaHome => write!(f, "not a Java installation of version 9 or later (no lib/modules)"),
            ErrorKind::NotAnImage => write!(f, "not a Java run-time image (wrong magic number)"),
            ErrorKind::UnsupportedImageVersion { major, minor } => {
                write!(f, "run-time image version {major}.{minor} is not supported (1.0 and 1.1 are)")
            }
            ErrorKind::UnsupportedCompression(name) => {
                write!(f, "resource packed by the unknown jlink plug-in \"{name}\"")
            }
            ErrorKind::Corrupt(what) => write!(f, "damaged: {what}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ErrorKind::Io(error) => Some(error),
            ErrorKind::Archive(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match &error.kind {
            ErrorKind::Io(cause) => cause.kind(),
            ErrorKind::NotAJavaHome | ErrorKind::NotAClassContainer => io::ErrorKind::NotFound,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}
