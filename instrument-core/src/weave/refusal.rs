//! Why a method is left as it is, although a rule selected it.

use std::fmt;

use crate::weave::wrapper::NotWrapped;

/// The reason, for people and for statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Abstract or native: there is nothing to merge into.
    NoCode,
    /// The method or one of its tables cannot be read.
    Malformed(classfile::Error),
    /// More than 65,535 bytes (JVMS 4.7.3).
    CodeTooLarge {
        /// Bytes it would have.
        length: usize,
    },
    /// More than 8,000 bytes: HotSpot would never compile it again.
    HugeForJit {
        /// Bytes it has.
        before: usize,
        /// Bytes it would have.
        after: usize,
    },
    /// More than 65,535 constants (JVMS 4.1).
    PoolFull,
    /// More than 65,535 attributes of the code or of the class (JVMS 4.7.3, 4.1).
    TooManyAttributes,
    /// More than 65,535 local slots (JVMS 4.11).
    TooManyLocals,
    /// The template's locals cannot precede the parameters, which the JVM puts into the first slots.
    LocalsInFront,
    /// A conditional jump would be longer than 32,767 bytes and nowhere in reach is a place to jump from.
    JumpTooFar,
    /// A return leaves operands on the stack, and it cannot be determined how to drop them.
    SurplusOperands {
        /// Words on the stack.
        words: u16,
    },
    /// The verifier would look for classes that it does without for the method as it is; one of them may be missing.
    MayLoadClasses,
    /// Too many frames with too many locals: writing them would take tens of megabytes.
    FramesTooLarge,
    /// Below class-file version 45.3, where the head of `Code` is shorter in some JVMs and not in others.
    ShortCodeHead,
    /// No call of `super()` or `this()` was found in the constructor's code.
    ConstructorShape,
    /// The template asks for the receiver of a constructor.
    ReceiverInConstructor,
    /// The template asks for an argument that the method does not have.
    NoSuchArgument {
        /// Index asked for.
        index: u16,
        /// Arguments the method has.
        arguments: u16,
    },
    /// The template's instructions need a newer class-file version.
    ClassVersion {
        /// `major_version` needed.
        needed: u16,
        /// `major_version` of the class.
        found: u16,
    },
    /// The rule says `mode = "wrapper"`, and this method cannot have one.
    NotWrapped(NotWrapped),
    /// The rule names a template that the library does not hold.
    UnknownTemplate,
    /// Our own check found a fault in what we wrote: a defect of instr.
    SelfCheck(&'static str),
}

impl Refusal {
    /// The name of the reason in statistics.
    pub fn key(&self) -> &'static str {
        match self {
            Refusal::NoCode => "no-code",
            Refusal::Malformed(_) => "malformed",
            Refusal::CodeTooLarge { .. } => "code-too-large",
            Refusal::HugeForJit { .. } => "huge-for-jit",
            Refusal::PoolFull => "constant-pool-full",
            Refusal::TooManyAttributes => "too-many-attributes",
            Refusal::TooManyLocals => "too-many-locals",
            Refusal::LocalsInFront => "locals-in-front",
            Refusal::JumpTooFar => "jump-too-far",
            Refusal::SurplusOperands { .. } => "surplus-operands",
            Refusal::MayLoadClasses => "may-load-classes",
            Refusal::FramesTooLarge => "frames-too-large",
            Refusal::ShortCodeHead => "short-code-head",
            Refusal::ConstructorShape => "constructor-shape",
            Refusal::ReceiverInConstructor => "receiver-in-constructor",
            Refusal::NoSuchArgument { .. } => "no-such-argument",
            Refusal::ClassVersion { .. } => "class-version",
            Refusal::NotWrapped(reason) => reason.key(),
            Refusal::UnknownTemplate => "unknown-template",
            Refusal::SelfCheck(_) => "self-check",
        }
    }
}

impl Refusal {
    /// True if the method's body has no room for the template, so that a wrapper, which leaves the body alone, might do.
    pub(crate) fn asks_for_a_wrapper(&self) -> bool {
        matches!(
            self,
            Refusal::CodeTooLarge { .. }
                | Refusal::HugeForJit { .. }
                | Refusal::TooManyLocals
                | Refusal::TooManyAttributes
                | Refusal::JumpTooFar
                | Refusal::SurplusOperands { .. }
                | Refusal::FramesTooLarge
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoCode => f.write_str("the method has no code"),
            Refusal::Malformed(error) => write!(f, "the method cannot be read: {error}"),
            Refusal::CodeTooLarge { length } => write!(f, "would have {length} bytes of code; the limit is 65,535"),
            Refusal::HugeForJit { before, after } => {
                write!(f, "would grow from {before} to {after} bytes; HotSpot never compiles methods over 8,000")
            }
            Refusal::PoolFull => f.write_str("the class would have more than 65,535 constants"),
            Refusal::TooManyAttributes => f.write_str("would have more than 65,535 attributes"),
            Refusal::TooManyLocals => f.write_str("would need more than 65,535 local slots"),
            Refusal::LocalsInFront => f.write_str(
                "a template's locals cannot stand in front: the JVM puts the parameters into the first slots",
            ),
            Refusal::JumpTooFar => f.write_str("a conditional jump would be longer than 32,767 bytes"),
            Refusal::SurplusOperands { words } => {
                write!(f, "a return leaves {words} words on the operand stack that cannot be dropped safely")
            }
            Refusal::MayLoadClasses => f.write_str(
                "without frames the JVM would have to load classes to verify it that it does not load now, \
                 and it cannot have a wrapper",
            ),
            Refusal::FramesTooLarge => {
                f.write_str("its frames would take tens of megabytes: they are many, and each has many locals")
            }
            Refusal::ShortCodeHead => f.write_str(
                "the class-file version is below 45.3: JVMs differ in how they read the code of such a class",
            ),
            Refusal::ConstructorShape => f.write_str("no call of super() or this() was found in the constructor"),
            Refusal::ReceiverInConstructor => {
                f.write_str("the template uses Target.self(), which a constructor does not have at its start")
            }
            Refusal::NoSuchArgument { index, arguments } => {
                write!(f, "the template uses argument {index}; the method has {arguments}")
            }
            Refusal::ClassVersion { needed, found } => {
                write!(f, "the template needs class-file version {needed}; the class has {found}")
            }
            Refusal::NotWrapped(reason) => write!(f, "mode \"wrapper\": {reason}"),
            Refusal::UnknownTemplate => f.write_str("the template is not in the library"),
            Refusal::SelfCheck(what) => {
                write!(f, "instr would have written a faulty method ({what}); please report it")
            }
        }
    }
}

impl From<classfile::Error> for Refusal {
    fn from(error: classfile::Error) -> Refusal {
        Refusal::Malformed(error)
    }
}

impl From<NotWrapped> for Refusal {
    fn from(reason: NotWrapped) -> Refusal {
        Refusal::NotWrapped(reason)
    }
}

impl From<classfile::PoolFull> for Refusal {
    fn from(_: classfile::PoolFull) -> Refusal {
        Refusal::PoolFull
    }
}
