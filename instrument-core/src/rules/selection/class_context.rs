//! What a decision asks about a class besides its bytes.

use std::fmt;

use super::conditions::origin::ClassOrigin;
use super::delegate_marks::DelegateMark;
use super::hierarchy::Hierarchy;
use super::rule_reach::RuleReach;
use super::subject::FactSource;

/// Returns whether a method must never be instrumented: class, name and descriptor as in the class file.
pub type Never<'n> = dyn Fn(&[u8], &[u8], &[u8]) -> bool + 'n;

/// The surroundings of one class.
#[derive(Clone, Copy)]
pub struct ClassContext<'c> {
    /// Super types, as seen from the class.
    pub hierarchy: &'c dyn Hierarchy,
    /// Module, jar and class loader of the class.
    pub origin: &'c dyn ClassOrigin,
    /// What is known about the class from its file.
    pub facts: &'c dyn FactSource,
    /// Methods that must be left alone.
    pub never: &'c Never<'c>,
    /// Methods of the class, and perhaps of others, that methods of other classes hand to somebody who calls them.
    pub delegates: &'c [DelegateMark],
    /// Where it is noted how far each rule got; absent if nobody wants to know.
    pub reach: Option<&'c RuleReach>,
}

impl fmt::Debug for ClassContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClassContext").finish_non_exhaustive()
    }
}
