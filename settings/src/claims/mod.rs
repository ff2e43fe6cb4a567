//! `[claims]`, and the file that it names.

mod claims_file;
mod claims_table;

pub use claims_file::{PinnedClaim, claims_text, parse_claims};
pub use claims_table::ClaimsConfig;
