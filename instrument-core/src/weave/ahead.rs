//! The mark of classes that are instrumented ahead of time, by `instr pre`: which probes a class holds, written into its constant pool.
//!
//! The pool is what a JVM keeps as it is when it writes a loaded class out again for a retransformation; it drops attributes that it does not
//! know. So whoever gets such a class, at load or later, finds its probes, gives them numbers and never adds a second one (decision 033).
//!
//! A mark is one `CONSTANT_Utf8`, or several if one is too small, each complete in itself: a line for the version that wrote it, one line for
//! each template, and one record for each probe. Lengths are written before names, because a name may hold any character.
//! ```text
//! instr pre 1 0.1.0
//! live time timed                              live or fixed, level, name of the template
//!
//! 1f 0 5 total()J                              index of the probe's number in the pool, template, length of the name; name, descriptor
//! ```

use classfile::{ClassFile, Tag};

use crate::weave::outcome::{ProbeSlot, Rewritten};
use crate::weave::template::{TemplateId, TemplateLibrary};

/// The number of a probe that nobody has given a number: its calls are not recorded. It is the highest one that fits into a record.
pub const SILENT_PROBE: u32 = 0x00ff_ffff;

const BEGIN: &str = "instr pre 1 ";

/// Bytes of an entry after which the next one begins; the rest of 65,535 has room for one more probe, or the entry is not written.
const FULL_ENTRY: usize = 32_000;

/// The probes of a class that was instrumented ahead of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AheadProbes {
    /// The version of instr that inserted them.
    pub version: String,
    /// The probes that can be given numbers.
    pub probes: Vec<ProbeSlot>,
    /// Probes of templates that the library does not hold.
    pub unknown: usize,
}

/// Whether the class refers to the runtime, as only instrumented classes do. If it carries no mark, an older version inserted its probes.
pub fn holds_probes(class: &ClassFile<'_>) -> bool {
    let pool = class.constant_pool();
    let mut names =
        pool.entries().filter(|(_, tag)| *tag == Tag::Class).filter_map(|(index, _)| pool.class_name(index).ok());
    names.any(|name| name.as_bytes().starts_with(b"java/instr/"))
}

/// Returns the version of instr that wrote the class's mark; `None` if it has none.
pub fn version(class: &ClassFile<'_>) -> Option<String> {
    probes(class, &TemplateLibrary::new()).map(|probes| probes.version)
}

/// Returns the class with its mark, all probes silent; `None` if its constant pool has no room for the mark, or if reading it back does
/// not give the same probes.
pub fn marked(rewritten: &Rewritten, original: &ClassFile<'_>, library: &TemplateLibrary) -> Option<Vec<u8>> {
    let class = ClassFile::parse(&rewritten.bytes).ok()?;
    let pool = class.constant_pool();
    let constants: Vec<(usize, u16)> = numbers(&class).collect();
    let mut entries = Vec::new();
    let mut entry = Entry::default();
    for slot in &rewritten.probes {
        let place = constants.binary_search_by_key(&slot.offset, |(offset, _)| *offset).ok()?;
        let (_, constant) = *constants.get(place)?;
        let method = original.methods().get(slot.method_index)?;
        entry.add(constant, slot.template, method.name.as_bytes(), method.descriptor.as_bytes());
        if entry.probes.len() > FULL_ENTRY {
            entries.push(std::mem::take(&mut entry).written(library)?);
        }
    }
    if !entry.probes.is_empty() {
        entries.push(entry.written(library)?);
    }
    let count = pool.count().checked_add(u16::try_from(entries.len()).ok()?)?;
    let (head, rest) = rewritten.bytes.split_at_checked(pool.end_offset())?;
    let mut bytes = head.to_vec();
    bytes.get_mut(8..10)?.copy_from_slice(&count.to_be_bytes());
    for slot in &rewritten.probes {
        bytes.get_mut(slot.offset..slot.offset.checked_add(4)?)?.copy_from_slice(&SILENT_PROBE.to_be_bytes());
    }
    for entry in entries {
        bytes.push(Tag::Utf8 as u8);
        bytes.extend(u16::try_from(entry.len()).ok()?.to_be_bytes());
        bytes.extend(entry);
    }
    bytes.extend(rest);
    let read = probes(&ClassFile::parse(&bytes).ok()?, library)?;
    let offsets = |probes: &[ProbeSlot]| {
        let mut offsets: Vec<usize> = probes.iter().map(|slot| slot.offset).collect();
        offsets.sort_unstable();
        offsets
    };
    (read.unknown == 0 && offsets(&read.probes) == offsets(&rewritten.probes)).then_some(bytes)
}

