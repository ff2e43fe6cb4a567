//! Any bytes as a class file: read, every attribute decoded, written again. What can be written is what was read. Names of parameters that
//! were taken out are put back, and nothing else changes.

use classfile::descriptor::MethodDescriptor;
use classfile::stack_map::{FrameDecoder, FrameEncoder, VerificationType, implied_locals};
use classfile::{ByteReader, ByteWriter, ClassFile, Error, Member, ParameterNames, class_writer};

pub fn check(data: &[u8]) {
    let class = match ClassFile::parse(data) {
        Ok(class) => class,
        Err(error) => {
            assert!(error.offset <= data.len(), "an error outside the file: {error}");
            return;
        }
    };
    let mut out = ByteWriter::new();
    if class_writer::write(&class, &mut out).is_ok() {
        assert!(out.as_slice() == data, "written otherwise than read");
    }
    for method in class.methods() {
        // Damaged frames are errors; frames that can be read mean the same when they are written again.
        let _ = frames(&class, method);
    }
    let names = ParameterNames::of(&class).filter(|names| !names.is_empty()).zip(without_names(&class).ok());
    if let Some((names, bare)) = names {
        let bare = ClassFile::parse(&bare).expect("a class without some attributes");
        if let Some(restored) = names.put_back(&bare) {
            let restored = ClassFile::parse(&restored).expect("a class with more attributes");
            assert!(without_names(&restored).is_ok_and(|again| again == bare.bytes()), "something else has changed");
        }
    }
}

/// The class without `MethodParameters`, as a JVM hands it on that has lost them.
fn without_names(class: &ClassFile<'_>) -> Result<Vec<u8>, Error> {
    let mut out = ByteWriter::new();
    let mut copied = 0;
    for method in class.methods() {
        out.bytes(&class.bytes()[copied..method.attributes_offset]);
        copied = method.end;
        let count_position = out.len();
        out.u2(0);
        let mut count = 0;
        for attribute in method.attributes(class) {
            let attribute = attribute?;
            if attribute.name != "MethodParameters" {
                out.u2(attribute.name_index);
                out.u4(attribute.content.len() as u32);
                out.bytes(attribute.content);
                count += 1;
            }
        }
        out.patch_u2(count_position, count);
    }
    out.bytes(&class.bytes()[copied..]);
    Ok(out.into_vec())
}

type Frame = (u32, Vec<VerificationType>, Vec<VerificationType>);

fn frames(class: &ClassFile<'_>, method: &Member<'_>) -> Result<(), Error> {
    let descriptor = MethodDescriptor::parse(method.descriptor.as_bytes())?;
    let Some(code) = method.code(class)? else { return Ok(()) };
    let Some(table) = code.attributes(class).find(b"StackMapTable")? else { return Ok(()) };
    let mut implied = Vec::new();
    implied_locals(Some(VerificationType::Object(1)), &descriptor, &mut implied, |_| Ok::<_, Error>(1))?;
    let frames = expanded(table.reader("StackMapTable"), &implied)?;
    let mut encoder = FrameEncoder::new();
    encoder.begin(Some(&implied));
    for (offset, locals, stack) in &frames {
        // Offsets ascend by the way they are written; beyond the longest code they cannot be written any more.
        if *offset > 0xFFFF || !encoder.frame(*offset, locals, stack) {
            return Ok(());
        }
    }
    let again = expanded(ByteReader::new(encoder.finish(), 0, "StackMapTable"), &implied);
    assert_eq!(again.expect("what the encoder writes can be read"), frames);
    Ok(())
}

fn expanded(table: ByteReader<'_>, implied: &[VerificationType]) -> Result<Vec<Frame>, Error> {
    let (mut locals, mut stack, mut frames) = (implied.to_vec(), Vec::new(), Vec::new());
    let mut decoder = FrameDecoder::new(table, &mut locals, &mut stack)?;
    while let Some(offset) = decoder.advance()? {
        // Tops at the end say nothing, and the encoder leaves them out.
        let locals = decoder.locals();
        let used = locals.iter().rposition(|&local| local != VerificationType::Top).map_or(0, |last| last + 1);
        frames.push((offset, locals.iter().take(used).copied().collect(), decoder.stack().to_vec()));
    }
    Ok(frames)
}
