//! What is wanted of methods besides the rules: claims of persons, until when, and the one plan that results for a method from these, the rules
//! and the governor.

mod claims;
mod effective_plan;
mod expiry;
mod probe_request;

pub(crate) use claims::{Claim, ClaimIds, Claims};
pub(crate) use effective_plan::{Effective, Wish, effective_plan};
pub(crate) use expiry::Expiry;
pub(crate) use probe_request::RequestedProbes;
