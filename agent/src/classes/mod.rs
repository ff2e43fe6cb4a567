//! What is known about classes whatever the rules want: super types, loaders, what each class holds of ours, what HotSpot does to them.

pub(crate) mod class_table;
pub(crate) mod hierarchy;
pub(crate) mod hotspot_hazards;
pub(crate) mod known_calls;
pub(crate) mod known_facts;
pub(crate) mod large_files;
pub(crate) mod parameter_doubts;
pub(crate) mod pool_growth;
pub(crate) mod rewritten_classes;
pub(crate) mod safe_retransforms;
pub(crate) mod unloaded_classes;
pub(crate) mod wrapped_classes;
