//! The SQL text that a statement of JDBC executes, as far as it is known without asking the driver.

use std::sync::{Arc, OnceLock};

use instrument_core::rules::predicates::LONGEST_STATEMENT;
use jvmti_bindings::sys::jni;

use super::anchored_call::{AnchoredCall, with_anchored_method};
use super::bounded_table::BoundedTable;
use super::plain_values::{self, class_name, take_thrown};
use super::weak_class::{WeakClass, class_of};
use crate::jvm::classes::loaded_classes::LoadedClass;
use crate::jvm::classes::method_facts::{MethodId, MethodNames};
use crate::jvm::environment::Jvmti;
use crate::jvm::jni::{Jni, Local, ObjectRef, jni_call};
use crate::jvm::runtime_classes::define_class::GlobalClass;

/// The interface of statements.
pub(crate) const STATEMENT: &[u8] = b"java/sql/Statement";
/// Super types of a class that are looked at.
const MOST_TYPES: usize = 128;
const TAKING_TEXT: [&[u8]; 5] = [b"execute", b"executeQuery", b"executeUpdate", b"executeLargeUpdate", b"addBatch"];

/// Which classes are those of statements.
static KNOWN: BoundedTable<Arc<(WeakClass, bool)>> = BoundedTable::new();
/// `java.instr.StatementTexts`.
static REMEMBERING: OnceLock<GlobalClass> = OnceLock::new();
/// Its method that returns what was remembered of a statement.
static REMEMBERED: OnceLock<MethodId> = OnceLock::new();

/// Names the class that remembers what prepared statements execute.
pub(super) fn prepare(statement_texts: GlobalClass) {
    REMEMBERING.get_or_init(|| statement_texts);
}

/// Returns the text that the receiver of a call executes: the method's argument, or what was prepared. Null if the argument is. `Err` with the reason
/// if it is unknown.
pub(crate) fn statement_text(
    AnchoredCall { jvmti, jni, receiver, arguments, .. }: AnchoredCall<'_>,
) -> Result<Option<String>, String> {
    let receiver = receiver.ok_or("a static method or a constructor is no method of a java.sql.Statement")?;
    if !is_statement(jvmti, jni, receiver) {
        let class = class_name(jvmti, jni, receiver).unwrap_or_default();
        return Err(format!("an object of {class} is no java.sql.Statement"));
    }
    let is_of_text =
        || with_anchored_method(jvmti, jni, |method, _| method.names(jvmti)).flatten().as_ref().is_some_and(takes_text);
    let text = if arguments.count(jni) > 0 && is_of_text() {
        match arguments.get(jni, 0) {
            Some(text) => text,
            None => return Ok(None),
        }
    } else {
        let remembered = remembered(jvmti, jni, receiver)?;
        remembered.ok_or("the text is not known: the statement was prepared before this condition was made or by a class that was loaded later, or it is none that is prepared")?
    };
    // SAFETY: the method's descriptor, or what is remembered, says that it is a string.
    Ok(Some(unsafe { plain_values::text_up_to(jni, text.raw(), LONGEST_STATEMENT) }))
}

fn takes_text(method: &MethodNames) -> bool {
    TAKING_TEXT.contains(&&*method.name) && method.descriptor.starts_with(b"(Ljava/lang/String;")
}

fn remembered<'jni>(jvmti: Jvmti, jni: &'jni Jni<'_>, statement: ObjectRef<'_>) -> Result<Option<Local<'jni>>, String> {
    let class = REMEMBERING.get().ok_or("nothing is remembered of statements")?;
    let method = match REMEMBERED.get() {
        Some(method) => *method,
        None => {
            let descriptor = c"(Ljava/lang/Object;)Ljava/lang/String;";
            // SAFETY: valid environment, live class, NUL-terminated texts.
            let id =
                unsafe { jni_call!(jni, GetStaticMethodID, class.raw(), c"prepared".as_ptr(), descriptor.as_ptr()) };
            let id = MethodId::from_raw(id);
            let id = id.ok_or_else(|| take_thrown(jvmti, jni).unwrap_or_else(|| "no memory".to_owned()))?;
            *REMEMBERED.get_or_init(|| id)
        }
    };
    let argument = jni::jvalue { l: statement.raw() };
    // SAFETY: valid environment, live class; the method is one of it, static, and has an object as argument and a string as result.
    let text = unsafe {
        let text = jni_call!(jni, CallStaticObjectMethodA, class.raw(), method.raw(), &raw const argument);
        jni.own(text)
    };
    take_thrown(jvmti, jni).map_or(Ok(text), |thrown| Err(format!("looking for the text has thrown {thrown}")))
}

fn is_statement(jvmti: Jvmti, jni: &Jni<'_>, object: ObjectRef<'_>) -> bool {
    let Some(class) = class_of(jni, object) else { return false };
    let is_it = |known: &Arc<(WeakClass, bool)>| known.0.is(jni, class.as_object());
    if let Some(known) = KNOWN.find(is_it) {
        return known.1;
    }
    // SAFETY: the class is used as long as the reference lives.
    let Some(loaded) = (unsafe { LoadedClass::from_raw(class.raw()) }) else { return false };
    let is_statement = is_statement_class(jvmti, jni, loaded);
    if let Some(weak) = WeakClass::of(jni, class.as_object()) {
        KNOWN.put(Arc::new((weak, is_statement)), is_it);
    }
    is_statement
}

/// Whether objects of a class are statements of JDBC.
pub(crate) fn is_statement_class(jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) -> bool {
    let mut is_it = |of: LoadedClass<'_>| of.internal_name(jvmti).filter(|name| name == STATEMENT);
    class.find_in_types(jvmti, jni, &mut { MOST_TYPES }, &mut is_it).is_some()
}
