//! Conditions on what neither the name nor the super types of a class show.
//!
//! [`origin`]: module, jar and class loader, which the class file does not contain; [`called_methods`]: what bodies call.

pub(super) mod called_methods;
pub(super) mod origin;
