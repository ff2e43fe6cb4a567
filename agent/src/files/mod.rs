//! Files that the agent writes, and what `%p`, `%t` and `%h` mean in their names; the file with claims for the next start.

pub(crate) mod claims_file;
pub(crate) mod directory_lock;
pub(crate) mod file_names;
pub(crate) mod trace_file;
