//! What a template uses of the Java runtime exists in the runtime of this version. Otherwise a template that was compiled against
//! another version would be merged, and the application's method would fail with a `NoSuchMethodError`.

use classfile::{ClassFile, Member, access};

use super::symbol::{MemberSymbol, Symbol};

/// Classes of the Java runtime, as internal name and class file.
pub type RuntimeClasses = &'static [(&'static str, &'static [u8])];

const PACKAGE: &[u8] = b"java/instr/";
const HELP: &str = "compile the template against the template-api of this version";

/// Returns what is wrong with a constant that names the runtime. Nothing is, if the runtime is unknown.
pub(super) fn problem(symbol: &Symbol, runtime: RuntimeClasses) -> Option<String> {
    if runtime.is_empty() {
        return None;
    }
    match symbol {
        Symbol::Class(name) => class_problem(name, runtime),
        Symbol::Member(member) | Symbol::MethodHandle(_, member) => member_problem(member, runtime),
        _ => None,
    }
}

fn class_problem(name: &[u8], runtime: RuntimeClasses) -> Option<String> {
    let unknown = name.starts_with(PACKAGE) && find(name, runtime).is_none();
    unknown.then(|| format!("uses {}, which this version of instr does not have; {HELP}", shown(name)))
}

fn member_problem(member: &MemberSymbol, runtime: RuntimeClasses) -> Option<String> {
    if !member.owner.starts_with(PACKAGE) {
        return None;
    }
    let Some(bytes) = find(&member.owner, runtime) else { return class_problem(&member.owner, runtime) };
    let class = ClassFile::parse(bytes).ok()?;
    let is_it = |known: &Member<'_>| {
        known.name.as_bytes() == member.name
            && known.descriptor.as_bytes() == member.descriptor
            && known.has(access::PUBLIC)
    };
    // What a class inherits, an enum for instance, belongs to the JDK.
    let inherits = class.super_class().is_some_and(|name| name != "java/lang/Object");
    if inherits || class.methods().iter().chain(class.fields()).any(is_it) {
        return None;
    }
    let (owner, name) = (shown(&member.owner), String::from_utf8_lossy(&member.name));
    let descriptor = String::from_utf8_lossy(&member.descriptor);
    let member = if descriptor.starts_with('(') { format!("{name}{descriptor}") } else { name.into_owned() };
    Some(format!("uses {owner}.{member}, which is no public member of it in this version of instr; {HELP}"))
}

fn find(name: &[u8], runtime: RuntimeClasses) -> Option<&'static [u8]> {
    runtime.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, bytes)| *bytes)
}

fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(name).replace('/', ".")
}
