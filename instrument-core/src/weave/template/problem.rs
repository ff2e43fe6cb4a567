//! Why a template cannot be used, for the person who wrote it.

use std::fmt;

/// A finding of the linter: which template, where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateProblem {
    /// Class and method of the template.
    pub template: String,
    /// Jar that contains it, or `built-in`.
    pub origin: String,
    /// Source file, if the class names it.
    pub source_file: Option<String>,
    /// Line in the source file, if the class has line numbers.
    pub line: Option<u32>,
    /// What is wrong and what to do.
    pub message: String,
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source_file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            _ => {}
        }
        write!(f, "template {} ({}): {}", self.template, self.origin, self.message)
    }
}

impl std::error::Error for TemplateProblem {}
