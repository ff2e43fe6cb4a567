//! Where the object of a constructor is initialised: after the calls of `super()` or `this()`.

use std::ops::Range;

use classfile::stack_map::VerificationType;
use classfile::{ClassFile, Member};
use smallvec::SmallVec;

/// Stretches of code, ascending.
pub(crate) type Stretches = SmallVec<[Range<u32>; 2]>;

/// Returns whether the method is a constructor whose object is uninitialised at first. `java.lang.Object` has none before it.
pub(crate) fn starts_uninitialised(class: &ClassFile<'_>, method: &Member<'_>) -> bool {
    method.name == "<init>" && class.super_class().is_some()
}

/// Finds the stretches where the object of a constructor is initialised, while its instructions and frames are visited in code order.
///
/// Each `new` has its own constructor call, and a call beyond these is that of `super()` or `this()`. A frame says whether the
/// object is initialised where a jump arrives, so there may be several such calls, each with initialised code after it. Without
/// frames only what follows the last one is known to be initialised.
#[derive(Debug, Default)]
pub(crate) struct Initialisation {
    has_frames: bool,
    /// Objects that were made and not constructed yet.
    unconstructed: u32,
    /// Where the present stretch of initialised code began.
    since: Option<u32>,
    stretches: Stretches,
}

impl Initialisation {
    /// Returns the state at the beginning of a constructor; `has_frames` says whether there is a frame wherever a jump arrives.
    pub(crate) fn new(has_frames: bool) -> Initialisation {
        Initialisation { has_frames, ..Initialisation::default() }
    }

    /// Notes a `new`.
    #[inline]
    pub(crate) fn note_new(&mut self) {
        self.unconstructed += 1;
    }

    /// Notes a call of a constructor at this offset.
    pub(crate) fn note_constructor_call(&mut self, offset: u32) {
        match self.unconstructed.checked_sub(1) {
            Some(left) => self.unconstructed = left,
            None if self.has_frames && self.since.is_some() => {}
            // An `invokespecial` has three bytes.
            None => self.since = Some(offset + 3),
        }
    }

    /// Notes a frame with these types, which say whether the constructor's object is initialised there, and which others are not.
    pub(crate) fn note_frame<'t>(&mut self, offset: u32, types: impl Iterator<Item = &'t VerificationType>) {
        let (mut is_initialised, mut made) = (true, SmallVec::<[u32; 4]>::new());
        for entry in types {
            match entry {
                VerificationType::UninitializedThis => is_initialised = false,
                VerificationType::Uninitialized(made_at) => made.push(*made_at),
                _ => {}
            }
        }
        match (self.since, is_initialised) {
            (Some(start), false) => {
                self.stretches.push(start..offset);
                self.since = None;
            }
            (None, true) => self.since = Some(offset),
            _ => {}
        }
        if !is_initialised {
            made.sort_unstable();
            made.dedup();
            self.unconstructed = made.len() as u32;
        }
    }

    /// Returns the stretches in which the object is initialised, in code of this length; none where no `super()` is called.
    pub(crate) fn finish(mut self, length: u32) -> Stretches {
        self.stretches.extend(self.since.map(|start| start..length));
        self.stretches
    }
}

#[cfg(test)]
mod tests {
    use classfile::stack_map::VerificationType::{Integer, Uninitialized, UninitializedThis};

    use super::*;

    #[test]
    fn each_call_of_super_begins_a_stretch_and_a_frame_ends_it() {
        let mut of_two = Initialisation::new(true);
        of_two.note_new();
        of_two.note_constructor_call(7);
        of_two.note_constructor_call(11);
        of_two.note_frame(20, [UninitializedThis, Uninitialized(17), Uninitialized(17)].iter());
        of_two.note_constructor_call(23);
        of_two.note_constructor_call(27);
        // Initialised from here on, whatever is called.
        of_two.note_constructor_call(31);
        of_two.note_frame(40, [Integer].iter());
        assert_eq!(of_two.finish(50).as_slice(), [14..20, 30..50]);
    }

    #[test]
    fn a_frame_may_begin_a_stretch() {
        let mut laid_out_otherwise = Initialisation::new(true);
        laid_out_otherwise.note_frame(5, [].iter());
        laid_out_otherwise.note_frame(9, [UninitializedThis].iter());
        laid_out_otherwise.note_constructor_call(12);
        laid_out_otherwise.note_frame(15, [Integer, UninitializedThis].iter());
        assert_eq!(laid_out_otherwise.finish(20).as_slice(), [5..9, 15..15]);
    }

    #[test]
    fn without_frames_the_last_call_counts() {
        let mut unframed = Initialisation::new(false);
        [4, 16].into_iter().for_each(|call| unframed.note_constructor_call(call));
        assert_eq!(unframed.finish(30).first(), Some(&(19..30)));
        assert!(Initialisation::new(true).finish(30).is_empty());
    }
}
