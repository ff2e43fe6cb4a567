//! One line about a method that was instrumented, the same in the agent's log and on the command line (S4.28).

use std::fmt;

use classfile::{ClassFile, Member, ModifiedUtf8};

use crate::weave::outcome::{MethodPlan, RewrittenMethod};
use crate::weave::template::TemplateLibrary;

/// A method that was instrumented: `com.acme.Order.total()J: timed, 41 -> 63 bytes (+22), 1 pass`.
#[derive(Clone, Copy, Debug)]
pub struct Insertion<'i, 'a> {
    /// The class as it was.
    pub class: &'i ClassFile<'a>,
    /// The method as it was.
    pub method: &'i Member<'a>,
    /// What was to be merged.
    pub plan: &'i MethodPlan,
    /// The rewritten method.
    pub done: &'i RewrittenMethod,
    /// Where the templates come from.
    pub library: &'i TemplateLibrary,
}

impl fmt::Display for Insertion<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = crate::internal_name::to_source(self.class.this_class().as_bytes());
        write!(f, "{class}.{}{}: ", self.method.name, self.method.descriptor)?;
        for (at, &id) in self.plan.templates.iter().enumerate() {
            let name = self.library.get(id).map_or("?", |template| template.name.as_str());
            write!(f, "{}{name}", if at == 0 { "" } else { " around " })?;
        }
        let RewrittenMethod { length_before, length_after, passes, .. } = *self.done;
        let growth = i64::from(length_after) - i64::from(length_before);
        let plural = if passes == 1 { "" } else { "es" };
        write!(f, ", {length_before} -> {length_after} bytes ({growth:+}), {passes} pass{plural}")?;
        match &self.done.renamed {
            Some(name) => write!(f, ", a wrapper; the original is {}", ModifiedUtf8(name)),
            None => Ok(()),
        }
    }
}
