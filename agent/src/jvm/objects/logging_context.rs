//! The mapped diagnostic context of SLF4J, as the method sees it that is called.

use jvmti_bindings::sys::jni;

use super::plain_values::{self, new_string, take_thrown};
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::environment::Jvmti;
use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};

/// Frames that are the runtime's own at most.
const MOST_FRAMES: usize = 4;

/// Returns the value of a key; `None` if there is none. `Err` with the class of what was thrown, `ClassNotFoundException` where there is no SLF4J.
pub(crate) fn logging_context(jvmti: Jvmti, jni: &Jni<'_>, key: &str) -> Result<Option<String>, String> {
    let no_memory = || "no memory".to_owned();
    let frames = jvmti.current_stack(MOST_FRAMES).map_err(|error| error.to_string())?;
    let mut found = None;
    for method in frames.into_iter().filter_map(|(method, _)| method) {
        let text = method.with_class(jvmti, jni, |class| {
            let is_runtime = class.internal_name(jvmti).is_some_and(|name| name.starts_with(b"java/instr/"));
            (!is_runtime).then(|| class.with_loader(jvmti, jni, |loader| read(jvmti, jni, loader, key)))
        });
        if text.is_some() {
            found = text;
            break;
        }
    }
    found.unwrap_or_else(|| Err(no_memory()))
}

fn read(jvmti: Jvmti, jni: &Jni<'_>, loader: Option<ObjectRef<'_>>, key: &str) -> Result<Option<String>, String> {
    let thrown = || take_thrown(jvmti, jni).unwrap_or_else(|| "no memory".to_owned());
    let context = find_class(jni, loader, "org.slf4j.MDC").ok_or_else(thrown)?;
    // SAFETY: the class is used as long as the reference lives.
    let is_initialised =
        unsafe { LoadedClass::from_raw(context.raw()) }.is_some_and(|class| class.is_initialised(jvmti));
    if !is_initialised {
        // Then nobody has put anything into it.
        return Ok(None);
    }
    let key = new_string(jni, key).ok_or_else(thrown)?;
    // SAFETY: valid environment, live initialised class, NUL-terminated texts; the method is static, has a string as argument and result.
    unsafe {
        let descriptor = c"(Ljava/lang/String;)Ljava/lang/String;";
        let method = jni_call!(jni, GetStaticMethodID, context.raw(), c"get".as_ptr(), descriptor.as_ptr());
        if method.is_null() {
            return Err(thrown());
        }
        let argument = jni::jvalue { l: key.raw() };
        let text = jni.own(jni_call!(jni, CallStaticObjectMethodA, context.raw(), method, &raw const argument));
        if let Some(thrown) = take_thrown(jvmti, jni) {
            return Err(thrown);
        }
        Ok(text.map(|text| plain_values::text(jni, text.raw())))
    }
}

/// Returns the class that a loader knows by this name, without initialising it; `None` with a pending exception.
fn find_class<'jni>(jni: &'jni Jni<'_>, loader: Option<ObjectRef<'_>>, name: &str) -> Option<Local<'jni>> {
    let name = new_string(jni, name)?;
    // SAFETY: valid environment, NUL-terminated texts, live references; the method is static and has these arguments.
    unsafe {
        let class = jni.own(jni_call!(jni, FindClass, c"java/lang/Class".as_ptr()))?;
        let descriptor = c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
        let method = jni_call!(jni, GetStaticMethodID, class.raw(), c"forName".as_ptr(), descriptor.as_ptr());
        if method.is_null() {
            return None;
        }
        let loader = loader.map_or(std::ptr::null_mut(), ObjectRef::raw);
        let arguments = [jni::jvalue { l: name.raw() }, jni::jvalue { z: 0 }, jni::jvalue { l: loader }];
        jni.own(jni_call!(jni, CallStaticObjectMethodA, class.raw(), method, arguments.as_ptr()))
    }
}
