//! Is every method lowered as it was lifted? Code, rows and tables must be the same bytes; what may differ is the *form*: the
//! same said in the shortest way, which is counted by its reason and by the language that the class was compiled from.

use classfile::descriptor::MethodDescriptor;
use classfile::instruction::Instructions;
use classfile::stack_map::{FrameDecoder, VerificationType, implied_locals};
use classfile::{Attribute, ByteReader, ClassFile, Code, Error, Member, access, opcode};
use instrument_core::engine::roundtrip::{Lowered, lift_and_lower};
use instrument_core::{Refusal, Workspace};

use crate::tally::Tally;

/// Lifts and lowers every method of a class and compares.
pub(crate) fn check(workspace: &mut Workspace, name: &str, class: &ClassFile<'_>, tally: &mut Tally) {
    lift_and_lower(workspace, class, |index, lowered| {
        let Some(method) = class.methods().get(index) else { return };
        let example = |what: &dyn std::fmt::Display| format!("{name} {}{}: {what}", method.name, method.descriptor);
        let compared = lowered.map(|lowered| Comparison { class, method, tally: &mut *tally }.compare(&lowered));
        match compared {
            Ok(Ok(None)) => tally.lowered += 1,
            Ok(Ok(Some(part))) => tally.problem("lowered otherwise than lifted", example(&part)),
            Ok(Err(error)) => tally.problem("lowered to what cannot be read", example(&error)),
            Err(reason) => tally.problem("cannot be lowered", example(&reason as &Refusal)),
        }
    });
}

struct Comparison<'c, 'a> {
    class: &'c ClassFile<'a>,
    method: &'c Member<'a>,
    tally: &'c mut Tally,
}

