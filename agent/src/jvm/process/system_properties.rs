//! System properties, as JVMTI shows them (also before Java code can run).

use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::JvmtiError;

impl Jvmti {
    /// A system property of the JVM, `None` if it is not set.
    pub(crate) fn system_property(self, name: &CStr) -> Option<String> {
        let mut value: *mut c_char = null_mut();
        // SAFETY: valid environment, NUL-terminated name, out-parameter on our stack.
        unsafe { jvmti_call!(self, GetSystemProperty, name.as_ptr(), &mut value) }.ok()?;
        // SAFETY: JVMTI allocated the string for us.
        let value = unsafe { self.take_string(value) }?;
        Some(String::from_utf8_lossy(&value).into_owned())
    }

    /// Feature release of the JDK: 11, 17, 25 ... 0 if unknown.
    pub(crate) fn java_version(self) -> u32 {
        let text = self
            .system_property(c"java.specification.version")
            .or_else(|| self.system_property(c"java.vm.specification.version"));
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}
