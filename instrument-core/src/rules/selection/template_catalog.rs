//! What selection needs to know about templates.

use crate::level::Level;
use crate::weave::template::{TemplateId, TemplateLibrary};

/// The templates that rules can name.
pub trait TemplateCatalog {
    /// The variant of a template for a level.
    fn find(&self, name: &str, level: Level) -> Option<TemplateId>;

    /// The variant for a level that takes the values which a rule chooses.
    fn find_capturing(&self, _name: &str, _level: Level) -> Option<TemplateId> {
        None
    }

    /// Returns the hash of what the template was read from.
    fn content(&self, _template: TemplateId) -> u64 {
        0
    }

    /// All names.
    fn names(&self) -> Vec<String>;

    /// The name of the template for a category, or for the nearest category that it refines and that has one.
    fn of_category(&self, category: &str) -> Option<String>;

    /// All categories.
    fn categories(&self) -> Vec<String>;
}

impl TemplateCatalog for TemplateLibrary {
    fn find(&self, name: &str, level: Level) -> Option<TemplateId> {
        TemplateLibrary::find(self, name, level)
    }

    fn find_capturing(&self, name: &str, level: Level) -> Option<TemplateId> {
        TemplateLibrary::find_capturing(self, name, level)
    }

    fn content(&self, template: TemplateId) -> u64 {
        self.get(template).map_or(0, |template| template.content)
    }

    fn names(&self) -> Vec<String> {
        TemplateLibrary::names(self).map(str::to_owned).collect()
    }

    fn of_category(&self, category: &str) -> Option<String> {
        TemplateLibrary::of_category(self, category).map(str::to_owned)
    }

    fn categories(&self) -> Vec<String> {
        TemplateLibrary::categories(self).into_iter().map(str::to_owned).collect()
    }
}
