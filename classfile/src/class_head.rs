//! The head of a class file: its name and its super types, read without an outline of the rest.
//!
//! For a program that asks every class the JVM loads and goes on with few of them.

use crate::constant_pool::{ENTRY_FORMS, Tag};
use crate::{ByteReader, Error, ErrorKind, ModifiedUtf8, Result, access};

const CONTEXT: &str = "ClassFile";

/// Memory for the places of constants, to be used again for the next class.
#[derive(Debug, Default)]
pub struct HeadMemory {
    offsets: Vec<u32>,
}

/// Names of a class and of its direct super types. What follows them in the file may be damaged.
///
/// ```
/// let file = include_bytes!("../tests/classes/Empty.class");
/// let mut memory = classfile::HeadMemory::default();
/// let head = classfile::ClassHead::read(file, &mut memory, |_| {}).unwrap();
/// assert_eq!(head.this_class().to_string(), "Empty");
/// assert_eq!(head.super_class().unwrap().to_string(), "java/lang/Object");
/// ```
#[derive(Debug)]
pub struct ClassHead<'a, 'm> {
    file: &'a [u8],
    offsets: &'m [u32],
    access_flags: u16,
    this_class: ModifiedUtf8<'a>,
    super_class: Option<ModifiedUtf8<'a>>,
    /// Two bytes each: the constants that name the interfaces, all of them good.
    interfaces: &'a [u8],
}

impl<'a, 'm> ClassHead<'a, 'm> {
    /// Reads the head; `text` sees every `CONSTANT_Utf8` of the class on the way.
    pub fn read(file: &'a [u8], memory: &'m mut HeadMemory, text: impl FnMut(&'a [u8])) -> Result<ClassHead<'a, 'm>> {
        let mut reader = ByteReader::new(file, 0, CONTEXT);
        if reader.u4()? != 0xCAFE_BABE {
            return Err(Error::new(ErrorKind::BadMagic, 0, CONTEXT));
        }
        reader.skip(4)?;
        let count = usize::from(reader.u2()?);
        let end = locate(file, count, &mut memory.offsets, text)?;
        reader.skip(end - reader.offset())?;
        let access_flags = reader.u2()?;
        let offsets = memory.offsets.as_slice();
        let this_class = class_name(file, offsets, reader.u2()?)?;
        let super_class = match reader.u2()? {
            0 => None,
            index => Some(class_name(file, offsets, index)?),
        };
        let length = usize::from(reader.u2()?) * 2;
        let start = reader.offset();
        reader.skip(length)?;
        let interfaces = file.get(start..start + length).unwrap_or_default();
        for index in indices(interfaces) {
            class_name(file, offsets, index)?;
        }
        Ok(ClassHead { file, offsets, access_flags, this_class, super_class, interfaces })
    }

    /// True for interfaces, annotation types among them.
    pub fn is_interface(&self) -> bool {
        self.access_flags & access::INTERFACE != 0
    }

    /// Internal name of the class.
    pub fn this_class(&self) -> ModifiedUtf8<'a> {
        self.this_class
    }

    /// Internal name of the super class; `None` only for `java/lang/Object` and module descriptors.
    pub fn super_class(&self) -> Option<ModifiedUtf8<'a>> {
        self.super_class
    }

    /// Internal names of the direct super interfaces.
    pub fn interfaces(&self) -> impl Iterator<Item = ModifiedUtf8<'a>> + Clone + '_ {
        // Each was read once already.
        indices(self.interfaces).filter_map(|index| class_name(self.file, self.offsets, index).ok())
    }
}

fn indices(bytes: &[u8]) -> impl Iterator<Item = u16> + Clone + '_ {
    bytes.as_chunks::<2>().0.iter().map(|index| u16::from_be_bytes(*index))
}

