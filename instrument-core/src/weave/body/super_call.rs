//! Where the object of a constructor is constructed: the call of `super()` or `this()`.

use classfile::{ClassFile, Member};

/// Returns whether the method is a constructor whose object is uninitialised at first. `java.lang.Object` has none before it.
pub(crate) fn starts_uninitialised(class: &ClassFile<'_>, method: &Member<'_>) -> bool {
    method.name == "<init>" && class.super_class().is_some()
}

/// Finds the last call on the object itself while the instructions of a constructor are visited in code order: each `new` has its own
/// constructor call, and a call beyond these is that of `super()` or `this()`. This holds for whatever compilers write; frames tell
/// where the code is laid out otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SuperCall {
    /// Objects that were made and not constructed yet.
    unconstructed: u32,
    /// Offset after the last call found.
    after: Option<u32>,
}

impl SuperCall {
    /// Notes a `new`.
    #[inline]
    pub(crate) fn note_new(&mut self) {
        self.unconstructed += 1;
    }

    /// Notes a call of a constructor at this offset.
    pub(crate) fn note_constructor_call(&mut self, offset: u32) {
        match self.unconstructed.checked_sub(1) {
            Some(left) => self.unconstructed = left,
            // An `invokespecial` has three bytes.
            None => self.after = Some(offset + 3),
        }
    }

    /// Returns the original offset after the call of `super()` or `this()`.
    pub(crate) fn after(&self) -> Option<u32> {
        self.after
    }
}