/// Returns the probes that the class's mark lists, in ascending order of their methods; `None` if the class has no mark.
pub fn probes(class: &ClassFile<'_>, library: &TemplateLibrary) -> Option<AheadProbes> {
    let pool = class.constant_pool();
    let mut found: Option<AheadProbes> = None;
    let entries = pool.entries().filter(|(_, tag)| *tag == Tag::Utf8);
    for text in entries.filter_map(|(index, _)| pool.utf8(index).ok()) {
        let Some(text) = text.as_bytes().strip_prefix(BEGIN.as_bytes()) else { continue };
        let known = found.get_or_insert_with(|| AheadProbes { version: String::new(), probes: Vec::new(), unknown: 0 });
        let _ = read_entry(text, class, library, known);
    }
    if let Some(found) = &mut found {
        found.probes.sort_by_key(|slot| (slot.method_index, slot.offset));
    }
    found
}

/// Offset of the value and index of each integer, ascending.
fn numbers(class: &ClassFile<'_>) -> impl Iterator<Item = (usize, u16)> {
    let pool = class.constant_pool();
    let integers = pool.entries().filter(|(_, tag)| *tag == Tag::Integer);
    integers.filter_map(|(index, _)| Some((pool.offset_of(index).ok()? + 1, index)))
}

/// What one entry of the pool is to say.
#[derive(Default)]
struct Entry {
    templates: Vec<TemplateId>,
    probes: Vec<u8>,
}

impl Entry {
    fn add(&mut self, constant: u16, template: TemplateId, name: &[u8], descriptor: &[u8]) {
        let known = self.templates.iter().position(|known| *known == template);
        let place = known.unwrap_or_else(|| {
            self.templates.push(template);
            self.templates.len() - 1
        });
        let head = format!("{constant:x} {place} {} {} ", name.len(), descriptor.len());
        self.probes.extend(head.as_bytes());
        self.probes.extend(name);
        self.probes.extend(descriptor);
        self.probes.push(b'\n');
    }

    /// Returns the bytes of the entry; `None` if they are too many.
    fn written(self, library: &TemplateLibrary) -> Option<Vec<u8>> {
        let mut text = format!("{BEGIN}{}\n", env!("CARGO_PKG_VERSION"));
        for id in self.templates {
            let template = library.get(id)?;
            let live = if template.live { "live" } else { "fixed" };
            text += &format!("{live} {} {}\n", template.level, template.name.escape_default());
        }
        text.push('\n');
        let mut bytes = text.into_bytes();
        bytes.extend(self.probes);
        (bytes.len() <= usize::from(u16::MAX)).then_some(bytes)
    }
}

/// Adds what an entry lists; ends at the first thing that cannot be read.
fn read_entry(text: &[u8], class: &ClassFile<'_>, library: &TemplateLibrary, found: &mut AheadProbes) -> Option<()> {
    let (version, mut text) = line(text)?;
    found.version = version.to_owned();
    let mut templates = Vec::new();
    loop {
        let (template, rest) = line(text)?;
        text = rest;
        if template.is_empty() {
            break;
        }
        templates.push(template_of(template, library));
    }
    while !text.is_empty() {
        let (constant, rest) = field(text)?;
        let (template, rest) = field(rest)?;
        let (name_length, rest) = field(rest)?;
        let (descriptor_length, rest) = field(rest)?;
        let (name, rest) = rest.split_at_checked(name_length.parse().ok()?)?;
        let (descriptor, rest) = rest.split_at_checked(descriptor_length.parse().ok()?)?;
        text = rest.strip_prefix(b"\n")?;
        let offset = class.constant_pool().offset_of(u16::from_str_radix(constant, 16).ok()?).ok()? + 1;
        class.constant_pool().integer(u16::from_str_radix(constant, 16).ok()?).ok()?;
        let is_meant = |method: &classfile::Member<'_>| {
            (method.name.as_bytes(), method.descriptor.as_bytes()) == (name, descriptor)
        };
        let method_index = class.methods().iter().position(is_meant);
        match (method_index, templates.get(template.parse::<usize>().ok()?)?) {
            (Some(method_index), Some(template)) => {
                found.probes.push(ProbeSlot { method_index, template: *template, offset });
            }
            _ => found.unknown += 1,
        }
    }
    Some(())
}

fn template_of(line: &str, library: &TemplateLibrary) -> Option<TemplateId> {
    let mut fields = line.splitn(3, ' ');
    let (live, level, name) = (fields.next()?, fields.next()?, fields.next()?);
    let is_meant = |template: &crate::weave::template::Template| {
        template.live == (live == "live")
            && (template.live || template.level.name() == level)
            && template.name.escape_default().eq(name.chars())
    };
    library.iter().find(|(_, template)| is_meant(template)).map(|(id, _)| id)
}

fn line(text: &[u8]) -> Option<(&str, &[u8])> {
    split_at_byte(text, b'\n')
}

fn field(text: &[u8]) -> Option<(&str, &[u8])> {
    split_at_byte(text, b' ')
}

fn split_at_byte(text: &[u8], end: u8) -> Option<(&str, &[u8])> {
    let at = text.iter().position(|byte| *byte == end)?;
    let (before, after) = text.split_at_checked(at)?;
    Some((std::str::from_utf8(before).ok()?, after.get(1..)?))
}
