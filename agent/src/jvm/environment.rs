//! The JVMTI environment: one per agent, usable from every thread.

use std::ffi::{CStr, c_char};
use std::ptr::NonNull;

use jvmti_bindings::sys::jvmti;

use super::error::JvmtiError;

/// Calls a function of the JVMTI table; the caller vouches for the arguments. Only usable inside `unsafe`.
macro_rules! jvmti_call {
    ($jvmti:expr, $function:ident $(, $argument:expr)* $(,)?) => {{
        let env = $jvmti.raw();
        match (*(*env).functions).$function {
            Some(function) => JvmtiError::check(stringify!($function), function(env $(, $argument)*)),
            None => Err(JvmtiError::missing(stringify!($function))),
        }
    }};
}
pub(super) use jvmti_call;

/// Handle of the agent's JVMTI environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Jvmti {
    env: NonNull<jvmti::jvmtiEnv>,
}

// SAFETY: a JVMTI environment is not bound to a thread (JVMTI specification, "Environments"), and ours is never disposed.
unsafe impl Send for Jvmti {}
// SAFETY: as above; JVMTI functions may be called from several threads at once.
unsafe impl Sync for Jvmti {}

/// The part of the JVM's life that matters to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// `Agent_OnLoad`.
    OnLoad,
    /// Before `VMInit`: JNI must not be used.
    Starting,
    /// Between `VMInit` and `VMDeath`: everything is allowed.
    Live,
    /// After `VMDeath`.
    Dead,
}

impl Jvmti {
    /// # Safety
    /// `env` must be a JVMTI environment of this process that is never disposed.
    pub(super) unsafe fn from_raw(env: *mut jvmti::jvmtiEnv) -> Option<Jvmti> {
        NonNull::new(env).map(|env| Jvmti { env })
    }

    pub(super) fn raw(self) -> *mut jvmti::jvmtiEnv {
        self.env.as_ptr()
    }

    /// The JVM's current phase.
    pub(crate) fn phase(self) -> Phase {
        let mut phase: jvmti::jvmtiPhase = 0;
        // SAFETY: valid environment, out-parameter on our stack.
        let result = unsafe { jvmti_call!(self, GetPhase, &mut phase) };
        match (result, phase) {
            (Ok(()), jvmti::JVMTI_PHASE_ONLOAD) => Phase::OnLoad,
            (Ok(()), jvmti::JVMTI_PHASE_LIVE) => Phase::Live,
            (Ok(()), jvmti::JVMTI_PHASE_PRIMORDIAL | jvmti::JVMTI_PHASE_START) => Phase::Starting,
            _ => Phase::Dead,
        }
    }

    /// Copies a NUL-terminated string that JVMTI allocated and gives it back.
    ///
    /// # Safety
    /// `text` must be null or a string allocated by JVMTI that nobody else frees.
    pub(super) unsafe fn take_string(self, text: *mut c_char) -> Option<Vec<u8>> {
        let text = NonNull::new(text)?;
        // SAFETY: the caller says that it is a NUL-terminated string.
        let copy = unsafe { CStr::from_ptr(text.as_ptr()) }.to_bytes().to_vec();
        // SAFETY: the caller says that JVMTI allocated it and that it is ours to free.
        unsafe { self.deallocate(text.as_ptr().cast()) };
        Some(copy)
    }

    /// Gives memory back to JVMTI.
    ///
    /// # Safety
    /// `memory` must be null or allocated by JVMTI, and not used afterwards.
    pub(super) unsafe fn deallocate(self, memory: *mut u8) {
        // SAFETY: passed on to the caller. A failure would only leak.
        let _ = unsafe { jvmti_call!(self, Deallocate, memory) };
    }
}
