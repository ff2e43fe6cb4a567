//! The constant pool of an assembled class.

use classfile::Tag;

#[derive(Default)]
pub(crate) struct Pool {
    /// Tag and content; wide entries are followed by an empty one.
    entries: Vec<Option<(Tag, Vec<u8>)>>,
}

impl Pool {
    pub(crate) fn count(&self) -> u16 {
        self.entries.len() as u16 + 1
    }

    fn intern(&mut self, tag: Tag, content: Vec<u8>) -> u16 {
        let wanted = Some((tag, content));
        if let Some(known) = self.entries.iter().position(|entry| *entry == wanted) {
            return known as u16 + 1;
        }
        self.append(wanted)
    }

    fn append(&mut self, entry: Option<(Tag, Vec<u8>)>) -> u16 {
        let wide = entry.as_ref().is_some_and(|(tag, _)| tag.is_wide());
        self.entries.push(entry);
        let index = self.entries.len() as u16;
        if wide {
            self.entries.push(None);
        }
        index
    }

    /// Integers that nothing else uses, until the pool has `count` places.
    pub(crate) fn fill_to(&mut self, count: u16) {
        while self.count() < count {
            let value = i32::from(self.count()).to_be_bytes().to_vec();
            self.append(Some((Tag::Integer, value)));
        }
    }

    pub(crate) fn utf8(&mut self, text: &str) -> u16 {
        self.intern(Tag::Utf8, text.as_bytes().to_vec())
    }

    fn named(&mut self, tag: Tag, text: &str) -> u16 {
        let name = self.utf8(text);
        self.intern(tag, name.to_be_bytes().to_vec())
    }

    pub(crate) fn class(&mut self, name: &str) -> u16 {
        self.named(Tag::Class, name)
    }

    pub(crate) fn method_type(&mut self, descriptor: &str) -> u16 {
        self.named(Tag::MethodType, descriptor)
    }

    pub(crate) fn pair(&mut self, tag: Tag, first: u16, second: u16) -> u16 {
        self.intern(tag, [first.to_be_bytes(), second.to_be_bytes()].concat())
    }

    pub(crate) fn name_and_type(&mut self, name: &str, descriptor: &str) -> u16 {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        self.pair(Tag::NameAndType, name, descriptor)
    }

    pub(crate) fn member(&mut self, tag: Tag, owner: &str, name: &str, descriptor: &str) -> u16 {
        let owner = self.class(owner);
        let name_and_type = self.name_and_type(name, descriptor);
        self.pair(tag, owner, name_and_type)
    }

    pub(crate) fn method_handle(&mut self, kind: u8, member: u16) -> u16 {
        let [high, low] = member.to_be_bytes();
        self.intern(Tag::MethodHandle, vec![kind, high, low])
    }

    pub(crate) fn dynamic(&mut self, tag: Tag, row: u16, name: &str, descriptor: &str) -> u16 {
        let name_and_type = self.name_and_type(name, descriptor);
        self.pair(tag, row, name_and_type)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.count().to_be_bytes());
        for (tag, content) in self.entries.iter().flatten() {
            out.push(*tag as u8);
            if *tag == Tag::Utf8 {
                out.extend((content.len() as u16).to_be_bytes());
            }
            out.extend(content);
        }
    }
}
