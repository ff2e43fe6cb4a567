//! What selection needs to know about templates.

use crate::level::Level;
use crate::template_id::TemplateId;

/// The templates that rules can name.
pub trait TemplateCatalog {
    /// The variant of a template for a level.
    fn find(&self, name: &str, level: Level) -> Option<TemplateId>;

    /// All names.
    fn names(&self) -> Vec<String>;
}
