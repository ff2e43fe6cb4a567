//! The ledger says by which test a requirement is shown. A filter that matches no test passes, so a test that was renamed, or lost in a
//! merge, would go on being named.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn every_test_that_the_ledger_names_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let sources = Sources::read(root);
    let ledger = fs::read_to_string(root.join("docs/requirements.md")).unwrap();
    let rows = ledger.lines().filter(|line| line.starts_with("| S"));
    let named = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let missing: BTreeSet<&str> = named.filter(|name| !sources.have(name)).collect();
    assert!(missing.is_empty(), "docs/requirements.md names what is not there: {missing:#?}");
}

/// What there is in the way of tests.
struct Sources {
    root: PathBuf,
    /// Class and method: `MetricsIT.callersAndCalleesAreReported`.
    java: BTreeSet<String>,
    /// Functions, modules and files, with the crate that they belong to.
    rust: BTreeSet<(String, String)>,
}

impl Sources {
    fn read(root: &Path) -> Sources {
        let mut sources = Sources { root: root.to_path_buf(), java: BTreeSet::new(), rust: BTreeSet::new() };
        let mut pending = vec![root.to_path_buf()];
        while let Some(directory) = pending.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                // A crate is a folder at the top, and has its name.
                let top = path.strip_prefix(root).unwrap().components().next().unwrap();
                let of_crate = top.as_os_str().to_string_lossy().into_owned();
                if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
                    sources.rust.insert((of_crate, name));
                    pending.push(path);
                } else if let Some((stem, ending @ ("java" | "rs"))) = name.rsplit_once('.') {
                    sources.add(&of_crate, (stem, ending), &fs::read_to_string(&path).unwrap());
                }
            }
        }
        sources
    }

    fn add(&mut self, of_crate: &str, (stem, ending): (&str, &str), text: &str) {
        if ending == "java" {
            self.java.extend(names_after(text, "void ").map(|method| format!("{stem}.{method}")));
        } else {
            let names = ["fn ", "mod "].into_iter().flat_map(|word| names_after(text, word));
            self.rust.extend(names.chain([stem]).map(|name| (of_crate.to_owned(), name.to_owned())));
        }
    }

    /// Whether the text between two backticks, if it names a test, names one that exists.
    fn have(&self, name: &str) -> bool {
        if let Some((class, method)) = name.split_once('.')
            && (class.ends_with("IT") || class.ends_with("Test"))
            && method.chars().all(char::is_alphanumeric)
        {
            return self.java.contains(name);
        }
        let Some(arguments) = name.strip_prefix("cargo test ") else {
            let is_path = name.contains("::") && name.chars().all(|c| c.is_ascii_lowercase() || "_:".contains(c));
            return !is_path || self.have_in_rust(name, None);
        };
        let mut words = arguments.split(' ');
        let mut of_crate = None;
        while let Some(word) = words.next() {
            let is_there = match word {
                "-p" => {
                    of_crate = words.next();
                    of_crate.is_some()
                }
                "--example" => words.next().is_some(),
                "--test" => words.next().is_some_and(|target| self.have_target(target)),
                option if option.starts_with('-') => true,
                filter => self.have_in_rust(filter, of_crate),
            };
            if !is_there {
                return false;
            }
        }
        true
    }

    /// Whether a filter could match in this crate, or in any: its last part is a part of some name.
    fn have_in_rust(&self, filter: &str, of_crate: Option<&str>) -> bool {
        let last = filter.split("::").filter(|part| !part.is_empty()).last();
        let is_asked = |found: &str| of_crate.is_none_or(|asked| asked == found);
        last.is_some_and(|last| self.rust.iter().any(|(found, name)| is_asked(found) && name.contains(last)))
    }

    fn have_target(&self, target: &str) -> bool {
        let crates = fs::read_dir(&self.root).unwrap().map(|entry| entry.unwrap().path().join("tests"));
        crates.into_iter().any(|tests| tests.join(format!("{target}.rs")).exists() || tests.join(target).is_dir())
    }
}

/// The names that follow a word.
fn names_after<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = &'t str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.split(word).skip(1).filter_map(move |rest| rest.split(|c| !is_name(c)).next()).filter(|name| !name.is_empty())
}
