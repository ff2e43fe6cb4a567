//! Opening packages of `java.base` to the runtime's classes.

use std::ffi::CStr;

use jvmti_bindings::sys::jni;

use super::define_class::GlobalClass;
use crate::jvm::environment::{Jvmti, jvmti_call};
use crate::jvm::error::{JavaError, JvmtiError};
use crate::jvm::jni::{Jni, Local, jni_call};

/// Exports `package` (with dots) of the module of `java.lang.Object` to the module of `class`.
pub(crate) fn export_to_class(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    package: &CStr,
    class: GlobalClass,
) -> Result<(), ExportError> {
    let java_base = base_module(jni)?;
    // SAFETY: valid environment (JDK 9 and newer have GetModule; JVMTI 11 was granted), live class reference.
    let target = unsafe { jni.own(jni_call!(jni, GetModule, class.raw())) };
    let target = target.ok_or_else(|| jni.failure("finding the runtime's module"))?;
    if export_in_the_vm(jni, package, &java_base, &target).is_some() {
        return Ok(());
    }
    jni.forget_exception();
    // SAFETY: both are module objects, the package name is NUL-terminated.
    unsafe { jvmti_call!(jvmti, AddModuleExports, java_base.raw(), package.as_ptr(), target.raw()) }?;
    Ok(())
}

/// The half of an export that compiled and interpreted code needs: the JVM's own table, filled by a native method of
/// `java.lang.Module`. JVMTI's function also informs reflection, in Java code whose lambdas cost 5 ms at start-up; nobody
/// reflects on what is exported here.
fn export_in_the_vm(jni: &Jni<'_>, package: &CStr, from: &Local<'_>, to: &Local<'_>) -> Option<()> {
    // SAFETY: valid environment, NUL-terminated names; the arguments fit the descriptor: module, string, module.
    unsafe {
        let class = jni.own(jni_call!(jni, FindClass, c"java/lang/Module".as_ptr()))?;
        let descriptor = c"(Ljava/lang/Module;Ljava/lang/String;Ljava/lang/Module;)V";
        let method = jni_call!(jni, GetStaticMethodID, class.raw(), c"addExports0".as_ptr(), descriptor.as_ptr());
        if method.is_null() {
            return None;
        }
        let package = jni.own(jni_call!(jni, NewStringUTF, package.as_ptr()))?;
        let arguments = [jni::jvalue { l: from.raw() }, jni::jvalue { l: package.raw() }, jni::jvalue { l: to.raw() }];
        jni_call!(jni, CallStaticVoidMethodA, class.raw(), method, arguments.as_ptr());
    }
    (!jni.exception_pending()).then_some(())
}

fn base_module<'jni>(jni: &'jni Jni<'_>) -> Result<Local<'jni>, JavaError> {
    // SAFETY: valid environment, NUL-terminated name.
    let object = unsafe { jni.own(jni_call!(jni, FindClass, c"java/lang/Object".as_ptr())) };
    let object = object.ok_or_else(|| jni.failure("finding java.lang.Object"))?;
    // SAFETY: valid environment, live class reference.
    let module = unsafe { jni.own(jni_call!(jni, GetModule, object.raw())) };
    module.ok_or_else(|| jni.failure("finding java.base"))
}

/// Why a package could not be exported.
#[derive(Debug)]
pub(crate) enum ExportError {
    /// JVMTI refused.
    Jvmti(JvmtiError),
    /// A JNI call failed.
    Java(JavaError),
}

impl From<JvmtiError> for ExportError {
    fn from(error: JvmtiError) -> Self {
        ExportError::Jvmti(error)
    }
}

impl From<JavaError> for ExportError {
    fn from(error: JavaError) -> Self {
        ExportError::Java(error)
    }
}

impl std::fmt::Display for ExportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExportError::Jvmti(error) => error.fmt(f),
            ExportError::Java(error) => error.fmt(f),
        }
    }
}
