//! Names of parameters, as far as the class file contains them.

use classfile::descriptor::MethodDescriptor;
use classfile::{ClassFile, Member, access};

/// Names by argument, counted without the receiver; `None` where there is none.
///
/// `MethodParameters` (JVMS 4.7.24, `javac -parameters`) goes before `LocalVariableTable` (JVMS 4.7.13, `javac -g`). Damaged
/// tables have no names: a name is only shown.
pub(in crate::rules) fn of(
    class: &ClassFile<'_>,
    method: &Member<'_>,
    descriptor: &MethodDescriptor<'_>,
) -> Vec<Option<String>> {
    let count = descriptor.parameters().count();
    let mut names = method_parameters(class, method, count).unwrap_or_else(|| vec![None; count]);
    if names.iter().any(Option::is_none) {
        let from_variables = variables(class, method, descriptor).unwrap_or_default();
        for (name, found) in names.iter_mut().zip(from_variables) {
            *name = name.take().or(found);
        }
    }
    names
}

fn method_parameters(class: &ClassFile<'_>, method: &Member<'_>, count: usize) -> Option<Vec<Option<String>>> {
    let attribute = method.attributes(class).find(b"MethodParameters").ok()??;
    let mut reader = attribute.reader("MethodParameters");
    // javac leaves out none of those of the descriptor; other compilers might, and then places do not fit.
    if usize::from(reader.u1().ok()?) != count {
        return None;
    }
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        let (name, _flags) = (reader.u2().ok()?, reader.u2().ok()?);
        let known = || Some(class.constant_pool().utf8(name).ok()?.to_string());
        names.push(if name == 0 { None } else { known() });
    }
    Some(names)
}

fn variables(
    class: &ClassFile<'_>,
    method: &Member<'_>,
    descriptor: &MethodDescriptor<'_>,
) -> Option<Vec<Option<String>>> {
    let code = method.code(class).ok()??;
    let mut slots = Vec::new();
    let mut next = u16::from(!method.has(access::STATIC));
    for field_type in descriptor.parameters() {
        slots.push(next);
        next = next.checked_add(field_type.kind().words())?;
    }
    let mut names = vec![None; slots.len()];
    for attribute in code.attributes(class) {
        let attribute = attribute.ok()?;
        if attribute.name != "LocalVariableTable" {
            continue;
        }
        let mut reader = attribute.reader("LocalVariableTable");
        for _ in 0..reader.u2().ok()? {
            let (start, _length, name) = (reader.u2().ok()?, reader.u2().ok()?, reader.u2().ok()?);
            let (_descriptor, slot) = (reader.u2().ok()?, reader.u2().ok()?);
            // A slot may be used again for another variable, but never from the start.
            let place = slots.iter().position(|of| *of == slot).filter(|_| start == 0);
            if let Some(known) = place.and_then(|place| names.get_mut(place)) {
                *known = class.constant_pool().utf8(name).ok().map(|name| name.to_string());
            }
        }
    }
    Some(names)
}
