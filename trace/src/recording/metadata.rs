//! The metadata event of a chunk: the schema, written as a string table and a tree of elements.

use rustc_hash::FxHashMap;

use super::payload::push_text;
use crate::schema::{Annotation, Field, METADATA_ID, TypeDefinition, types};
use crate::varint;

/// The whole metadata event. It is the same in every chunk of every recording.
pub(super) fn metadata_event() -> Vec<u8> {
    let mut strings = Strings::default();
    let mut tree = Vec::new();
    root_element().write(&mut strings, &mut tree);

    let mut payload = Vec::new();
    for number in [0, 0, 0, METADATA_ID, strings.texts.len() as u64] {
        varint::push(&mut payload, number);
    }
    for text in &strings.texts {
        push_text(&mut payload, text);
    }
    payload.extend_from_slice(&tree);

    let mut event = varint::padded(payload.len() as u32 + 4).to_vec();
    event.extend_from_slice(&payload);
    event
}

/// An element of the metadata tree.
#[derive(Default)]
struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Element>,
}

impl Element {
    fn new(name: &'static str) -> Element {
        Element { name, ..Element::default() }
    }

    fn attribute(mut self, name: &'static str, value: impl ToString) -> Element {
        self.attributes.push((name, value.to_string()));
        self
    }

    fn write(&self, strings: &mut Strings, out: &mut Vec<u8>) {
        varint::push(out, strings.index(self.name));
        varint::push(out, self.attributes.len() as u64);
        for (name, value) in &self.attributes {
            varint::push(out, strings.index(name));
            varint::push(out, strings.index(value));
        }
        varint::push(out, self.children.len() as u64);
        for child in &self.children {
            child.write(strings, out);
        }
    }
}

#[derive(Default)]
struct Strings {
    texts: Vec<String>,
    indices: FxHashMap<String, u64>,
}

impl Strings {
    fn index(&mut self, text: &str) -> u64 {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        let index = self.texts.len() as u64;
        self.texts.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }
}

fn root_element() -> Element {
    let mut root = Element::new("root");
    let mut metadata = Element::new("metadata");
    metadata.children.extend(types().map(type_element));
    root.children.push(metadata);
    root.children.push(Element::new("region").attribute("locale", "en_US").attribute("gmtOffset", 0));
    root
}

fn type_element(definition: &TypeDefinition) -> Element {
    let mut element = Element::new("class").attribute("id", definition.id).attribute("name", definition.name);
    if let Some(super_type) = definition.super_type {
        element = element.attribute("superType", super_type);
    }
    if definition.is_simple {
        element = element.attribute("simpleType", true);
    }
    element.children.extend(definition.annotations.iter().map(annotation_element));
    element.children.extend(definition.fields.iter().map(field_element));
    element
}

fn field_element(field: &Field) -> Element {
    let mut element = Element::new("field").attribute("name", field.name).attribute("class", field.type_id);
    if field.is_pooled {
        element = element.attribute("constantPool", true);
    }
    if field.is_array {
        element = element.attribute("dimension", 1);
    }
    element.children.extend(field.annotations.iter().map(annotation_element));
    element
}

fn annotation_element(annotation: &Annotation) -> Element {
    let element = Element::new("annotation").attribute("class", annotation.type_id);
    annotation.values.iter().fold(element, |element, (name, value)| element.attribute(name, value))
}
