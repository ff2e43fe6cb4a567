//! Builds small class files for tests.

use classfile::access;

/// A class file under construction. Bodies are given as bytecode.
#[derive(Clone)]
pub(super) struct ClassBuilder {
    pool: Vec<u8>,
    pool_count: u16,
    this_class: u16,
    super_class: u16,
    interfaces: Vec<u16>,
    annotations: Vec<u16>,
    methods: Vec<Vec<u8>>,
}

/// `return`
pub(super) const RETURNS: &[u8] = &[0xb1];

/// A body long enough for the pre-filter that calls something.
#[rustfmt::skip]
pub(super) const CALLS: &[u8] = &[
    0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1,
    0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb8, 0, 1, 0xb1,
];

/// A body of 60 bytes that calls nothing.
pub(super) const LONG_LEAF: &[u8] = {
    const BODY: [u8; 60] = {
        let mut body = [0; 60];
        body[59] = 0xb1;
        body
    };
    &BODY
};

impl ClassBuilder {
    pub(super) fn new(name: &str, super_class: &str) -> ClassBuilder {
        ClassBuilder::of_bytes(name.as_bytes(), super_class)
    }

    pub(super) fn of_bytes(name: &[u8], super_class: &str) -> ClassBuilder {
        let mut builder = ClassBuilder {
            pool: Vec::new(),
            pool_count: 1,
            this_class: 0,
            super_class: 0,
            interfaces: Vec::new(),
            annotations: Vec::new(),
            methods: Vec::new(),
        };
        builder.this_class = builder.class(name);
        if !super_class.is_empty() {
            builder.super_class = builder.class(super_class.as_bytes());
        }
        builder
    }

    pub(super) fn interface(mut self, name: &str) -> ClassBuilder {
        let index = self.class(name.as_bytes());
        self.interfaces.push(index);
        self
    }

    pub(super) fn annotated(mut self, name: &str) -> ClassBuilder {
        let index = self.utf8(format!("L{name};").as_bytes());
        self.annotations.push(index);
        self
    }

    /// A public method with a body.
    pub(super) fn method(self, name: &str, descriptor: &str, code: &[u8]) -> ClassBuilder {
        self.member(access::PUBLIC, name.as_bytes(), descriptor, Some(code), &[])
    }

    pub(super) fn annotated_method(self, name: &str, annotation: &str) -> ClassBuilder {
        self.member(access::PUBLIC, name.as_bytes(), "()V", Some(RETURNS), &[annotation])
    }

    /// A public method that calls these static methods, each `a/B.c`.
    pub(super) fn calling(mut self, name: &str, calls: &[&str]) -> ClassBuilder {
        let mut code = Vec::new();
        for call in calls {
            let (owner, method) = call.rsplit_once('.').unwrap_or((call, ""));
            let (owner, method, descriptor) =
                (self.class(owner.as_bytes()), self.utf8(method.as_bytes()), self.utf8(b"()V"));
            let name_and_type = self.pair(12, method, descriptor);
            let index = self.pair(10, owner, name_and_type);
            code.push(0xb8);
            code.extend(index.to_be_bytes());
        }
        code.extend(RETURNS);
        self.method(name, "()V", &code)
    }

    pub(super) fn member(
        mut self,
        flags: u16,
        name: &[u8],
        descriptor: &str,
        code: Option<&[u8]>,
        annotations: &[&str],
    ) -> ClassBuilder {
        let mut member = flags.to_be_bytes().to_vec();
        member.extend(self.utf8(name).to_be_bytes());
        member.extend(self.utf8(descriptor.as_bytes()).to_be_bytes());
        let types: Vec<u16> = annotations.iter().map(|name| self.utf8(format!("L{name};").as_bytes())).collect();
        let mut attributes = Vec::new();
        if let Some(code) = code {
            let mut content = vec![0, 9, 0, 9];
            content.extend((code.len() as u32).to_be_bytes());
            content.extend(code);
            content.extend([0, 0, 0, 0]);
            attributes.push(self.attribute("Code", &content));
        }
        if !types.is_empty() {
            attributes.push(self.annotation_attribute("RuntimeInvisibleAnnotations", &types));
        }
        member.extend((attributes.len() as u16).to_be_bytes());
        member.extend(attributes.concat());
        self.methods.push(member);
        self
    }

    pub(super) fn build(mut self) -> Vec<u8> {
        let types = std::mem::take(&mut self.annotations);
        let attribute = (!types.is_empty()).then(|| self.annotation_attribute("RuntimeVisibleAnnotations", &types));
        let mut bytes = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 52];
        bytes.extend(self.pool_count.to_be_bytes());
        bytes.extend(&self.pool);
        for word in [access::PUBLIC, self.this_class, self.super_class, self.interfaces.len() as u16] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(self.interfaces.iter().flat_map(|index| index.to_be_bytes()));
        bytes.extend([0, 0]);
        bytes.extend((self.methods.len() as u16).to_be_bytes());
        bytes.extend(self.methods.concat());
        bytes.extend(u16::from(attribute.is_some()).to_be_bytes());
        bytes.extend(attribute.unwrap_or_default());
        bytes
    }

    /// Each annotation gets an element with an array that holds an annotation, an enum, a class and a string.
    fn annotation_attribute(&mut self, name: &str, types: &[u16]) -> Vec<u8> {
        let mut content = (types.len() as u16).to_be_bytes().to_vec();
        for annotation in types {
            content.extend(annotation.to_be_bytes());
            content.extend([0, 1, 0, 1, b'[', 0, 4]);
            content.extend([b'@', 0, 1, 0, 1, 0, 1, b'I', 0, 1]);
            content.extend([b'e', 0, 1, 0, 1, b'c', 0, 1, b's', 0, 1]);
        }
        self.attribute(name, &content)
    }

    fn attribute(&mut self, name: &str, content: &[u8]) -> Vec<u8> {
        let mut attribute = self.utf8(name.as_bytes()).to_be_bytes().to_vec();
        attribute.extend((content.len() as u32).to_be_bytes());
        attribute.extend(content);
        attribute
    }

    fn class(&mut self, name: &[u8]) -> u16 {
        let index = self.utf8(name);
        self.pool.push(7);
        self.pool.extend(index.to_be_bytes());
        self.added()
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> u16 {
        self.pool.push(tag);
        self.pool.extend(first.to_be_bytes());
        self.pool.extend(second.to_be_bytes());
        self.added()
    }

    fn utf8(&mut self, text: &[u8]) -> u16 {
        self.pool.push(1);
        self.pool.extend((text.len() as u16).to_be_bytes());
        self.pool.extend(text);
        self.added()
    }

    fn added(&mut self) -> u16 {
        self.pool_count += 1;
        self.pool_count - 1
    }
}
