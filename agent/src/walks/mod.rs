//! Walks up from hot methods: which callers are followed level by level, and what is found on each level. Pure: samples and sums of calls come in, figures go out; `session/walk/`
//! inserts the probes (decision 065).

mod ascent;
mod figures;

pub(crate) use ascent::{Ascent, HookedCaller, Policy};
pub(crate) use figures::{ByHook, Measured, level_of};
