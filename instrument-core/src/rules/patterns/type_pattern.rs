//! Types in a method pattern, in source form: `int[]`, `java.lang.String`, `String`, `*`.

use classfile::descriptor::FieldType;

use super::name_glob::NameGlob;
use super::pattern_error::PatternError;
use crate::rules::nearest_name::nearest_name;

/// Primitive types and their descriptors.
const PRIMITIVES: [(&str, u8); 8] = [
    ("boolean", b'Z'),
    ("byte", b'B'),
    ("char", b'C'),
    ("double", b'D'),
    ("float", b'F'),
    ("int", b'I'),
    ("long", b'J'),
    ("short", b'S'),
];

/// One type of a method pattern.
///
/// * `*` is any one type, `*[]` any array;
/// * a class name with dots is a class glob (`java.util.*`, `**.Entry`);
/// * a class name without dots is that class in any package (`String`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypePattern {
    text: String,
    element: Element,
    dimensions: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Element {
    Any,
    Void,
    Primitive(u8),
    Class(NameGlob),
}

impl TypePattern {
    /// Reads a parameter type.
    pub fn parameter(text: &str) -> Result<TypePattern, PatternError> {
        let pattern = TypePattern::result(text)?;
        match pattern.element {
            Element::Void => Err(PatternError::new(0..text.len(), "`void` is no parameter type")
                .suggest("write `()` for a method without parameters")),
            _ => Ok(pattern),
        }
    }

