//! What is wanted of methods besides the rules: claims of persons, until when, and the one plan that results for a method from these, the rules
//! and the governor.

mod claimed_probe;
mod claims;
pub(crate) mod compiler_time;
mod delegate_marks;
mod effective_plan;
mod expiry;
pub(crate) mod generation;
pub(crate) mod governor;
pub(crate) mod live_selection;
pub(crate) mod probe_prices;
mod probe_request;
mod wanting_rules;
pub(crate) mod withdrawn_probes;

pub(crate) use claimed_probe::ClaimedProbe;
pub(crate) use claims::{Claim, ClaimIds, Claims, Kept};
pub(crate) use delegate_marks::DelegateMarks;
pub(crate) use effective_plan::{ConditionalProbe, Effective, Wish, effective_plan, rank};
pub(crate) use expiry::{Expiry, Progress};
pub(crate) use probe_request::{ACROSS_HOSTS, ACROSS_THREADS, DIRECTLY, RequestedProbes};
pub(crate) use wanting_rules::WantingRules;
