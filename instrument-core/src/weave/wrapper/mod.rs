//! Wrapper mode (requirements S4.14 to S4.19): the original body gets another name, and a new body under the old name calls it.
//!
//! The wrapper takes the place of the original and keeps name, descriptor, flags and every attribute but `Code`; the original
//! is appended after the other methods, private and synthetic, with its `Code` untouched. The wrapper's body is an ordinary target
//! of the merge, so every template works around it, exceptions included.
//!
//! A class that was wrapped when it was loaded must be wrapped again, with the same names, whenever it is retransformed: the
//! names depend on nothing but the methods of the class.

mod added_methods;
mod call_body;
mod not_wrapped;
mod original_name;

pub(crate) use added_methods::AddedMethods;
pub(crate) use call_body::CallBody;
pub use not_wrapped::NotWrapped;
pub(crate) use not_wrapped::check;
pub use original_name::is_name_of_original;
pub(crate) use original_name::name_of_original;
