//! What the linter finds in a class: every method that is marked as a template, right or not.

use super::runtime_members::RuntimeClasses;
use super::{Template, TemplateProblem, read};
use crate::level::Level;

/// A method that carries `@java.instr.Template`.
#[derive(Clone, Debug)]
pub struct ExaminedTemplate {
    /// The name that rules use.
    pub name: String,
    /// What kind of code it is for.
    pub category: String,
    /// The level that this variant is for.
    pub level: Level,
    /// Whether it is a variant for all levels.
    pub live: bool,
    /// Class and method.
    pub source: String,
    /// The template, or everything that is wrong with it.
    pub outcome: Result<Template, Vec<TemplateProblem>>,
}

impl ExaminedTemplate {
    /// Examines all templates of a class; an error if the class cannot be read.
    pub fn all(bytes: &[u8], origin: &str, runtime: RuntimeClasses) -> Result<Vec<ExaminedTemplate>, TemplateProblem> {
        read::examine(bytes, origin, runtime)
    }
}
