//! Module descriptors (JVMS 4.7.25 to 4.7.27) and what the JDK's tools add to them.

use super::structure::{Structure, structure};
use super::table::Table;
use crate::{ByteReader, ByteWriter, Result};

structure! {
    /// `Module`
    pub struct Module<'a> {
        /// Module: its name.
        pub name: u16,
        /// Open, synthetic, mandated.
        pub flags: u16,
        /// Utf8: its version; 0 without one.
        pub version: u16,
        /// Modules it depends on.
        pub requires: Table<'a, RequiredModule>,
        /// Packages whose public types others may use.
        pub exports: Table<'a, SharedPackage<'a>>,
        /// Packages that others may look into by reflection.
        pub opens: Table<'a, SharedPackage<'a>>,
        /// Class: service interfaces it looks up.
        pub uses: Table<'a, u16>,
        /// Services it implements.
        pub provides: Table<'a, ProvidedService<'a>>,
    }
}

structure! {
    /// A module that another depends on.
    pub struct RequiredModule {
        /// Module: its name.
        pub module: u16,
        /// Transitive, static, synthetic, mandated.
        pub flags: u16,
        /// Utf8: its version at compile time; 0 without one.
        pub version: u16,
    }
}

structure! {
    /// A package that a module exports or opens.
    pub struct SharedPackage<'a> {
        /// Package: its name.
        pub package: u16,
        /// Synthetic, mandated.
        pub flags: u16,
        /// Module: who may use it; empty for everybody.
        pub to: Table<'a, u16>,
    }
}

structure! {
    /// A service that a module implements.
    pub struct ProvidedService<'a> {
        /// Class: the service interface.
        pub service: u16,
        /// Class: the implementations.
        pub implementations: Table<'a, u16>,
    }
}

structure! {
    /// `ModuleHashes`: the modules that may be linked with this one, by their content.
    pub struct ModuleHashes<'a> {
        /// Utf8: name of the hash algorithm.
        pub algorithm: u16,
        /// The modules.
        pub hashes: Table<'a, ModuleHash<'a>>,
    }
}

structure! {
    /// The hash of a module.
    pub struct ModuleHash<'a> {
        /// Module: its name.
        pub module: u16,
        /// The hash.
        pub hash: Table<'a, u8>,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten<'a, T: Structure<'a>>(structure: &T) -> Vec<u8> {
        let mut out = ByteWriter::new();
        structure.write(&mut out);
        out.into_vec()
    }

    #[test]
    fn modules_survive() {
        let mut bytes = vec![0, 1, 0x80, 0, 0, 2];
        bytes.extend([0, 1, 0, 3, 0, 0x20, 0, 4]); // requires
        bytes.extend([0, 1, 0, 5, 0, 0, 0, 2, 0, 6, 0, 7]); // exports to two
        bytes.extend([0, 1, 0, 8, 0x10, 0, 0, 0]); // opens to all
        bytes.extend([0, 1, 0, 9]); // uses
        bytes.extend([0, 1, 0, 10, 0, 1, 0, 11]); // provides
        let module = Module::read(&mut ByteReader::new(&bytes, 0, "test"), 0).unwrap();
        assert_eq!((module.name, module.flags, module.version), (1, 0x8000, 2));
        assert_eq!(module.requires.iter().next(), Some(RequiredModule { module: 3, flags: 0x20, version: 4 }));
        let exported = module.exports.iter().next().unwrap();
        assert_eq!((exported.package, exported.flags), (5, 0));
        assert_eq!(exported.to.iter().collect::<Vec<_>>(), [6, 7]);
        let opened = module.opens.iter().next().unwrap();
        assert_eq!((opened.package, opened.flags, opened.to.is_empty()), (8, 0x1000, true));
        assert_eq!(module.uses.iter().collect::<Vec<_>>(), [9]);
        let provided = module.provides.iter().next().unwrap();
        assert_eq!((provided.service, provided.implementations.iter().next()), (10, Some(11)));
        assert_eq!(rewritten(&module), bytes);
    }

    #[test]
    fn hashes_survive() {
        let bytes = [0, 1, 0, 2, 0, 3, 0, 4, 1, 2, 3, 4, 0, 5, 0, 0];
        let hashes = ModuleHashes::read(&mut ByteReader::new(&bytes, 0, "test"), 0).unwrap();
        assert_eq!(hashes.algorithm, 1);
        let all: Vec<_> = hashes.hashes.iter().map(|row| (row.module, row.hash.iter().collect::<Vec<_>>())).collect();
        assert_eq!(all, [(3, vec![1, 2, 3, 4]), (5, vec![])]);
        assert_eq!(rewritten(&hashes), bytes);
    }
}
