//! The name under which the original body goes on.

use classfile::{ClassFile, Member};

/// What no compiler and no programmer ends a name with. Without it `_name` could be a method that the class inherits: calls of
/// that one through this class would find the private original instead and fail (decision 008).
const MARK: &[u8] = b"$instr";

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
