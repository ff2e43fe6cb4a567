//! The names and flags of parameters (`MethodParameters`, JVMS 4.7.24) by themselves: taken from one file of a class, put into another one
//! that has lost them.

use std::collections::HashMap;

use crate::{ByteReader, ByteWriter, ClassFile, Member, Result};

const ATTRIBUTE: &[u8] = b"MethodParameters";

/// What the `MethodParameters` of a class say, by method.
#[derive(Debug, PartialEq, Eq)]
pub struct ParameterNames {
    /// For each method: name, descriptor, number of parameters; for each of these: flags, 0 or 1 for a name, the name. Texts have a `u2`
    /// in front that is their length.
    packed: Box<[u8]>,
}

impl ParameterNames {
    /// Those of all methods; `None` if they cannot be read.
    pub fn of(class: &ClassFile<'_>) -> Option<ParameterNames> {
        let mut packed = ByteWriter::new();
        for method in class.methods() {
            pack(class, method, &mut packed).ok()?;
        }
        Some(ParameterNames { packed: packed.into_vec().into() })
    }

    /// Whether no method has any.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// All texts in modified UTF-8: names and descriptors of methods, and names of parameters.
    pub fn texts(&self) -> Vec<&[u8]> {
        let mut texts = Vec::new();
        for method in self.methods() {
            texts.extend([method.name, method.descriptor]);
            texts.extend(method.parameters.iter().filter_map(|(_, name)| *name));
        }
        texts
    }

    /// The class with these added to the methods that have lost theirs; `None` if there is no such method. Only refers to what is in the
    /// constant pool already, where a JVM keeps all texts: what is not there was not lost by that class.
    ///
    /// ```
    /// use classfile::{ClassFile, ParameterNames};
    /// let bytes = include_bytes!("../tests/classes/Everything.class"); // javac -parameters
    /// let class = ClassFile::parse(bytes)?;
    /// let names = ParameterNames::of(&class).expect("they can be read");
    /// assert!(names.put_back(&class).is_none(), "nothing is lost");
    /// # Ok::<(), classfile::Error>(())
    /// ```
    pub fn put_back(&self, class: &ClassFile<'_>) -> Option<Vec<u8>> {
        let mut indexes: HashMap<&[u8], u16> = HashMap::new();
        class.constant_pool().visit_contents(|index, tag, content| {
            if tag == 1 {
                indexes.entry(content).or_insert(index);
            }
        });
        let attribute = *indexes.get(ATTRIBUTE)?;
        let methods: HashMap<_, _> =
            self.methods().map(|method| ((method.name, method.descriptor), method.parameters)).collect();
        let file = class.bytes();
        let mut out = ByteWriter::new();
        out.reserve(file.len() + self.packed.len());
        let mut copied = 0;
        for method in class.methods() {
            let key = (method.name.as_bytes(), method.descriptor.as_bytes());
            let Some(parameters) = methods.get(&key).filter(|_| has_lost(class, method)) else { continue };
            let Some(content) = content(parameters, &indexes) else { continue };
            let count = read_count(file, method)?.checked_add(1)?;
            out.bytes(file.get(copied..method.attributes_offset)?);
            out.u2(count);
            out.bytes(file.get(method.attributes_offset + 2..method.end)?);
            out.u2(attribute);
            out.u4(content.len() as u32);
            out.bytes(content.as_slice());
            copied = method.end;
        }
        if copied == 0 {
            return None;
        }
        out.bytes(file.get(copied..)?);
        Some(out.into_vec())
    }

    fn methods(&self) -> impl Iterator<Item = Method<'_>> {
        let mut reader = ByteReader::new(&self.packed, 0, "packed parameters");
        // Packed by us: it can be read.
        std::iter::from_fn(move || if reader.is_empty() { None } else { Method::read(&mut reader).ok() })
    }
}

/// A method and the flags and names of its parameters.
struct Method<'p> {
    name: &'p [u8],
    descriptor: &'p [u8],
    parameters: Vec<(u16, Option<&'p [u8]>)>,
}

impl<'p> Method<'p> {
    fn read(reader: &mut ByteReader<'p>) -> Result<Method<'p>> {
        let (name, descriptor) = (text(reader)?, text(reader)?);
        let parameters = (0..reader.u1()?).map(|_| {
            let (flags, is_named) = (reader.u2()?, reader.u1()? == 1);
            Ok((flags, if is_named { Some(text(reader)?) } else { None }))
        });
        Ok(Method { name, descriptor, parameters: parameters.collect::<Result<_>>()? })
    }
}

fn text<'p>(reader: &mut ByteReader<'p>) -> Result<&'p [u8]> {
    let length = reader.u2()?;
    reader.take(usize::from(length))
}

fn pack(class: &ClassFile<'_>, method: &Member<'_>, out: &mut ByteWriter) -> Result<()> {
    let Some(attribute) = method.attributes(class).find(ATTRIBUTE)? else { return Ok(()) };
    // What is longer than a `u2` says is in no class file.
    let pack_text = |text: &[u8], out: &mut ByteWriter| {
        out.u2(text.len() as u16);
        out.bytes(text);
    };
    pack_text(method.name.as_bytes(), out);
    pack_text(method.descriptor.as_bytes(), out);
    let mut reader = attribute.reader("MethodParameters");
    let count = reader.u1()?;
    out.u1(count);
    for _ in 0..count {
        let (name, flags) = (reader.u2()?, reader.u2()?);
        out.u2(flags);
        out.u1(u8::from(name != 0));
        if name != 0 {
            pack_text(class.constant_pool().utf8(name)?.as_bytes(), out);
        }
    }
    Ok(())
}

fn has_lost(class: &ClassFile<'_>, method: &Member<'_>) -> bool {
    matches!(method.attributes(class).find(ATTRIBUTE), Ok(None))
}

/// The attribute's content; `None` if a name is not in the pool.
fn content(parameters: &[(u16, Option<&[u8]>)], indexes: &HashMap<&[u8], u16>) -> Option<ByteWriter> {
    let mut out = ByteWriter::new();
    out.u1(u8::try_from(parameters.len()).ok()?);
    for (flags, name) in parameters {
        out.u2(match name {
            Some(name) => *indexes.get(name)?,
            None => 0,
        });
        out.u2(*flags);
    }
    Some(out)
}

fn read_count(file: &[u8], method: &Member<'_>) -> Option<u16> {
    file.get(method.attributes_offset..)?.first_chunk::<2>().map(|count| u16::from_be_bytes(*count))
}
