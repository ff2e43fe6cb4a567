//! Files that the agent writes, and what `%p`, `%t` and `%h` mean in their names.

pub(crate) mod file_names;
pub(crate) mod trace_file;
