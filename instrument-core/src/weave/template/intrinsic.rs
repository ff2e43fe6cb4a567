//! The calls of `java.instr.Target` that the merge replaces.

/// Internal name of the class whose calls are intrinsics.
pub(super) const TARGET_CLASS: &[u8] = b"java/instr/Target";

/// What a template asks about the method it is merged into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intrinsic {
    /// `proceed()`: the sentinel.
    Proceed,
    /// `id()`
    ProbeId,
    /// `className()`
    ClassName,
    /// `methodName()`
    MethodName,
    /// `methodDescriptor()`
    MethodDescriptor,
    /// `qualifiedName()`: class and method in one string
    QualifiedName,
    /// `self()`
    Receiver,
    /// `arg(i)` with a constant index
    Argument(u16),
    /// `args()`
    AllArguments,
    /// `result()`
    Result,
    /// `thrown()`
    Thrown,
    /// `captured()`: the values that the rule chooses
    Captured,
    /// `captureForm()`: their names, and how they are shown
    CaptureForm,
    /// `scope(value)`: gives the value back, which the call sites of the method get
    Scope,
}

impl Intrinsic {
    /// The intrinsic of a method of `java.instr.Target`; arguments' index still 0.
    pub(super) fn by_name(name: &[u8]) -> Option<Intrinsic> {
        Some(match name {
            b"proceed" => Intrinsic::Proceed,
            b"id" => Intrinsic::ProbeId,
            b"className" => Intrinsic::ClassName,
            b"methodName" => Intrinsic::MethodName,
            b"methodDescriptor" => Intrinsic::MethodDescriptor,
            b"qualifiedName" => Intrinsic::QualifiedName,
            b"self" => Intrinsic::Receiver,
            b"arg" => Intrinsic::Argument(0),
            b"args" => Intrinsic::AllArguments,
            b"result" => Intrinsic::Result,
            b"thrown" => Intrinsic::Thrown,
            b"captured" => Intrinsic::Captured,
            b"captureForm" => Intrinsic::CaptureForm,
            b"scope" => Intrinsic::Scope,
            _ => return None,
        })
    }

    /// Internal name of the class of the value it pushes; `None` for nothing, int and long.
    pub(super) fn pushed_class(self) -> Option<&'static [u8]> {
        Some(match self {
            Intrinsic::Proceed | Intrinsic::ProbeId | Intrinsic::Scope => return None,
            Intrinsic::ClassName
            | Intrinsic::MethodName
            | Intrinsic::MethodDescriptor
            | Intrinsic::QualifiedName
            | Intrinsic::CaptureForm => b"java/lang/String",
            Intrinsic::Receiver | Intrinsic::Argument(_) | Intrinsic::Result => b"java/lang/Object",
            Intrinsic::AllArguments | Intrinsic::Captured => b"[Ljava/lang/Object;",
            Intrinsic::Thrown => b"java/lang/Throwable",
        })
    }
}
