//! What a condition cannot read of loaded methods, found before anything is inserted.

use std::cell::OnceCell;

use classfile::access;
use classfile::descriptor::MethodDescriptor;
use instrument_core::rules::predicates::{Condition, Expected, Path, Root};
use settings::ConditionsConfig;

use super::members;
use crate::jvm::{Jni, Jvmti, LOGGING_CONTEXT, LoadedClass, MethodNames, has_logging_context};

/// Types of arguments that may be the request.
const REQUESTS: [&str; 4] = [
    "Ljakarta/servlet/http/HttpServletRequest;",
    "Ljakarta/servlet/ServletRequest;",
    "Ljavax/servlet/http/HttpServletRequest;",
    "Ljavax/servlet/ServletRequest;",
];
const BOXED_NUMBERS: [&str; 6] = ["Integer", "Long", "Short", "Byte", "Double", "Float"];

/// A method whose calls a condition is about.
pub(crate) struct MethodUnderCondition<'a> {
    pub(crate) class: LoadedClass<'a>,
    pub(crate) names: MethodNames,
}

/// The classes that are loaded.
pub(crate) struct KnownClasses<'a> {
    loaded: &'a [LoadedClass<'a>],
    logging_contexts: OnceCell<Vec<LoadedClass<'a>>>,
}

impl<'a> KnownClasses<'a> {
    pub(crate) fn new(loaded: &'a [LoadedClass<'a>]) -> KnownClasses<'a> {
        KnownClasses { loaded, logging_contexts: OnceCell::new() }
    }

    /// Returns the class of the logging context, as often as it is loaded.
    fn logging_contexts(&self, jvmti: Jvmti) -> &[LoadedClass<'a>] {
        let name = LOGGING_CONTEXT.replace('.', "/");
        let is_context = |class: &&LoadedClass<'_>| class.internal_name(jvmti).is_some_and(|of| of == name.as_bytes());
        self.logging_contexts.get_or_init(|| self.loaded.iter().filter(is_context).copied().collect())
    }
}

/// Whether a method has an argument that may be the HTTP request.
pub(crate) fn takes_request(method: &MethodNames) -> bool {
    let descriptor = String::from_utf8_lossy(&method.descriptor);
    REQUESTS.iter().any(|request| descriptor.contains(request))
}

/// Returns why a condition can hold for no call of a method, as far as the declared types and the loaded classes say.
pub(crate) fn check(
    (jvmti, jni): (Jvmti, &Jni<'_>),
    known: &KnownClasses<'_>,
    method: &MethodUnderCondition<'_>,
    condition: &Condition,
    allowed: &ConditionsConfig,
) -> Result<(), String> {
    for (path, expected) in condition.paths() {
        let checked = of_path((jvmti, jni), known, method, (path, expected), allowed);
        checked.map_err(|message| condition.problem(path, &message))?;
    }
    Ok(())
}

fn of_path(
    (jvmti, jni): (Jvmti, &Jni<'_>),
    known: &KnownClasses<'_>,
    MethodUnderCondition { class, names }: &MethodUnderCondition<'_>,
    (path, expected): (&Path, Expected),
    allowed: &ConditionsConfig,
) -> Result<(), String> {
    let class_name = String::from_utf8_lossy(&class.any_internal_name(jvmti).unwrap_or_default()).replace('/', ".");
    let method = format!("{class_name}.{}", String::from_utf8_lossy(&names.name));
    let mut descriptor = match &path.root {
        Root::Argument(index) => {
            let Ok(types) = MethodDescriptor::parse(&names.descriptor) else { return Ok(()) };
            let count = types.parameters().count();
            let argument = types.parameters().nth(usize::from(*index));
            let missing = || match count {
                0 => format!("{method} has no arguments"),
                1 => format!("{method} has argument 0 only"),
                _ => format!("{method} has arguments 0 to {}", count - 1),
            };
            String::from_utf8_lossy(argument.ok_or_else(missing)?.0).into_owned()
        }
        Root::Receiver if names.access_flags & access::STATIC != 0 => {
            return Err(format!("{method} is static: there is no `this`"));
        }
        Root::Receiver => format!("L{};", class_name.replace('.', "/")),
        Root::Mdc(_) if !has_logging_context(jvmti, jni, *class, known.logging_contexts(jvmti)) => {
            return Err(format!(
                "the class loader of {class_name} has not loaded {LOGGING_CONTEXT}: nothing has been put into the logging context"
            ));
        }
        _ => return Ok(()),
    };
    for member in &path.members {
        let Some(name) = descriptor.strip_prefix('L').and_then(|name| name.strip_suffix(';')) else {
            return Err(format!("{} has no parts", shown(&descriptor)));
        };
        if is_plain(&descriptor) {
            return Err(format!("{} has no parts that a condition can look at", shown(&descriptor)));
        }
        let declared = |class: &&LoadedClass<'_>| {
            class.internal_name(jvmti).is_some_and(|of| of == name.as_bytes()) && class.is_prepared(jvmti)
        };
        // Objects of an interface or of an abstract class have more than it declares.
        let Some(of) = known.loaded.iter().find(declared) else { return Ok(()) };
        match members::find(jvmti, jni, *of, member, allowed) {
            Ok(found) => descriptor = String::from_utf8_lossy(found.descriptor()).into_owned(),
            Err(_) if !of.is_concrete(jvmti) || name == "java/lang/Object" => return Ok(()),
            Err(reason) => return Err(reason),
        }
    }
    let name = descriptor.strip_prefix("Ljava/lang/").and_then(|name| name.strip_suffix(';')).unwrap_or_default();
    let is_number = matches!(descriptor.as_str(), "I" | "J" | "S" | "B" | "D" | "F") || BOXED_NUMBERS.contains(&name);
    let is_text = descriptor == "C" || matches!(name, "String" | "Character");
    let is_boolean = descriptor == "Z" || name == "Boolean";
    let what = match expected {
        Expected::Number if is_boolean => "a number",
        Expected::Number if is_text => "a number (texts have quotes)",
        Expected::Boolean if is_number => "`true` or `false`",
        Expected::Text if is_number || is_boolean => "a text",
        _ if descriptor.starts_with('[') && expected != Expected::Anything => "a text or number",
        _ => return Ok(()),
    };
    Err(format!("it is compared with {what}, and is {}", shown(&descriptor)))
}

/// Whether values of a type are read as a whole.
fn is_plain(descriptor: &str) -> bool {
    let name = descriptor.strip_prefix("Ljava/lang/").and_then(|name| name.strip_suffix(';')).unwrap_or_default();
    matches!(name, "String" | "Boolean" | "Character") || BOXED_NUMBERS.contains(&name)
}

/// Returns a type as people write it.
fn shown(descriptor: &str) -> String {
    let (element, dimensions) = (descriptor.trim_start_matches('['), descriptor.matches('[').count());
    let name = match element {
        "I" => "int",
        "J" => "long",
        "S" => "short",
        "B" => "byte",
        "D" => "double",
        "F" => "float",
        "Z" => "boolean",
        "C" => "char",
        other => other.trim_start_matches('L').trim_end_matches(';'),
    };
    let article = if name == "int" { "an" } else { "a" };
    format!("{article} {}{}", name.replace('/', "."), "[]".repeat(dimensions))
}
