//! A small assembler for class files of any version and any oddity.

mod code;
mod pool;

pub(crate) use code::{CodeBuilder, Label, Type};
pub(crate) use pool::Pool;

use classfile::access::{PUBLIC, STATIC, SUPER};

pub(crate) const PUBLIC_STATIC: u16 = PUBLIC | STATIC;

/// A class file under construction.
pub(crate) struct ClassBuilder {
    pub(crate) pool: Pool,
    major: u16,
    flags: u16,
    this_class: u16,
    super_class: u16,
    fields: Vec<Vec<u8>>,
    methods: Vec<Vec<u8>>,
    attributes: Vec<(u16, Vec<u8>)>,
}

impl ClassBuilder {
    /// A public class under `java.lang.Object`.
    pub(crate) fn new(name: &str, major: u16) -> ClassBuilder {
        ClassBuilder::below(name, "java/lang/Object", major)
    }

    /// A public class with this super class; with an empty name, it has none.
    pub(crate) fn below(name: &str, super_class: &str, major: u16) -> ClassBuilder {
        let mut pool = Pool::default();
        let this_class = pool.class(name);
        let super_class = if super_class.is_empty() { 0 } else { pool.class(super_class) };
        let flags = PUBLIC | SUPER;
        let (fields, methods, attributes) = Default::default();
        ClassBuilder { pool, major, flags, this_class, super_class, fields, methods, attributes }
    }

    /// A method with code.
    pub(crate) fn method(&mut self, flags: u16, name: &str, descriptor: &str, body: impl FnOnce(&mut CodeBuilder<'_>)) {
        self.method_with(flags, name, descriptor, &[], body);
    }

    /// A method with code, followed by further attributes.
    pub(crate) fn method_with(
        &mut self,
        flags: u16,
        name: &str,
        descriptor: &str,
        attributes: &[(&str, &[u8])],
        body: impl FnOnce(&mut CodeBuilder<'_>),
    ) {
        let mut code = CodeBuilder::new(&mut self.pool);
        body(&mut code);
        let code = code.finish();
        let mut all = vec![(self.pool.utf8("Code"), code)];
        all.extend(attributes.iter().map(|(name, content)| (self.pool.utf8(name), content.to_vec())));
        self.raw_method(flags, name, descriptor, &all);
    }

    pub(crate) fn raw_method(&mut self, flags: u16, name: &str, descriptor: &str, attributes: &[(u16, Vec<u8>)]) {
        let method = self.member(flags, name, descriptor, attributes);
        self.methods.push(method);
    }

    pub(crate) fn field(&mut self, flags: u16, name: &str, descriptor: &str, attributes: &[(u16, Vec<u8>)]) {
        let field = self.member(flags, name, descriptor, attributes);
        self.fields.push(field);
    }

    fn member(&mut self, flags: u16, name: &str, descriptor: &str, attributes: &[(u16, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = flags.to_be_bytes().to_vec();
        for index in [self.pool.utf8(name), self.pool.utf8(descriptor)] {
            bytes.extend(index.to_be_bytes());
        }
        write_attributes(attributes, &mut bytes);
        bytes
    }

    pub(crate) fn attribute(&mut self, name: &str, content: &[u8]) {
        let name = self.pool.utf8(name);
        self.raw_attribute(name, content);
    }

    pub(crate) fn raw_attribute(&mut self, name: u16, content: &[u8]) {
        self.attributes.push((name, content.to_vec()));
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        // Before 45.3 the head of `Code` was shorter, and JVMs up to JDK 14 still read it so.
        let minor = if self.major == 45 { 3 } else { 0 };
        let mut out = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, minor];
        out.extend(self.major.to_be_bytes());
        self.pool.write(&mut out);
        // No interfaces.
        for value in [self.flags, self.this_class, self.super_class, 0, self.fields.len() as u16] {
            out.extend(value.to_be_bytes());
        }
        self.fields.iter().for_each(|field| out.extend(field));
        out.extend((self.methods.len() as u16).to_be_bytes());
        self.methods.iter().for_each(|method| out.extend(method));
        write_attributes(&self.attributes, &mut out);
        out
    }
}

pub(super) fn write_attributes(attributes: &[(u16, Vec<u8>)], out: &mut Vec<u8>) {
    out.extend((attributes.len() as u16).to_be_bytes());
    for (name, content) in attributes {
        out.extend(name.to_be_bytes());
        out.extend((content.len() as u32).to_be_bytes());
        out.extend(content);
    }
}

/// A class with one static method `m` and what it needs to be linked.
pub(crate) fn class_with(name: &str, major: u16, descriptor: &str, body: impl FnOnce(&mut CodeBuilder<'_>)) -> Vec<u8> {
    let mut class = ClassBuilder::new(name, major);
    class.method(PUBLIC_STATIC, "m", descriptor, body);
    class.finish()
}
