//! Methods as a user would write them in a rule's `method`.

use std::fmt::Write;

use classfile::descriptor::{FieldType, MethodDescriptor};
use classfile::{Member, ModifiedUtf8};

use crate::internal_name::to_source;

/// E.g. `service(jakarta.servlet.ServletRequest, int[]) void`; a broken descriptor is shown as it is.
pub fn signature(method: &Member<'_>) -> String {
    signature_of(method.name, method.descriptor)
}

/// The same for a method by its name and descriptor.
pub fn signature_of(name: ModifiedUtf8<'_>, descriptor: ModifiedUtf8<'_>) -> String {
    let Ok(types) = MethodDescriptor::parse(descriptor.0) else {
        return format!("{name}{descriptor}");
    };
    let parameters: Vec<String> = types.parameters().map(type_name).collect();
    let result = types.return_type().map_or_else(|| "void".to_owned(), type_name);
    let mut text = format!("{name}({})", parameters.join(", "));
    if !matches!(name.0, b"<init>" | b"<clinit>") {
        // Writing to a String does not fail.
        let _ = write!(text, " {result}");
    }
    text
}

/// A type as a Java source writes it, e.g. `int[]`.
pub fn type_name(FieldType(descriptor): FieldType<'_>) -> String {
    let dimensions = descriptor.iter().take_while(|byte| **byte == b'[').count();
    let element = match descriptor.get(dimensions..).unwrap_or_default() {
        b"B" => "byte".to_owned(),
        b"C" => "char".to_owned(),
        b"D" => "double".to_owned(),
        b"F" => "float".to_owned(),
        b"I" => "int".to_owned(),
        b"J" => "long".to_owned(),
        b"S" => "short".to_owned(),
        b"Z" => "boolean".to_owned(),
        [b'L', name @ .., b';'] => to_source(name),
        other => to_source(other),
    };
    element + &"[]".repeat(dimensions)
}
