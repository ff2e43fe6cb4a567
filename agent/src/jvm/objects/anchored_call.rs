//! A call for which a condition is evaluated, and the method that is called.

use super::plain_values::Arguments;
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::classes::method_facts::MethodId;
use crate::jvm::environment::Jvmti;
use crate::jvm::jni::{Jni, ObjectRef};

/// A call for which a condition is evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnchoredCall<'a> {
    pub(crate) jvmti: Jvmti,
    pub(crate) jni: &'a Jni<'a>,
    /// The number of the anchor.
    pub(crate) anchor: u32,
    /// The receiver, unless the method is static.
    pub(crate) receiver: Option<ObjectRef<'a>>,
    pub(crate) arguments: Arguments<'a>,
}

/// Frames that are the runtime's own at most.
const MOST_FRAMES: usize = 4;

/// Runs `body` with the method that has asked for the evaluation, and its class.
pub(super) fn with_anchored_method<R>(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    body: impl FnOnce(MethodId, LoadedClass<'_>) -> R,
) -> Option<R> {
    let mut body = Some(body);
    let frames = jvmti.current_stack(MOST_FRAMES).ok()?;
    frames.into_iter().filter_map(|(method, _)| method).find_map(|method| {
        method.with_class(jvmti, jni, |class| {
            let is_runtime = class.internal_name(jvmti).is_some_and(|name| name.starts_with(b"java/instr/"));
            if is_runtime { None } else { body.take().map(|body| body(method, class)) }
        })
    })
}
