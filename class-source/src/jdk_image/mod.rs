//! The run-time image of a JDK (`lib/modules`): classes by name, without a JVM.
//!
//! The index (a perfect hash over full resource names) is read once at [`JdkImage::open`]; each class is then one or
//! two positioned reads. The file is never mapped: it may be replaced while we hold it.

mod decompress;
mod foreign_packages;
mod index;
mod shared_strings;

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};
use foreign_packages::ForeignPackages;
use index::{Index, Location};

/// No resource of a JDK is nearly that large; a larger figure in the index means a damaged file.
const LARGEST_RESOURCE: u64 = 256 << 20;

/// A reader of `lib/modules`. It is `Sync`: any number of threads may ask at once.
pub struct JdkImage {
    path: PathBuf,
    file: File,
    index: Index,
    foreign: ForeignPackages,
}

/// A class of the image, as [`JdkImage::classes`] meets it.
#[derive(Clone, Debug)]
pub struct ImageClass<'a> {
    module: &'a str,
    name: String,
    location: Location,
}

impl<'a> ImageClass<'a> {
    /// The module, such as `java.base`.
    #[must_use]
    pub fn module(&self) -> &'a str {
        self.module
    }

    /// The internal name, such as `java/lang/Object`; `module-info` for a module's descriptor.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl JdkImage {
    /// Opens the image of the Java installation `java_home`.
    pub fn open(java_home: impl AsRef<Path>) -> Result<JdkImage, Error> {
        let path = java_home.as_ref().join("lib/modules");
        let file = File::open(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::new(java_home.as_ref(), ErrorKind::NotAJavaHome),
            _ => Error::new(&path, ErrorKind::Io(error)),
        })?;
        match Index::read(&file) {
            Ok(index) => Ok(JdkImage { path, file, index, foreign: ForeignPackages::default() }),
            Err(kind) => Err(Error::new(path, kind)),
        }
    }

    /// The image file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of the class with this internal name, whichever module it lives in; `None` if there is none.
    pub fn find(&self, internal_name: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, Error> {
        self.find_class(internal_name.as_ref()).map_err(|kind| self.error(kind))
    }

    /// The module that holds the class with this internal name.
    pub fn module_of(&self, internal_name: impl AsRef<[u8]>) -> Result<Option<&str>, Error> {
        let found = self.locate(internal_name.as_ref()).map_err(|kind| self.error(kind))?;
        found.map(|(module, _)| self.text(module)).transpose()
    }

    /// Whether some module has the package of the class with this internal name, or one inside that package.
    pub fn has_package_of(&self, internal_name: impl AsRef<[u8]>) -> Result<bool, Error> {
        let internal_name = internal_name.as_ref();
        let package = package_length(internal_name).and_then(|slash| internal_name.get(..slash));
        let Some(package) = package else { return Ok(false) };
        Ok(self.index.find(&packages_key(package)).map_err(|kind| self.error(kind))?.is_some())
    }

    /// Every class of every module, in the order of the index (not sorted).
    #[must_use]
    pub fn classes(&self) -> ImageClasses<'_> {
        ImageClasses { image: self, next: 0 }
    }

    /// The bytes of a class that [`JdkImage::classes`] gave.
    pub fn read(&self, class: &ImageClass<'_>) -> Result<Vec<u8>, Error> {
        self.content(&class.location).map_err(|kind| self.error(kind))
    }

    fn find_class(&self, internal_name: &[u8]) -> Result<Option<Vec<u8>>, ErrorKind> {
        match self.locate(internal_name)? {
            Some((_, location)) => self.content(&location).map(Some),
            None => Ok(None),
        }
    }

    /// `/packages/a.b` lists the modules that have the package `a.b`: pairs of (flags, offset of the module's name).
    /// A package may be split over modules as long as only one of them has classes in it, so each one is asked.
    fn locate(&self, internal_name: &[u8]) -> Result<Option<(&[u8], Location)>, ErrorKind> {
        let Some(slash) = package_length(internal_name) else { return Ok(None) };
        let Some((package, base)) = internal_name.split_at_checked(slash) else { return Ok(None) };
        if self.foreign.has(package) {
            return Ok(None);
        }
        let Some(packages) = self.index.find(&packages_key(package))? else {
            self.foreign.add(package);
            return Ok(None);
        };
        for pair in self.content(&packages)?.chunks_exact(8) {
            let name_offset = self.index.u32_at(pair, 4)?;
            let module = self.index.string(name_offset)?;
            let full_name = [b"/", module, b"/", package, base, b".class"].concat();
            if let Some(location) = self.index.find(&full_name)? {
                return Ok(Some((module, location)));
            }
        }
        Ok(None)
    }

    fn content(&self, location: &Location) -> Result<Vec<u8>, ErrorKind> {
        let packed = location.compressed != 0;
        let stored_size = if packed { location.compressed } else { location.uncompressed };
        if stored_size > LARGEST_RESOURCE || location.uncompressed > LARGEST_RESOURCE {
            return Err(ErrorKind::Corrupt("a resource of an absurd size"));
        }
        let offset = self.index.size().checked_add(location.offset).ok_or(ErrorKind::Corrupt("a resource's offset"))?;
        let length = usize::try_from(stored_size).map_err(|_| ErrorKind::Corrupt("a resource's size"))?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, offset).map_err(ErrorKind::Io)?;
        if packed { decompress::unpack(bytes, location.uncompressed, &self.index) } else { Ok(bytes) }
    }

    fn text<'a>(&self, bytes: &'a [u8]) -> Result<&'a str, Error> {
        std::str::from_utf8(bytes).map_err(|_| self.error(ErrorKind::Corrupt("a name that is not UTF-8")))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(&self.path, kind)
    }
}

/// The length of the name of the class's package; `None` without a package.
fn package_length(internal_name: &[u8]) -> Option<usize> {
    internal_name.iter().rposition(|&byte| byte == b'/')
}

/// What the image files a package under.
fn packages_key(package: &[u8]) -> Vec<u8> {
    let package = package.iter().map(|&byte| if byte == b'/' { b'.' } else { byte });
    b"/packages/".iter().copied().chain(package).collect()
}

impl fmt::Debug for JdkImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JdkImage").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Iterator over the classes of a [`JdkImage`].
#[derive(Debug)]
pub struct ImageClasses<'a> {
    image: &'a JdkImage,
    next: usize,
}

impl<'a> ImageClasses<'a> {
    fn class_at(&self, location: Location) -> Result<Option<ImageClass<'a>>, ErrorKind> {
        let index = &self.image.index;
        let module = index.string(location.module)?;
        if index.string(location.extension)? != b"class" || matches!(module, b"" | b"modules" | b"packages") {
            return Ok(None);
        }
        let not_utf8 = |_| ErrorKind::Corrupt("a name that is not UTF-8");
        let parent = std::str::from_utf8(index.string(location.parent)?).map_err(not_utf8)?;
        let base = std::str::from_utf8(index.string(location.base)?).map_err(not_utf8)?;
        let name = if parent.is_empty() { base.to_owned() } else { format!("{parent}/{base}") };
        let module = std::str::from_utf8(module).map_err(not_utf8)?;
        Ok(Some(ImageClass { module, name, location }))
    }
}

impl<'a> Iterator for ImageClasses<'a> {
    type Item = Result<ImageClass<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let location = self.image.index.location_at(self.next)?;
            self.next += 1;
            match location.and_then(|location| self.class_at(location)) {
                Ok(None) => {}
                Ok(Some(class)) => return Some(Ok(class)),
                Err(kind) => return Some(Err(self.image.error(kind))),
            }
        }
    }
}
