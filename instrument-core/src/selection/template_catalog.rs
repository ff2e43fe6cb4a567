//! What selection needs to know about templates.

use crate::level::Level;
use crate::template_id::TemplateId;

/// The templates that rules can name.
pub trait TemplateCatalog {
    /// The variant of a template for a level.
    fn find(&self, name: &str, level: Level) -> Option<TemplateId>;

    /// The variant for a level that takes the values which a rule chooses.
    fn find_capturing(&self, _name: &str, _level: Level) -> Option<TemplateId> {
        None
    }

    /// All names.
    fn names(&self) -> Vec<String>;
}
