//! Access flags of classes, fields and methods (JVMS tables 4.1-B, 4.5-A, 4.6-A).

/// Visible everywhere its module and package are.
pub const PUBLIC: u16 = 0x0001;
/// Visible in its own class (and nest).
pub const PRIVATE: u16 = 0x0002;
/// Visible in its package and subclasses.
pub const PROTECTED: u16 = 0x0004;
/// No receiver.
pub const STATIC: u16 = 0x0008;
/// Not overridden, not assigned again.
pub const FINAL: u16 = 0x0010;
/// Holds the monitor of its receiver or class while it runs (methods).
pub const SYNCHRONIZED: u16 = 0x0020;
/// `invokespecial` looks the method up anew in the super class (classes).
pub const SUPER: u16 = 0x0020;
/// Made by the compiler to bridge erased types (methods).
pub const BRIDGE: u16 = 0x0040;
/// Variable number of arguments (methods).
pub const VARARGS: u16 = 0x0080;
/// Body is not in the class file.
pub const NATIVE: u16 = 0x0100;
/// An interface.
pub const INTERFACE: u16 = 0x0200;
/// No body.
pub const ABSTRACT: u16 = 0x0400;
/// Floating point as in Java 1.2 (methods; without effect since Java 17).
pub const STRICT: u16 = 0x0800;
/// Not in the source.
pub const SYNTHETIC: u16 = 0x1000;
/// An annotation interface.
pub const ANNOTATION: u16 = 0x2000;
/// An enum class or constant.
pub const ENUM: u16 = 0x4000;
/// A module descriptor.
pub const MODULE: u16 = 0x8000;
