//! Which methods cannot have a wrapper, and why (S4.17).

use std::fmt;

use classfile::attributes::annotations;
use classfile::instruction::Instructions;
use classfile::{ClassFile, Member, access, opcode};

use crate::weave::refusal::Refusal;

/// Why a method cannot be renamed and called by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotWrapped {
    /// A constructor is found by the name `<init>`, and only it may call `super()`.
    Constructor,
    /// The JVM itself calls `<clinit>`.
    ClassInitialiser,
    /// There is no body.
    Abstract,
    /// The body is found by the method's name.
    Native,
    /// The body looks at its own caller or at the stack.
    CallerSensitive,
    /// The JVM knows the method by an annotation of its own, which only the wrapper would carry.
    AnnotatedForJvm,
    /// Interfaces have private methods since class-file version 52.
    OldInterface,
    /// The class would have more than 65,535 methods (JVMS 4.1).
    MethodsFull,
    /// The class is loaded: the JVM lets nobody add methods to it.
    LoadedBefore,
}

impl NotWrapped {
    /// The name of the reason in statistics.
    pub fn key(self) -> &'static str {
        match self {
            NotWrapped::Constructor => "constructor",
            NotWrapped::ClassInitialiser => "class-initialiser",
            NotWrapped::Abstract => "abstract",
            NotWrapped::Native => "native",
            NotWrapped::CallerSensitive => "caller-sensitive",
            NotWrapped::AnnotatedForJvm => "annotated-for-jvm",
            NotWrapped::OldInterface => "old-interface",
            NotWrapped::MethodsFull => "methods-full",
            NotWrapped::LoadedBefore => "loaded-before",
        }
    }

    /// Returns why the method cannot have a wrapper; `None` if nothing in the class file prevents it.
    pub fn of(class: &ClassFile<'_>, method: &Member<'_>) -> Option<NotWrapped> {
        match check(class, method) {
            Err(Refusal::NotWrapped(reason)) => Some(reason),
            _ => None,
        }
    }
}

impl fmt::Display for NotWrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotWrapped::Constructor => "a constructor cannot be renamed; use mode = \"inline\"",
            NotWrapped::ClassInitialiser => "a class initialiser cannot be renamed; use mode = \"inline\"",
            NotWrapped::Abstract => "an abstract method has no body",
            NotWrapped::Native => "a native method is bound to its name",
            NotWrapped::CallerSensitive => {
                "the method looks at its caller or at the stack, where it would find the wrapper; use mode = \"inline\""
            }
            NotWrapped::AnnotatedForJvm => "the JVM treats the method specially; use mode = \"inline\"",
            NotWrapped::OldInterface => "an interface below class-file version 52 cannot have private methods",
            NotWrapped::MethodsFull => "the class would have more than 65,535 methods",
            NotWrapped::LoadedBefore => {
                "the class was loaded before, and the JVM adds no methods to a loaded class; use mode = \"inline\""
            }
        })
    }
}

/// Checks, by the class file alone, whether the method may be renamed.
pub(crate) fn check(class: &ClassFile<'_>, method: &Member<'_>) -> Result<(), Refusal> {
    let interface = class.access_flags() & access::INTERFACE != 0;
    let refused = match method.name.as_bytes() {
        b"<init>" => Some(NotWrapped::Constructor),
        b"<clinit>" => Some(NotWrapped::ClassInitialiser),
        _ if method.has(access::ABSTRACT) => Some(NotWrapped::Abstract),
        _ if method.has(access::NATIVE) => Some(NotWrapped::Native),
        _ if interface && class.major_version() < 52 => Some(NotWrapped::OldInterface),
        _ if is_annotated_for_jvm(class, method) => Some(NotWrapped::AnnotatedForJvm),
        _ if looks_at_stack(class, method)? => Some(NotWrapped::CallerSensitive),
        _ => None,
    };
    refused.map_or(Ok(()), |reason| Err(reason.into()))
}

