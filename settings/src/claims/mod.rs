//! `[claims]`, the file that it names, `[[context]]` and `[conditions]`.

mod claims_file;
mod claims_table;
mod conditions_table;
mod context_table;
mod patterns;

pub use claims_file::{PinnedClaim, claims_text, parse_claims};
pub use claims_table::ClaimsConfig;
pub use conditions_table::ConditionsConfig;
pub use context_table::ContextConfig;
pub(crate) use context_table::read_contexts;
pub(crate) use patterns::methods;
