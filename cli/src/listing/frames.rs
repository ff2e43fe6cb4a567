//! Stack map frames in words.

use classfile::attribute_kind::Location;
use classfile::attributes::AttributeContent;
use classfile::descriptor::MethodDescriptor;
use classfile::stack_map::{FrameDecoder, VerificationType, implied_locals};
use classfile::{ClassFile, Code, Member, ModifiedUtf8, access};

use super::Frame;
use super::constants::class_name;

/// All frames of a method.
pub(super) fn decode(class: &ClassFile<'_>, method: &Member<'_>, code: &Code<'_>) -> classfile::Result<Vec<Frame>> {
    let Some(attribute) = code.attributes(class).find(b"StackMapTable")? else { return Ok(Vec::new()) };
    if matches!(AttributeContent::parse(&attribute, Location::Code, class)?, AttributeContent::Unknown(_)) {
        // In a class too old for frames the JVM does not look at them.
        return Ok(Vec::new());
    }
    let mut names = Names { class, implied: Vec::new() };
    let descriptor = MethodDescriptor::parse(method.descriptor.as_bytes())?;
    let (mut locals, mut stack, mut frames) = (Vec::new(), Vec::new(), Vec::new());
    let receiver = receiver(method, class, &mut names);
    implied_locals(receiver, &descriptor, &mut locals, |name| Ok::<u16, classfile::Error>(names.number(name)))?;
    let mut decoder = FrameDecoder::new(attribute.reader("StackMapTable"), &mut locals, &mut stack)?;
    while let Some(offset) = decoder.advance()? {
        let shown = |types: &[VerificationType]| types.iter().map(|&entry| names.text(entry)).collect();
        frames.push(Frame { offset, locals: shown(decoder.locals()), stack: shown(decoder.stack()) });
    }
    Ok(frames)
}

fn receiver(method: &Member<'_>, class: &ClassFile<'_>, names: &mut Names<'_, '_>) -> Option<VerificationType> {
    if method.has(access::STATIC) {
        None
    } else if method.name == "<init>" && class.super_class().is_some() {
        Some(VerificationType::UninitializedThis)
    } else {
        Some(VerificationType::Object(names.number(class.this_class().as_bytes())))
    }
}

/// Classes by number: those of the pool, followed by those that only the method's descriptor names.
struct Names<'c, 'a> {
    class: &'c ClassFile<'a>,
    implied: Vec<Vec<u8>>,
}

impl Names<'_, '_> {
    fn number(&mut self, name: &[u8]) -> u16 {
        let number = usize::from(self.class.constant_pool().count()) + self.implied.len();
        self.implied.push(name.to_vec());
        // A class with a full pool has no number left; it is shown as unknown.
        u16::try_from(number).unwrap_or(0)
    }

    fn text(&self, entry: VerificationType) -> String {
        match entry {
            VerificationType::Top => "-".to_owned(),
            VerificationType::Integer => "int".to_owned(),
            VerificationType::Float => "float".to_owned(),
            VerificationType::Double => "double".to_owned(),
            VerificationType::Long => "long".to_owned(),
            VerificationType::Null => "null".to_owned(),
            VerificationType::UninitializedThis => "uninitialized this".to_owned(),
            VerificationType::Uninitialized(offset) => format!("new at {offset}"),
            VerificationType::Object(number) => self.class_text(number),
        }
    }

    fn class_text(&self, number: u16) -> String {
        let pool = self.class.constant_pool();
        if let Ok(name) = pool.class_name(number) {
            return class_name(name);
        }
        let implied = number.checked_sub(pool.count()).and_then(|at| self.implied.get(usize::from(at)));
        implied.map_or_else(|| "?".to_owned(), |name| class_name(ModifiedUtf8(name)))
    }
}
