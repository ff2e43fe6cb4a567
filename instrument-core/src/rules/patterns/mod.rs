//! The patterns of rules: classes, methods, types and threads by name.

pub mod class_pattern;
pub mod method_pattern;
pub mod name_glob;
pub mod pattern_error;
mod thread_names;
pub mod type_pattern;

pub use name_glob::NameGlob;
pub use thread_names::ThreadNames;
