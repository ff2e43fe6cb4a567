//! Fields and getters of classes, by name. What was found for a class is kept, and that nothing was found for a while.

use std::sync::Arc;
use std::time::{Duration, Instant};

use classfile::{ConstantPool, access, opcode};
use instrument_core::rules::nearest_name::nearest_name;
use instrument_core::rules::predicates::MemberPath;
use settings::ConditionsConfig;

use crate::jvm::{
    AnchoredCall, BoundedTable, FieldId, FieldNames, Jni, Jvmti, LoadedClass, Member, MethodId, MethodNames,
    ObjectClass, ObjectRef, ReadValue, WeakClass, fields_with_ids, methods_with_ids, with_class_of,
};

/// How long a member counts as missing: a getter may become readable when its class is restored.
const MISSING_FOR: Duration = Duration::from_secs(10);
/// What arrays have beside their elements.
pub(super) const LENGTH: &str = "length";
/// Super classes that are looked at.
const DEEPEST: usize = 64;
/// `aload_0`, `getfield`, a return: the bytecode of a getter that only returns a field.
const LENGTH_OF_PLAIN_GETTER: usize = 5;

/// Members that were found, by their place in the condition.
#[derive(Debug)]
pub(super) struct KnownMembers(BoundedTable<Arc<Known>>);

#[derive(Debug)]
struct Known {
    path: MemberPath,
    found: Result<Member, Missing>,
}

/// A class has no such member that may be read.
#[derive(Debug)]
struct Missing {
    class: WeakClass,
    reason: String,
    since: Instant,
}

/// A member of a class, not yet bound to it.
pub(super) enum Found {
    Field(FieldId, FieldNames),
    Getter(MethodId, MethodNames),
}

impl Found {
    /// Returns the descriptor of its value.
    pub(super) fn descriptor(&self) -> &[u8] {
        match self {
            Found::Field(_, names) => &names.descriptor,
            Found::Getter(_, names) => names.descriptor.strip_prefix(b"()").unwrap_or_default(),
        }
    }
}

impl Default for KnownMembers {
    fn default() -> KnownMembers {
        KnownMembers(BoundedTable::new())
    }
}

impl KnownMembers {
    /// Returns the value of a member of an object, or why it cannot be read.
    pub(super) fn read<'jni>(
        &self,
        AnchoredCall { jvmti, jni, .. }: AnchoredCall<'jni>,
        object: ObjectRef<'_>,
        path: &MemberPath,
        allowed: &ConditionsConfig,
    ) -> Result<ReadValue<'jni>, String> {
        let known = with_class_of(jni, object, |class| Some(self.of_class(jvmti, jni, class, path, allowed)));
        let known = known.unwrap_or_else(|| Err("the class of an object is unknown".to_owned()))?;
        let member = known.found.as_ref().map_err(|missing| missing.reason.clone())?;
        member.read(jvmti, jni, object).map_err(|thrown| format!("{} has thrown {thrown}", written(path)))
    }

    fn of_class(
        &self,
        jvmti: Jvmti,
        jni: &Jni<'_>,
        class: ObjectClass<'_>,
        path: &MemberPath,
        allowed: &ConditionsConfig,
    ) -> Result<Arc<Known>, String> {
        let is_it = |known: &Arc<Known>| {
            let is_of_class = || match &known.found {
                Ok(member) => member.is_of(jni, class),
                Err(missing) => class.is(jni, &missing.class),
            };
            known.path == *path && is_of_class()
        };
        let is_valid =
            |known: &Arc<Known>| known.found.as_ref().err().is_none_or(|of| of.since.elapsed() < MISSING_FOR);
        if let Some(known) = self.0.find(is_it).filter(is_valid) {
            return Ok(known);
        }
        let loaded = class.as_loaded().ok_or("the class of an object is unknown")?;
        let found = match find(jvmti, jni, loaded, path, allowed) {
            Ok(Found::Field(id, names)) => Ok(Member::field(jni, class, (id, &names)).ok_or("no memory")?),
            Ok(Found::Getter(id, names)) => Ok(Member::getter(jni, class, (id, &names)).ok_or("no memory")?),
            Err(reason) => {
                let class = class.weak(jni).ok_or("no memory")?;
                Err(Missing { class, reason, since: Instant::now() })
            }
        };
        let known = Arc::new(Known { path: path.clone(), found });
        self.0.put(Arc::clone(&known), is_it);
        Ok(known)
    }
}

/// Returns the member of this name of a class, or why there is none that may be read.
pub(super) fn find(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    class: LoadedClass<'_>,
    path: &MemberPath,
    allowed: &ConditionsConfig,
) -> Result<Found, String> {
    let of_class = class.any_internal_name(jvmti).unwrap_or_default();
    let of_class = String::from_utf8_lossy(&of_class).replace('/', ".");
    match path {
        MemberPath::Field(name) => {
            let found = in_super_classes(jvmti, jni, class, DEEPEST, &mut |class| field(jvmti, class, name.as_bytes()));
            found.map(|(id, names)| Found::Field(id, names)).ok_or_else(|| {
                let names = fields_with_ids(jvmti, class).into_iter().map(|(_, names)| names.name);
                no_member(&format!("{of_class} has no field `{name}`"), names.collect())
            })
        }
        MemberPath::Getter(name) => getter(jvmti, jni, (class, &of_class), name, allowed),
        MemberPath::Element(_) => Err(format!("{of_class} is no array: only arrays have elements")),
    }
}

