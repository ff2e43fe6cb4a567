//! Failures as people read them: what, where, why, and what to do.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::io;

use control::ErrorCode;

/// Something went wrong, and this may help.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    help: String,
    code: Option<ErrorCode>,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, help: impl Into<String>) -> Failure {
        Failure { what: what.into(), help: help.into(), code: None }
    }

    /// The same, with what the agent calls it for programs.
    pub(crate) fn with_code(self, code: ErrorCode) -> Failure {
        Failure { code: Some(code), ..self }
    }

    pub(crate) fn code(&self) -> Option<ErrorCode> {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for Failure {}

/// Complete text (diagnostics with their own layout) that is printed as it is.
#[derive(Debug)]
pub(crate) struct Complete(pub(crate) String);

impl fmt::Display for Complete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Complete {}

/// The whole message, with a line end.
pub(crate) fn text(error: &anyhow::Error) -> String {
    if let Some(complete) = error.downcast_ref::<Complete>() {
        return format!("{}\n", complete.0.trim_end());
    }
    // All files are named where they are written.
    let is_of_output = is_bare_error_of_output(error);
    let what = if is_of_output { "cannot write to the standard output".to_owned() } else { error.to_string() };
    let mut text = format!("error: {what}\n");
    let mut said = what;
    for cause in error.chain().skip(usize::from(!is_of_output)).map(ToString::to_string) {
        // Some errors say their cause themselves.
        if !said.ends_with(&cause) {
            let _ = writeln!(text, "  because: {cause}");
        }
        said = cause;
    }
    let help = error.downcast_ref::<Failure>().map(|failure| failure.help.as_str());
    if let Some(help) = help.or_else(|| is_about_room(error).then_some(MAKE_ROOM)) {
        let _ = writeln!(text, "  help: {help}");
    }
    text
}

const MAKE_ROOM: &str = "make room on its file system, or write to a file on another one";

/// Whether there is no room left for what was to be written.
fn is_about_room(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

fn is_bare_error_of_output(error: &anyhow::Error) -> bool {
    error.chain().len() == 1 && is_about_room(error)
}

/// `instr report t.jfr | head` ends early on purpose.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
