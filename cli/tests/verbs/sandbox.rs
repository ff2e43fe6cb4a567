//! A directory with a compiled sample program, where the real `instr` runs.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use class_source::JavaHome;
use expect_test::expect_file;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Instruments everything that can be.
pub(crate) const EVERYTHING: &str = "[filter]\nleaf = false\nmax-bytes = 0\n\n\
     [[rule]]\nname = \"everything\"\nclass = \"shop.**\"\ntemplate = \"timed\"\nlevel = \"time\"\n";

/// A directory that is removed at the end.
pub(crate) struct Sandbox {
    directory: TempDir,
}

/// What a run of the program said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Sandbox {
        Sandbox { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Runs `instr` in the directory.
    pub(crate) fn instr(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new(env!("CARGO_BIN_EXE_instr"));
        let output = command.args(arguments).current_dir(self.directory.path()).output().unwrap();
        Said {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Compiles the sample program and packs it, with these entries beside the classes.
    pub(crate) fn jar(&self, name: &str, further: &[(&str, &[u8])]) {
        let classes = self.path("classes");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verbs/shop");
        let java = java();
        let mut javac = Command::new(java.path().join("bin/javac"));
        javac.args(["--release", "11", "-g", "-d"]).arg(&classes);
        let output = javac.arg(sources.join("Order.java")).arg(sources.join("Main.java")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

        let mut entries: Vec<(String, Vec<u8>)> = Vec::new();
        for class in ["Main", "Order", "Order$Line"] {
            let file = format!("shop/{class}.class");
            entries.push((file.clone(), fs::read(classes.join(&file)).unwrap()));
        }
        entries.extend(further.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())));
        self.jar_of(name, &entries);
    }

    /// Packs a jar.
    pub(crate) fn jar_of(&self, name: &str, entries: &[(String, Vec<u8>)]) {
        let mut jar = ZipWriter::new(File::create(self.path(name)).unwrap());
        for (name, content) in entries {
            jar.start_file(name, SimpleFileOptions::default()).unwrap();
            jar.write_all(content).unwrap();
        }
        jar.finish().unwrap();
    }
}

/// A JDK that can compile.
pub(crate) fn java() -> JavaHome {
    let fit = |home: &JavaHome| home.feature() >= 17 && home.has_compiler();
    JavaHome::installed(&[]).into_iter().find(fit).unwrap()
}

/// Compares with `expected/NAME`.
pub(crate) fn expect(name: &str, actual: &str) {
    expect_file![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verbs/expected").join(name)].assert_eq(actual);
}
