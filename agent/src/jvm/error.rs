//! What can go wrong at the border to the JVM.

use std::fmt;

use jvmti_bindings::sys::jvmti;

/// A JVMTI function answered with an error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JvmtiError {
    /// The function that was called.
    pub(crate) function: &'static str,
    /// The JVMTI error number.
    pub(crate) code: i32,
}

impl JvmtiError {
    /// `Ok` for `JVMTI_ERROR_NONE`.
    pub(super) fn check(function: &'static str, result: jvmti::jvmtiError) -> Result<(), JvmtiError> {
        if result == jvmti::jvmtiError::NONE { Ok(()) } else { Err(JvmtiError { function, code: result.raw() }) }
    }

    /// A thread that was asked about has ended.
    pub(crate) fn is_thread_that_ended(&self) -> bool {
        self.code == jvmti::jvmtiError::THREAD_NOT_ALIVE.raw()
    }

    /// Whether a call about several classes could succeed for a part of them.
    pub(crate) fn is_about_one_class(&self) -> bool {
        use jvmti::jvmtiError as Code;
        let general = [
            Code::WRONG_PHASE,
            Code::MUST_POSSESS_CAPABILITY,
            Code::NOT_AVAILABLE,
            Code::UNATTACHED_THREAD,
            Code::INVALID_ENVIRONMENT,
        ];
        !general.iter().any(|code| code.raw() == self.code)
    }

    /// The JVM's table has no such function.
    pub(super) fn missing(function: &'static str) -> JvmtiError {
        JvmtiError { function, code: jvmti::jvmtiError::NOT_AVAILABLE.raw() }
    }
}

impl fmt::Display for JvmtiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = jvmti::error_name(jvmti::jvmtiError::from_raw(self.code));
        write!(f, "{} failed: {} ({})", self.function, name.trim_start_matches("JVMTI_ERROR_"), self.code)
    }
}

impl std::error::Error for JvmtiError {}

/// A JNI call did not give what was asked; the Java exception behind it has been cleared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JavaError {
    /// What was attempted.
    pub(crate) action: &'static str,
    /// `toString()` of the exception, if there was one.
    pub(crate) exception: Option<String>,
}

impl JavaError {
    /// The class was there already.
    pub(crate) fn is_duplicate_class(&self) -> bool {
        self.exception.as_ref().is_some_and(|exception| exception.contains("duplicate class definition"))
    }
}

impl fmt::Display for JavaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.exception {
            Some(exception) => write!(f, "{} failed: {exception}", self.action),
            None => write!(f, "{} failed", self.action),
        }
    }
}

impl std::error::Error for JavaError {}