fn getter(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    (class, of_class): (LoadedClass<'_>, &str),
    name: &str,
    allowed: &ConditionsConfig,
) -> Result<Found, String> {
    let found = in_super_classes(jvmti, jni, class, DEEPEST, &mut |class| {
        let is_it = |(_, names): &(MethodId, MethodNames)| {
            const NEVER: u16 = access::STATIC | access::ABSTRACT | access::BRIDGE;
            names.name == name.as_bytes() && names.descriptor.starts_with(b"()") && names.access_flags & NEVER == 0
        };
        let (id, names) = methods_with_ids(jvmti, class).into_iter().find(is_it)?;
        let declared_by = class.any_internal_name(jvmti)?;
        let declared_by = String::from_utf8_lossy(&declared_by).replace('/', ".");
        Some((id, names, declared_by, plain_field(jvmti, class, id)))
    });
    let Some((id, names, declared_by, read)) = found else {
        let without_arguments = |names: &MethodNames| names.descriptor.starts_with(b"()");
        let methods = methods_with_ids(jvmti, class).into_iter().map(|(_, names)| names);
        let methods = methods.filter(without_arguments).map(|names| names.name);
        let message = format!("{of_class} has no method `{name}()` with bytecode");
        return Err(no_member(&message, methods.collect()));
    };
    if let Some(field_name) = read {
        let field = in_super_classes(jvmti, jni, class, DEEPEST, &mut |class| {
            let is_declared = class.any_internal_name(jvmti)?;
            if String::from_utf8_lossy(&is_declared).replace('/', ".") != declared_by {
                return None;
            }
            field(jvmti, class, &field_name)
        });
        if let Some((id, names)) = field {
            return Ok(Found::Field(id, names));
        }
    }
    let written = format!("{declared_by}.{name}");
    if names.descriptor.ends_with(b"V") {
        return Err(format!("{written}() returns nothing"));
    }
    if allowed.getters.contains(&written) {
        return Ok(Found::Getter(id, names));
    }
    Err(format!(
        "{written}() does more than to return a field, or is instrumented: a getter with side effects is not called. Name the field, or list \
         \"{written}\" as one of `getters` in [conditions] of the configuration file"
    ))
}

/// Returns the name of the field of its own class that a method only returns.
fn plain_field(jvmti: Jvmti, class: LoadedClass<'_>, method: MethodId) -> Option<Vec<u8>> {
    let bytecode = method.bytecode(jvmti).filter(|code| code.len() == LENGTH_OF_PLAIN_GETTER)?;
    let [opcode::ALOAD_0, opcode::GETFIELD, high, low, opcode::IRETURN..=opcode::ARETURN] = *bytecode.as_slice() else {
        return None;
    };
    let constants = class.constant_pool(jvmti)?.beginning_of_file();
    let pool = ConstantPool::of_beginning(&constants).ok()?;
    let member = pool.member_ref(u16::from_be_bytes([high, low])).ok()?;
    (member.owner.as_bytes() == &*class.any_internal_name(jvmti)?).then(|| member.name.as_bytes().to_vec())
}

fn field(jvmti: Jvmti, class: LoadedClass<'_>, name: &[u8]) -> Option<(FieldId, FieldNames)> {
    let mut fields = fields_with_ids(jvmti, class).into_iter();
    fields.find(|(_, names)| names.name == name && names.access_flags & access::STATIC == 0)
}

/// Looks into a class and its super classes.
fn in_super_classes<R>(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    class: LoadedClass<'_>,
    depth: usize,
    look: &mut dyn FnMut(LoadedClass<'_>) -> Option<R>,
) -> Option<R> {
    if let Some(found) = look(class) {
        return Some(found);
    }
    if depth == 0 {
        return None;
    }
    class.with_super_types(jvmti, jni, |super_class, _| in_super_classes(jvmti, jni, super_class?, depth - 1, look))
}

fn no_member(message: &str, names: Vec<Vec<u8>>) -> String {
    let names: Vec<String> = names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let wanted = message.split('`').nth(1).unwrap_or_default().trim_end_matches("()");
    match nearest_name(wanted, names.iter().map(String::as_str)) {
        Some(meant) => format!("{message}; did you mean `{meant}`?"),
        None => message.to_owned(),
    }
}

/// Returns a member as it is written in a condition.
pub(super) fn written(path: &MemberPath) -> String {
    match path {
        MemberPath::Field(name) => name.clone(),
        MemberPath::Getter(name) => format!("{name}()"),
        MemberPath::Element(index) => format!("[{index}]"),
    }
}