/// Beginnings of annotations that the JVM and the JDK's core look for on methods, such as `@CallerSensitive`, `@ForceInline`,
/// `@Scoped` and `@Hidden`. No method outside the JDK carries them.
const ANNOTATIONS_OF_JVM: [&[u8]; 5] = [
    b"Ljdk/internal/vm/annotation/",
    b"Ljdk/internal/reflect/",
    b"Ljdk/internal/misc/",
    b"Ljdk/internal/HotSpot",
    b"Ljava/lang/invoke/",
];

fn is_annotated_for_jvm(class: &ClassFile<'_>, method: &Member<'_>) -> bool {
    let is_for_jvm = |name: &[u8]| ANNOTATIONS_OF_JVM.iter().any(|package| name.starts_with(package));
    annotations(method.attributes(class))
        .any(|annotation| class.constant_pool().utf8(annotation.descriptor).is_ok_and(|name| is_for_jvm(name.0)))
}

/// Whether the body asks which frames stand below its own.
fn looks_at_stack(class: &ClassFile<'_>, method: &Member<'_>) -> Result<bool, Refusal> {
    let Some(code) = method.code(class)? else { return Ok(false) };
    let pool = class.constant_pool();
    let mut made: Vec<&[u8]> = Vec::new();
    for instruction in Instructions::new(code.bytecode) {
        let instruction = instruction?;
        match instruction.opcode {
            opcode::NEW => made.push(pool.class_name(instruction.u2(0))?.as_bytes()),
            opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE => {
                let called = pool.member_ref(instruction.u2(0))?;
                let (owner, name) = (called.owner.as_bytes(), called.name.as_bytes());
                if counts_frames(owner, name, called.descriptor.as_bytes(), &made) {
                    return Ok(true);
                }
            }
            _ => {}
        }
    }
    Ok(false)
}

/// Whether a call counts stack frames from its caller; `made` are the classes of which the caller has made objects before.
fn counts_frames(owner: &[u8], name: &[u8], descriptor: &[u8], made: &[&[u8]]) -> bool {
    match name {
        b"getCallerClass" => {
            matches!(owner, b"java/lang/StackWalker" | b"jdk/internal/reflect/Reflection" | b"sun/reflect/Reflection")
        }
        b"walk" | b"forEach" => owner == b"java/lang/StackWalker",
        // The trace of an exception that somebody else made begins elsewhere.
        b"getStackTrace" => {
            let of_own_frame = owner == b"java/lang/Thread" || made.contains(&owner);
            of_own_frame && descriptor == b"()[Ljava/lang/StackTraceElement;"
        }
        // A method of SecurityManager that only its subclasses may call.
        b"getClassContext" => descriptor == b"()[Ljava/lang/Class;",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::counts_frames;

    #[test]
    fn only_calls_that_count_frames_from_their_caller_matter() {
        let trace = b"()[Ljava/lang/StackTraceElement;";
        let counts =
            |owner: &[u8], name: &[u8], descriptor: &[u8]| counts_frames(owner, name, descriptor, &[b"acme/Made"]);
        assert!(counts(b"java/lang/StackWalker", b"getCallerClass", b"()Ljava/lang/Class;"));
        assert!(counts(b"java/lang/StackWalker", b"walk", b"(Ljava/util/function/Function;)Ljava/lang/Object;"));
        assert!(counts(b"sun/reflect/Reflection", b"getCallerClass", b"(I)Ljava/lang/Class;"));
        assert!(counts(b"java/lang/Thread", b"getStackTrace", trace));
        assert!(counts(b"acme/Made", b"getStackTrace", trace));
        assert!(counts(b"acme/Guard", b"getClassContext", b"()[Ljava/lang/Class;"));
        assert!(!counts(b"acme/Caught", b"getStackTrace", trace), "an exception that was not made here");
        assert!(!counts(b"acme/Made", b"getStackTrace", b"()Ljava/lang/String;"));
        // The lookup class is that of the code that asks, whatever the method's name.
        assert!(!counts(b"java/lang/invoke/MethodHandles", b"lookup", b"()Ljava/lang/invoke/MethodHandles$Lookup;"));
        assert!(!counts(b"java/util/List", b"forEach", b"(Ljava/util/function/Consumer;)V"));
    }
}
