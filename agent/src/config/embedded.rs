//! What the build script embedded: the runtime's classes, the templates, the presets.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
