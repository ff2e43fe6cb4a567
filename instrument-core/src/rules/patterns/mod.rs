//! The patterns of rules: classes, methods, types, modules, jars, loaders and threads by name, methods by flags, size and calls.

pub mod call_pattern;
pub mod class_pattern;
pub mod delegate_kind;
pub mod flag_pattern;
pub mod method_pattern;
pub mod name_glob;
pub mod pattern_error;
pub mod size_range;
pub mod text_pattern;
mod thread_names;
pub mod type_pattern;

pub use name_glob::NameGlob;
pub use thread_names::ThreadNames;
