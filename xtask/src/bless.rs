//! `cargo xtask bless [PACKAGE...]`: what the tests print now is what they expect from now on.

use anyhow::{Result, bail};

use crate::process::{cargo, execute};

/// Runs the Rust tests of the packages named, or of all, and has expect-test write its files anew. Look at the diff before committing.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(option) = arguments.iter().find(|argument| argument.starts_with('-')) {
        bail!("`bless` takes only names of packages, but got `{option}`");
    }
    let mut test = cargo();
    test.arg("test").env("UPDATE_EXPECT", "1");
    if arguments.is_empty() {
        test.arg("--workspace");
    }
    for package in arguments {
        test.args(["--package", package]);
    }
    execute(&mut test)
}
