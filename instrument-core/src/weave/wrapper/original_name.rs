//! The name under which the original body goes on.

use classfile::{ClassFile, Member};

/// What no compiler and no programmer ends a name with. Without it `_name` could be a method that the class inherits: calls of
/// that one through this class would find the private original instead and fail (decision 008).
const MARK: &[u8] = b"$instr";

/// Whether this may be the name under which the original body of a wrapped method goes on.
pub fn is_name_of_original(name: &[u8], of: &[u8]) -> bool {
    let unmarked = name.strip_suffix(MARK).and_then(|name| name.strip_suffix(of));
    unmarked.is_some_and(|rest| !rest.is_empty() && rest.iter().all(|byte| *byte == b'_'))
}

/// `name` becomes `_name$instr`, with more underscores if the class has such a method already.
pub(crate) fn name_of_original(class: &ClassFile<'_>, method: &Member<'_>) -> Box<[u8]> {
    let mut name = [b"_", method.name.as_bytes(), MARK].concat();
    let is_taken = |name: &[u8]| {
        class.methods().iter().any(|other| other.name.as_bytes() == name && other.descriptor == method.descriptor)
    };
    while is_taken(&name) {
        name.insert(0, b'_');
    }
    name.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn originals_are_recognised_by_their_names() {
        for (name, is_original) in
            [("_run$instr", true), ("__run$instr", true), ("run$instr", false), ("_ran$instr", false), ("_run", false)]
        {
            assert_eq!(is_name_of_original(name.as_bytes(), b"run"), is_original, "{name}");
        }
    }
}
