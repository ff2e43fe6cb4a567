//! Methods of one class with the same name: reports show them with the types of their parameters.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Frame;

/// Names of methods that have several descriptors in one class.
#[derive(Debug, Default)]
pub(crate) struct Overloads<'a>(FxHashSet<(&'a str, &'a str)>);

impl<'a> Overloads<'a> {
    /// Finds them among methods, each given by its class, name and descriptor.
    pub(crate) fn among(methods: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> Overloads<'a> {
        let mut descriptors: FxHashMap<(&str, &str), &str> = FxHashMap::default();
        let mut names = FxHashSet::default();
        for (class, name, descriptor) in methods {
            if *descriptors.entry((class, name)).or_insert(descriptor) != descriptor {
                names.insert((class, name));
            }
        }
        Overloads(names)
    }

    /// Returns the types of the parameters of a method that is overloaded.
    pub(crate) fn parameters(&self, class: &str, name: &str, descriptor: &str) -> Option<String> {
        self.0.contains(&(class, name)).then(|| parameter_types(descriptor))
    }
}

/// Notes the parameters of those methods whose name is that of several in their class.
pub(super) fn mark(frames: &mut [Frame]) {
    let methods = frames.iter().map(|frame| (&*frame.class, &*frame.method, &*frame.descriptor));
    let overloads = Overloads::among(methods);
    let parameters: Vec<Option<String>> =
        frames.iter().map(|frame| overloads.parameters(&frame.class, &frame.method, &frame.descriptor)).collect();
    for (frame, parameters) in frames.iter_mut().zip(parameters) {
        frame.parameters = parameters;
    }
}

/// Returns the types of a method's parameters without their packages: `int, String, long[]`. What is no descriptor (JVMS 4.3.3) is returned
/// as it is.
#[must_use]
pub fn parameter_types(descriptor: &str) -> String {
    let parameters = descriptor.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(types, _)| types);
    parameters.and_then(types).map_or_else(|| descriptor.to_owned(), |types| types.join(", "))
}

fn types(mut rest: &str) -> Option<Vec<String>> {
    let mut types = Vec::new();
    while !rest.is_empty() {
        let element = rest.trim_start_matches('[');
        let dimensions = rest.len() - element.len();
        let (name, after) = if let Some(class) = element.strip_prefix('L') {
            let (class, after) = class.split_once(';')?;
            (class.rsplit_once('/').map_or(class, |(_, simple)| simple), after)
        } else {
            let kind = element.chars().next()?;
            (primitive(kind)?, element.get(kind.len_utf8()..)?)
        };
        types.push(format!("{name}{}", "[]".repeat(dimensions)));
        rest = after;
    }
    Some(types)
}

fn primitive(kind: char) -> Option<&'static str> {
    Some(match kind {
        'B' => "byte",
        'C' => "char",
        'D' => "double",
        'F' => "float",
        'I' => "int",
        'J' => "long",
        'S' => "short",
        'Z' => "boolean",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_with_several_descriptors_in_one_class_get_parameters() {
        let methods = [("a.B", "c", "()V"), ("a.B", "c", "(I[[JLjava/lang/String;)V"), ("a.B", "d", "()V")];
        // Another template and another class of the same name are no overloads.
        let more = [("a.B", "d", "()V"), ("a.E", "d", "(I)V")];
        let all = methods.into_iter().chain(more);
        let overloads = Overloads::among(all.clone());
        let parameters: Vec<_> = all.map(|(class, name, types)| overloads.parameters(class, name, types)).collect();
        let expected = [Some("".to_owned()), Some("int, long[][], String".to_owned()), None, None, None];
        assert_eq!(parameters, expected);
    }

    #[test]
    fn what_is_no_descriptor_is_shown_as_it_is() {
        for text in ["", "()", "(Q)V", "(Ljava/lang/String)V", "([)V", "(ü)V"] {
            let expected = if text == "()" { "" } else { text };
            assert_eq!(parameter_types(text), expected);
        }
    }
}