    /// Reads a return type, which may be `void`.
    pub fn result(text: &str) -> Result<TypePattern, PatternError> {
        refuse_source_decoration(text)?;
        let mut name = text;
        let mut dimensions = 0;
        while let Some(element) = name.strip_suffix("[]") {
            (name, dimensions) = (element.trim_end(), dimensions + 1);
        }
        let element = read_element(name)?;
        if element == Element::Void && dimensions > 0 {
            return Err(PatternError::new(0..text.len(), "there are no arrays of `void`"));
        }
        Ok(TypePattern { text: text.to_owned(), element, dimensions })
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Does the type match? `None` is void.
    pub fn matches(&self, actual: Option<FieldType<'_>>) -> bool {
        let Some(FieldType(descriptor)) = actual else {
            return self.element == Element::Void || (self.element == Element::Any && self.dimensions == 0);
        };
        let depth = descriptor.iter().take_while(|byte| **byte == b'[').count();
        let element = descriptor.get(depth..).unwrap_or_default();
        match (&self.element, element) {
            (Element::Any, _) => depth >= self.dimensions,
            (_, _) if depth != self.dimensions => false,
            (Element::Primitive(wanted), [actual]) => wanted == actual,
            (Element::Class(glob), [b'L', name @ .., b';']) => glob.matches(name),
            _ => false,
        }
    }
}

fn read_element(name: &str) -> Result<Element, PatternError> {
    if name == "*" {
        return Ok(Element::Any);
    }
    if name == "void" {
        return Ok(Element::Void);
    }
    if let Some((_, descriptor)) = PRIMITIVES.iter().find(|(primitive, _)| *primitive == name) {
        return Ok(Element::Primitive(*descriptor));
    }
    if name.contains(['.', '/']) {
        return NameGlob::class(name).map(Element::Class);
    }
    // Without a package and in lower case this can hardly be a class, but is often a mistyped primitive or `string`.
    if name.starts_with(|first: char| first.is_lowercase()) && !name.contains('*') {
        let known = PRIMITIVES.iter().map(|(primitive, _)| *primitive).chain(["void", "String", "Object"]);
        let error = PatternError::new(0..name.len(), format!("there is no type `{name}`"));
        return Err(match nearest_name(name, known) {
            Some(nearest) => error.suggest(format!("did you mean `{nearest}`?")),
            None => error.suggest("types are written as in Java source: `int`, `String`, `java.util.List`, `byte[]`"),
        });
    }
    NameGlob::simple_class(name).map(Element::Class)
}

/// Refuses parts of a Java declaration that a descriptor does not have.
fn refuse_source_decoration(text: &str) -> Result<(), PatternError> {
    let error = |at: usize, length: usize, message: &str| PatternError::new(at..at + length, message.to_owned());
    if text.is_empty() {
        return Err(error(0, 0, "a type is missing here"));
    }
    if let Some(at) = text.find('<') {
        let raw = text.get(..at).unwrap_or_default();
        return Err(error(at, text.len() - at, "type arguments are no part of a method's descriptor")
            .suggest(format!("write `{raw}`")));
    }
    if let Some(element) = text.strip_suffix("...") {
        return Err(error(element.len(), 3, "a variable number of arguments is an array in the class file")
            .suggest(format!("write `{element}[]`")));
    }
    if let Some(at) = text.find(char::is_whitespace) {
        let name = text.get(..at).unwrap_or_default();
        return Err(error(at, text.len() - at, "a parameter is written as its type, without a name")
            .suggest(format!("write `{name}`")));
    }
    if text.contains(';') {
        return Err(error(0, text.len(), "types are written as in Java source, not as descriptors")
            .suggest("for example `java.lang.String` or `byte[]`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, descriptor: &str) -> bool {
        let actual = (descriptor != "V").then_some(FieldType(descriptor.as_bytes()));
        TypePattern::result(pattern).unwrap_or_else(|error| panic!("{pattern}: {error:?}")).matches(actual)
    }

    #[test]
    fn primitives_and_arrays() {
        for (name, descriptor) in PRIMITIVES {
            let descriptor = char::from(descriptor).to_string();
            assert!(matches(name, &descriptor), "{name}");
            assert!(!matches(name, &format!("[{descriptor}")), "{name}");
            assert!(matches(&format!("{name}[][]"), &format!("[[{descriptor}")), "{name}");
        }
        assert!(!matches("byte[]", "[I"));
        assert!(!matches("byte[]", "[[B"));
        assert!(matches("void", "V") && !matches("void", "I") && !matches("int", "V"));
    }

    #[test]
    fn classes_by_full_name_simple_name_and_glob() {
        assert!(matches("java.lang.String", "Ljava/lang/String;"));
        assert!(matches("String", "Ljava/lang/String;"));
        assert!(matches("String", "LString;"));
        assert!(!matches("String", "Ljava/lang/StringBuilder;"));
        assert!(!matches("String", "Ljava/lang/MyString;"));
        assert!(matches("String[]", "[Ljava/lang/String;"));
        assert!(matches("java.util.*", "Ljava/util/List;"));
        assert!(matches("java.util.Map$Entry", "Ljava/util/Map$Entry;"));
        assert!(matches("Http*Request", "Ljakarta/servlet/http/HttpServletRequest;"));
        assert!(!matches("Object", "I"));
    }

    #[test]
    fn one_star_is_any_one_type() {
        for descriptor in ["I", "[J", "La/B;", "V"] {
            assert!(matches("*", descriptor), "{descriptor}");
        }
        assert!(matches("*[]", "[I") && matches("*[]", "[[La/B;") && !matches("*[]", "La/B;") && !matches("*[]", "V"));
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (text, suggestion) in [
            ("boolan", "did you mean `boolean`?"),
            ("string", "did you mean `String`?"),
            ("List<String>", "write `List`"),
            ("String...", "write `String[]`"),
            ("String sql", "write `String`"),
            ("Ljava/lang/String;", "for example `java.lang.String` or `byte[]`"),
        ] {
            assert_eq!(TypePattern::parameter(text).unwrap_err().suggestion.as_deref(), Some(suggestion), "{text}");
        }
        for bad in ["", "void", "void[]", "a..B", "int[", "[]", "In?"] {
            assert!(TypePattern::parameter(bad).is_err(), "{bad}");
        }
    }
}