impl Comparison<'_, '_> {
    /// The first part that differs in more than its form.
    fn compare(&mut self, lowered: &Lowered) -> Result<Option<&'static str>, Error> {
        let Some(code) = self.method.code(self.class)? else { return Ok(Some("no code")) };
        if code.bytecode != lowered.code {
            if without_padding(code.bytecode)? != lowered.code {
                return Ok(Some("code"));
            }
            self.other_form("padding of a switch is not zero");
        }
        if !code.exception_table.rows().eq(lowered.rows.iter().copied()) {
            return Ok(Some("exception rows"));
        }
        self.tables(&code, lowered)
    }

    fn tables(&mut self, code: &Code<'_>, lowered: &Lowered) -> Result<Option<&'static str>, Error> {
        let mut left = lowered.tables.iter();
        let mut frames = None;
        for table in code.attributes(self.class) {
            let table = table?;
            match table.name.as_bytes() {
                b"StackMapTable" => frames = Some(table),
                b"StackMap" | b"CharacterRangeTable" => self.other_form("a table that merging drops"),
                _ => match left.next() {
                    Some((name, content)) if *name == table.name_index && content == table.content => {}
                    _ => return Ok(Some("a table")),
                },
            }
        }
        let written = left.next().map(|(_, content)| content.as_slice());
        self.frames(frames, written)
    }

    fn frames(&mut self, read: Option<Attribute<'_>>, written: Option<&[u8]>) -> Result<Option<&'static str>, Error> {
        let (read, written) = match (read, written) {
            (None, None) => return Ok(None),
            (Some(_), None) if self.class.major_version() < 50 => {
                self.other_form("frames in a class of a version without");
                return Ok(None);
            }
            (Some(table), None) if table.content == [0, 0] => {
                self.other_form("a table of no frames");
                return Ok(None);
            }
            (Some(table), Some(written)) => (table, written),
            _ => return Ok(Some("frames")),
        };
        self.tally.frame_tables += 1;
        if read.content == written {
            return Ok(None);
        }
        let implied = self.locals_at_entry()?;
        let before = self.expand(read.reader("StackMapTable"), &implied)?;
        let after = self.expand(ByteReader::new(written, 0, "StackMapTable"), &implied)?;
        if before.frames != after.frames {
            return Ok(Some("frames"));
        }
        self.other_form(match written.len().cmp(&read.content.len()) {
            std::cmp::Ordering::Less if before.tops => "frames with tops at the end of the locals",
            // Javac and ASM take the short form only below 63, though it reaches 63.
            std::cmp::Ordering::Less if read.content.windows(3).any(|bytes| bytes == [247, 0, 63]) => {
                "frames in the extended form at distance 63"
            }
            std::cmp::Ordering::Less => "frames in full where a difference would do",
            _ if before.tops => "frames with tops at the end of the locals, shorter only together",
            std::cmp::Ordering::Equal => "frames in another form of the same length",
            std::cmp::Ordering::Greater => return Ok(Some("frames are longer than they were")),
        });
        Ok(None)
    }

    fn other_form(&mut self, reason: &str) {
        let language = language(self.class);
        let example = || format!("{} {}{}", self.class.this_class(), self.method.name, self.method.descriptor);
        self.tally.other_form(format!("{reason} ({language})"), example);
    }

    fn locals_at_entry(&self) -> Result<Vec<VerificationType>, Error> {
        let pool = self.class.constant_pool();
        let constant = |name: &[u8]| {
            let known = |index: &u16| pool.class_name(*index).is_ok_and(|known| known.as_bytes() == name);
            // A class that the pool does not name cannot be named by a frame either.
            pool.entries().map(|(index, _)| index).find(known).unwrap_or(0)
        };
        let constructor = self.method.name == "<init>" && self.class.super_class().is_some();
        let receiver = match (self.method.has(access::STATIC), constructor) {
            (true, _) => None,
            (_, true) => Some(VerificationType::UninitializedThis),
            _ => Some(VerificationType::Object(constant(self.class.this_class().as_bytes()))),
        };
        let mut locals = Vec::new();
        let descriptor = MethodDescriptor::parse(self.method.descriptor.as_bytes())?;
        implied_locals(receiver, &descriptor, &mut locals, |name| Ok::<_, Error>(constant(name)))?;
        Ok(locals)
    }

    fn expand(&self, table: ByteReader<'_>, implied: &[VerificationType]) -> Result<Expanded, Error> {
        let (mut locals, mut stack) = (implied.to_vec(), Vec::new());
        let mut expanded = Expanded { frames: Vec::new(), tops: false };
        let mut decoder = FrameDecoder::new(table, &mut locals, &mut stack)?;
        while let Some(offset) = decoder.advance()? {
            let locals = decoder.locals();
            let used = locals.iter().rposition(|&local| local != VerificationType::Top).map_or(0, |last| last + 1);
            expanded.tops |= used < locals.len();
            let named = |types: &[VerificationType]| types.iter().map(|&entry| self.named(entry)).collect();
            let used = locals.get(..used).unwrap_or_default();
            expanded.frames.push((offset, named(used), named(decoder.stack())));
        }
        Ok(expanded)
    }

    /// Two constants may name one class.
    fn named(&self, entry: VerificationType) -> String {
        match entry {
            VerificationType::Object(class) => match self.class.constant_pool().class_name(class) {
                Ok(name) => name.to_string(),
                Err(_) => format!("constant {class}"),
            },
            other => format!("{other:?}"),
        }
    }
}

#[derive(Debug)]
struct Expanded {
    frames: Vec<(u32, Vec<String>, Vec<String>)>,
    tops: bool,
}

/// The code with zeros between a switch's opcode and its first word, as every compiler but a few old ones writes it.
fn without_padding(code: &[u8]) -> Result<Vec<u8>, Error> {
    let mut clean = code.to_vec();
    for instruction in Instructions::new(code) {
        let instruction = instruction?;
        if matches!(instruction.opcode, opcode::TABLESWITCH | opcode::LOOKUPSWITCH) {
            let start = instruction.offset as usize + 1;
            let end = start.next_multiple_of(4).min(clean.len());
            clean.get_mut(start..end).unwrap_or_default().fill(0);
        }
    }
    Ok(clean)
}

/// The ending of the source file's name.
fn language(class: &ClassFile<'_>) -> String {
    let attribute = class.attributes().find(b"SourceFile").ok().flatten();
    let index = attribute.and_then(|source| source.content.first_chunk::<2>().map(|index| u16::from_be_bytes(*index)));
    let file = index.and_then(|index| class.constant_pool().utf8(index).ok()).map(|file| file.to_string());
    match file.as_deref().and_then(|file| file.rsplit_once('.')) {
        Some((_, ending)) => format!(".{ending}"),
        None => "source unknown".to_owned(),
    }
}
