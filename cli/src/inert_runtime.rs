//! The runtime for programs that run without the agent although their jars are instrumented: a jar for `-Xbootclasspath/a` with the classes
//! that probes call, whose methods do nothing.
//!
//! Made of the real classes, so there is one list of methods. Those cannot run without the agent: their native methods are bound by it, and
//! they use packages of the JDK that it exports to them.

use std::io::{Cursor, Write};

use anyhow::{Context, Result};
use classfile::descriptor::{Kind, MethodDescriptor};
use classfile::{ByteWriter, ClassFile, Member, Tag};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::embedded::RUNTIME_CLASSES;

const PUBLIC: u16 = 0x0001;
const NATIVE: u16 = 0x0100;
const INTERFACE: u16 = 0x0200;

/// Classes that are plain Java and of which templates use more than methods without a result: they stay as they are.
const WHOLE: [&str; 4] = ["java/instr/Level", "java/instr/Nesting", "java/instr/Request", "java/instr/SentRequest"];

/// Returns the bytes of the jar.
pub(crate) fn jar() -> Result<Vec<u8>> {
    let mut jar = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in RUNTIME_CLASSES {
        if let Some(bytes) = inert(name, bytes).with_context(|| format!("the runtime's class {name}"))? {
            jar.start_file(format!("{name}.class"), SimpleFileOptions::DEFAULT)?;
            jar.write_all(&bytes)?;
        }
    }
    Ok(jar.finish()?.into_inner())
}

/// Returns the class as the jar holds it; `None` for one that no instrumented method can refer to.
fn inert(name: &str, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let class = ClassFile::parse(bytes)?;
    if class.access_flags() & PUBLIC == 0 {
        return Ok(None);
    }
    if WHOLE.contains(&name) || class.access_flags() & INTERFACE != 0 {
        return Ok(Some(bytes.to_vec()));
    }
    let pool = class.constant_pool();
    let code = pool.entries().find(|(index, _)| pool.utf8(*index).is_ok_and(|text| text.as_bytes() == b"Code"));
    let (code, _) = code.filter(|(_, tag)| *tag == Tag::Utf8).context("it has no code")?;
    // Flags, name, super class, interfaces.
    let head = pool.end_offset() + 8 + 2 * class.interfaces().count();
    let mut out = ByteWriter::new();
    out.bytes(bytes.get(..head).context("it ends within its head")?);
    let fields: Vec<&Member<'_>> = class.fields().iter().filter(|field| field.has(PUBLIC)).collect();
    out.u2(u16::try_from(fields.len())?);
    fields.iter().for_each(|field| copy(field, bytes, &mut out));
    let is_constructor = |method: &Member<'_>| method.name.as_bytes() == b"<init>";
    let methods = class.methods().iter().filter(|method| method.has(PUBLIC) || is_constructor(method));
    let methods: Vec<&Member<'_>> = methods.collect();
    out.u2(u16::try_from(methods.len())?);
    for method in methods {
        if is_constructor(method) {
            copy(method, bytes, &mut out);
        } else {
            write_empty(method, bytes, code, &mut out)?;
        }
    }
    out.u2(0);
    Ok(Some(out.into_vec()))
}

fn copy(member: &Member<'_>, bytes: &[u8], out: &mut ByteWriter) {
    out.bytes(bytes.get(member.offset..member.end).unwrap_or_default());
}

/// Writes the method with a body that returns 0, false, null or nothing.
fn write_empty(method: &Member<'_>, bytes: &[u8], code: u16, out: &mut ByteWriter) -> Result<()> {
    let descriptor = MethodDescriptor::parse(method.descriptor.as_bytes())?;
    let body: &[u8] = match descriptor.return_type().map(|returned| returned.kind()) {
        None => &[0xb1],
        Some(Kind::Int) => &[0x03, 0xac],
        Some(Kind::Long) => &[0x09, 0xad],
        Some(Kind::Float) => &[0x0b, 0xae],
        Some(Kind::Double) => &[0x0e, 0xaf],
        Some(Kind::Reference) => &[0x01, 0xb0],
    };
    out.u2(method.access_flags & !NATIVE);
    // Name and descriptor.
    out.bytes(bytes.get(method.offset + 2..method.offset + 6).context("a method ends within its head")?);
    out.u2(1);
    out.u2(code);
    out.u4(12 + u32::try_from(body.len())?);
    out.u2(2);
    out.u2(descriptor.parameter_words() + 1);
    out.u4(u32::try_from(body.len())?);
    out.bytes(body);
    out.u2(0);
    out.u2(0);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    const MAY_BE_NULL: [&str; 4] =
        ["java/instr/Target", "java/instr/TraceParent", "java/instr/Handover", "java/instr/Baggage"];

    fn public_methods(bytes: &[u8]) -> Vec<String> {
        let class = ClassFile::parse(bytes).unwrap();
        let public = class.methods().iter().filter(|method| method.has(PUBLIC));
        public
            .map(|method| format!("{:x} {}{}", method.access_flags & !NATIVE, method.name, method.descriptor))
            .collect()
    }

    #[test]
    fn every_public_method_is_there_and_refers_to_nothing_of_the_agent() {
        let mut emptied = 0;
        for (name, bytes) in RUNTIME_CLASSES {
            let Some(inert) = inert(name, bytes).unwrap() else { continue };
            assert_eq!(public_methods(&inert), public_methods(bytes), "{name}");
            let class = ClassFile::parse(&inert).unwrap();
            if inert == *bytes {
                let pool = class.constant_pool();
                let internal = pool.entries().filter_map(|(index, _)| pool.class_name(index).ok());
                let internal: Vec<_> = internal.filter(|name| name.as_bytes().starts_with(b"jdk/")).collect();
                assert!(internal.is_empty(), "{name}: {internal:?}");
                continue;
            }
            emptied += 1;
            // A template would fail on null; intrinsics are not called, `TraceParent.next` and `Handover` say that they may give null, and templates with
            // `Baggage` are for running JVMs only.
            let gives_object = |method: &&Member<'_>| {
                let returned = MethodDescriptor::parse(method.descriptor.as_bytes()).unwrap().return_type();
                method.has(PUBLIC) && returned.is_some_and(|returned| returned.kind() == Kind::Reference)
            };
            let objects: Vec<String> =
                class.methods().iter().filter(gives_object).map(|method| method.name.to_string()).collect();
            let may_be_null = MAY_BE_NULL.contains(name);
            assert!(objects.is_empty() || may_be_null, "{name}: {objects:?}");
        }
        assert!(emptied > 8, "{emptied}");
    }
}
