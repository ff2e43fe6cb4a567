//! `[claims]`, the file that it names, `[[context]]`, `[contexts]` and `[conditions]`.

mod claims_file;
mod claims_table;
mod conditions_table;
mod context_table;
mod contexts_table;
mod patterns;

pub use claims_file::{PinnedClaim, claims_text, parse_claims};
pub use claims_table::ClaimsConfig;
pub use conditions_table::ConditionsConfig;
pub use context_table::ContextConfig;
pub(crate) use context_table::read_contexts;
pub use contexts_table::{ContextPlace, ContextsConfig};
pub(crate) use patterns::methods;
pub use patterns::name_for_hosts;
