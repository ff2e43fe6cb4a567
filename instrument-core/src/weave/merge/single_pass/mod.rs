//! The merge in a single pass: for templates that only insert a run of instructions before and after the target, and targets as compilers
//! write them, which are nearly all. One walk checks the method and copies it from the class file into the rewritten class.
//!
//! It writes the same bytes as the merge by way of nodes (a test and `cargo xtask corpus` compare them), several times faster.
//! For anything unusual it gives up without side effects: then the other merge handles the method or refuses it.

mod frame_copy;
mod merging;
mod parts;
mod resolved_template;
mod tables;
mod walk;

use classfile::stack_map::VerificationType;
use classfile::{ConstantPool, PoolFull};

use super::places::OutsideCode;
use crate::weave::refusal::Refusal;

pub(crate) use merging::SinglePassMerge;

/// The method or the template is not what the single pass is for: the merge by way of nodes handles it, or refuses it with a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bailout;

impl From<classfile::Error> for Bailout {
    fn from(_: classfile::Error) -> Bailout {
        Bailout
    }
}

impl From<PoolFull> for Bailout {
    fn from(_: PoolFull) -> Bailout {
        Bailout
    }
}

impl From<OutsideCode> for Bailout {
    fn from(_: OutsideCode) -> Bailout {
        Bailout
    }
}

impl From<Refusal> for Bailout {
    fn from(_: Refusal) -> Bailout {
        Bailout
    }
}

/// Why a walk ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GaveUp {
    Bailout,
    /// The target was taken for one with a single return at its end and is not, or the other way round.
    OtherEnding,
}

impl From<Bailout> for GaveUp {
    fn from(_: Bailout) -> GaveUp {
        GaveUp::Bailout
    }
}

/// Memory that is used again from method to method.
#[derive(Debug, Default)]
pub(crate) struct SinglePassMemory {
    names: parts::AttributeNames,
    walk: walk::WalkMemory,
    frames: frame_copy::FrameMemory,
    /// The constant of the class itself, once a method has asked for it.
    receiver: Option<u16>,
    /// The name of the frames' table, once a method without one has asked for it.
    frames_name: Option<u16>,
    /// Locals that the descriptor implies.
    implied: Vec<VerificationType>,
    /// The entries after the target's locals in its frames.
    added: Vec<VerificationType>,
    /// Locals of a frame of the epilog.
    locals: Vec<VerificationType>,
    form: resolved_template::ResolvedTemplate,
    /// Place of each operation of the template, counted from the first byte of the code.
    operations: Vec<u32>,
}

impl SinglePassMemory {
    /// Forgets the last class.
    pub(crate) fn begin(&mut self, pool: &ConstantPool<'_>) {
        self.names.begin(pool);
        self.forget_constants();
    }

    /// Forgets the constants that were appended to the class.
    pub(crate) fn forget_constants(&mut self) {
        self.receiver = None;
        self.frames_name = None;
        self.form.forget();
    }
}
