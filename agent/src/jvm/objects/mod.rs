//! Values of the application's objects, read for conditions: bounded, and whatever is thrown is cleared.

pub(super) mod anchored_call;
pub(super) mod arrays;
pub(super) mod bounded_table;
pub(super) mod logging_context;
pub(super) mod members;
pub(super) mod native_baggage;
pub(super) mod native_evaluation;
pub(super) mod plain_values;
pub(super) mod request_getters;
pub(super) mod statements;
pub(super) mod weak_class;