/// Fills `offsets` with the place of each constant's tag and returns the place after the last one.
fn locate<'a>(file: &'a [u8], count: usize, offsets: &mut Vec<u32>, mut text: impl FnMut(&'a [u8])) -> Result<usize> {
    offsets.clear();
    offsets.reserve(count);
    offsets.push(0);
    let mut offset = 10;
    while offsets.len() < count {
        let truncated = || Error::new(ErrorKind::Truncated, offset.min(file.len()), "constant_pool");
        let rest = file.get(offset..).ok_or_else(truncated)?;
        let &[tag, high, low] = rest.first_chunk::<3>().ok_or_else(truncated)?;
        let form = ENTRY_FORMS.get(usize::from(tag)).copied().unwrap_or_default();
        let length = usize::from(u16::from_be_bytes([high, low]) & form.text);
        // A class file is shorter than 4 GiB.
        offsets.push(offset as u32);
        if form.text != 0 {
            text(rest.get(3..3 + length).ok_or_else(truncated)?);
        } else if form.is_odd {
            match Tag::from_byte(tag) {
                None => return Err(Error::new(ErrorKind::UnknownConstantTag(tag), offset, "constant_pool")),
                Some(tag) if tag.is_wide() => offsets.push(0),
                Some(_) => {}
            }
        }
        offset += usize::from(form.length) + length;
    }
    Ok(offset)
}

fn class_name<'a>(file: &'a [u8], offsets: &[u32], index: u16) -> Result<ModifiedUtf8<'a>> {
    let [high, low, ..] = constant(file, offsets, index, Tag::Class)? else { return Err(wrong(index)) };
    let name = u16::from_be_bytes([*high, *low]);
    let [high, low, text @ ..] = constant(file, offsets, name, Tag::Utf8)? else { return Err(wrong(name)) };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    text.get(..length).map(ModifiedUtf8).ok_or_else(|| wrong(name))
}

/// What follows the tag of a constant of this kind.
fn constant<'a>(file: &'a [u8], offsets: &[u32], index: u16, tag: Tag) -> Result<&'a [u8]> {
    let offset = offsets.get(usize::from(index)).copied().filter(|offset| *offset != 0).ok_or_else(|| wrong(index))?;
    match file.get(offset as usize..).and_then(<[u8]>::split_first) {
        Some((byte, content)) if *byte == tag as u8 => Ok(content),
        _ => Err(Error::new(ErrorKind::WrongConstantKind(index), offset as usize, CONTEXT)),
    }
}

#[cold]
fn wrong(index: u16) -> Error {
    Error::new(ErrorKind::BadConstantIndex(index), 8, CONTEXT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClassFile;

    const CLASS: &[u8] = include_bytes!("../tests/classes/Empty.class");

    #[test]
    fn says_what_the_outline_says() {
        let mut memory = HeadMemory::default();
        let mut texts = Vec::new();
        let head = ClassHead::read(CLASS, &mut memory, |text| texts.push(text)).unwrap();
        let class = ClassFile::parse(CLASS).unwrap();
        assert_eq!(head.this_class(), class.this_class());
        assert_eq!(head.super_class(), class.super_class());
        assert_eq!(head.is_interface(), class.access_flags() & access::INTERFACE != 0);
        assert!(head.interfaces().eq(class.interfaces()));
        assert!(texts.contains(&b"java/lang/Object".as_slice()) && texts.contains(&b"Code".as_slice()));
    }

    #[test]
    fn cut_and_changed_files_never_panic_and_never_give_more_than_the_outline() {
        let mut memory = HeadMemory::default();
        for end in 0..CLASS.len() {
            let _ = ClassHead::read(&CLASS[..end], &mut memory, |_| {});
        }
        let mut changed = CLASS.to_vec();
        for at in 0..CLASS.len() {
            for value in [0, 1, 7, 0xFF] {
                changed[at] = value;
                let head = ClassHead::read(&changed, &mut memory, |_| {});
                if let Ok(class) = ClassFile::parse(&changed) {
                    let head = head.unwrap();
                    assert_eq!((head.this_class(), head.super_class()), (class.this_class(), class.super_class()));
                    assert!(head.interfaces().eq(class.interfaces()));
                }
            }
            changed[at] = CLASS[at];
        }
    }
}
