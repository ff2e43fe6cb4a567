//! What a condition cannot read of loaded methods, found before anything is inserted.

use std::cell::OnceCell;

use classfile::access;
use classfile::descriptor::MethodDescriptor;
use instrument_core::rules::predicates::{Condition, Expected, MemberPath, Path, Root};
use settings::ConditionsConfig;

use super::members;
use crate::jvm::{Jni, Jvmti, LOGGING_CONTEXT, LoadedClass, MethodNames, has_logging_context, is_statement_class};

/// Types of arguments that may be the request.
const REQUESTS: [&str; 4] = [
    "Ljakarta/servlet/http/HttpServletRequest;",
    "Ljakarta/servlet/ServletRequest;",
    "Ljavax/servlet/http/HttpServletRequest;",
    "Ljavax/servlet/ServletRequest;",
];
/// Types of which an array is an object.
const MAY_BE_ARRAYS: [&str; 3] = ["java/lang/Object", "java/lang/Cloneable", "java/io/Serializable"];
const CONSTRUCTOR: &[u8] = b"<init>";
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

    /// Returns the name of a class of prepared statements that is loaded, for an example.
    fn statement(&self, jvmti: Jvmti, jni: &Jni<'_>) -> Option<String> {
        let mut concrete = self.loaded.iter().filter(|class| class.is_prepared(jvmti) && class.is_concrete(jvmti));
        let is_it = |class: &&LoadedClass<'_>| is_statement_class(jvmti, jni, **class);
        let name = concrete.find(is_it)?.internal_name(jvmti)?;
        Some(String::from_utf8_lossy(&name).replace('/', "."))
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
        let type_of_root = of_root((jvmti, jni), known, method, path);
        let Some(mut descriptor) = type_of_root.map_err(|message| condition.problem(path, &message))? else { continue };
        let mut is_known = true;
        for (at, member) in path.members.iter().enumerate() {
            let found = of_member((jvmti, jni), known, &descriptor, member, allowed);
            match found.map_err(|message| condition.problem_of_member(path, at, &message))? {
                Some(found) => descriptor = found,
                None => is_known = false,
            }
            if !is_known {
                break;
            }
        }
        if is_known {
            check_type(&descriptor, expected).map_err(|message| condition.problem(path, &message))?;
        }
    }
    Ok(())
}

/// Returns the declared type of the value at which a path begins; `None` if nothing is declared.
fn of_root(
    (jvmti, jni): (Jvmti, &Jni<'_>),
    known: &KnownClasses<'_>,
    MethodUnderCondition { class, names }: &MethodUnderCondition<'_>,
    path: &Path,
) -> Result<Option<String>, String> {
    let class_name = String::from_utf8_lossy(&class.any_internal_name(jvmti).unwrap_or_default()).replace('/', ".");
    let method = format!("{class_name}.{}", String::from_utf8_lossy(&names.name));
    let is_static = names.access_flags & access::STATIC != 0;
    match &path.root {
        Root::Argument(index) => {
            let Ok(types) = MethodDescriptor::parse(&names.descriptor) else { return Ok(None) };
            let count = types.parameters().count();
            let argument = types.parameters().nth(usize::from(*index));
            let missing = || match count {
                0 => format!("{method} has no arguments"),
                1 => format!("{method} has argument 0 only"),
                _ => format!("{method} has arguments 0 to {}", count - 1),
            };
            Ok(Some(String::from_utf8_lossy(argument.ok_or_else(missing)?.0).into_owned()))
        }
        Root::Receiver if is_static => Err(format!("{method} is static: there is no `this`")),
        Root::Receiver if &*names.name == CONSTRUCTOR => Err(format!(
            "when {method} begins, its object has no values yet: there is no `this`. Name an argument, `arg.0`"
        )),
        Root::Receiver => Ok(Some(format!("L{};", class_name.replace('.', "/")))),
        Root::Mdc(_) if !has_logging_context(jvmti, jni, *class, known.logging_contexts(jvmti)) => Err(format!(
            "the class loader of {class_name} has not loaded {LOGGING_CONTEXT}: nothing has been put into the logging context"
        )),
        Root::Sql if is_static || &*names.name == CONSTRUCTOR || !is_statement_class(jvmti, jni, *class) => {
            let example = known.statement(jvmti, jni);
            let example = example.as_deref().unwrap_or("org.h2.jdbc.JdbcPreparedStatement");
            Err(format!(
                "{method} is no method of a java.sql.Statement: name one of the driver or of the pool that executes statements, for instance `{example}.execute*`, as the method or as the first one of --in"
            ))
        }
        Root::Sql => Ok(Some("Ljava/lang/String;".to_owned())),
        _ => Ok(None),
    }
}

/// Returns the declared type of a member of a value of this type; `None` if nobody knows.
fn of_member(
    (jvmti, jni): (Jvmti, &Jni<'_>),
    known: &KnownClasses<'_>,
    descriptor: &str,
    member: &MemberPath,
    allowed: &ConditionsConfig,
) -> Result<Option<String>, String> {
    if let Some(element) = descriptor.strip_prefix('[') {
        return match member {
            MemberPath::Element(_) => Ok(Some(element.to_owned())),
            MemberPath::Field(name) if name == members::LENGTH => Ok(Some("I".to_owned())),
            _ => Err(format!("{} has no parts but its elements, as `[0]`, and `length`", shown(descriptor))),
        };
    }
    let is_element = matches!(member, MemberPath::Element(_));
    let no_array = || format!("{} is no array: only arrays have elements", shown(descriptor));
    let Some(name) = descriptor.strip_prefix('L').and_then(|name| name.strip_suffix(';')) else {
        return Err(if is_element { no_array() } else { format!("{} has no parts", shown(descriptor)) });
    };
    if is_element {
        return if MAY_BE_ARRAYS.contains(&name) { Ok(None) } else { Err(no_array()) };
    }
    if is_plain(descriptor) {
        return Err(format!("{} has no parts that a condition can look at", shown(descriptor)));
    }
    let declared = |class: &&LoadedClass<'_>| {
        class.internal_name(jvmti).is_some_and(|of| of == name.as_bytes()) && class.is_prepared(jvmti)
    };
    // Objects of an interface or of an abstract class have more than it declares.
    let Some(of) = known.loaded.iter().find(declared) else { return Ok(None) };
    match members::find(jvmti, jni, *of, member, allowed) {
        Ok(found) => Ok(Some(String::from_utf8_lossy(found.descriptor()).into_owned())),
        Err(_) if !of.is_concrete(jvmti) || name == "java/lang/Object" => Ok(None),
        Err(reason) => Err(reason),
    }
}

/// Refuses a comparison that holds for no value of a type.
fn check_type(descriptor: &str, expected: Expected) -> Result<(), String> {
    let name = descriptor.strip_prefix("Ljava/lang/").and_then(|name| name.strip_suffix(';')).unwrap_or_default();
    let is_number = matches!(descriptor, "I" | "J" | "S" | "B" | "D" | "F") || BOXED_NUMBERS.contains(&name);
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
    Err(format!("it is compared with {what}, and is {}", shown(descriptor)))
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
