//! The templates and presets that come with instr, compiled by the build script.

use std::sync::{Arc, OnceLock};

use instrument_core::template::TemplateLibrary;

#[allow(dead_code, reason = "the runtime is embedded as well")]
mod embedded {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}
use embedded::{PRESETS, TEMPLATE_CLASSES};

/// All built-in templates.
pub(crate) fn library() -> &'static Arc<TemplateLibrary> {
    static LIBRARY: OnceLock<Arc<TemplateLibrary>> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut library = TemplateLibrary::new();
        for (name, bytes) in TEMPLATE_CLASSES {
            library.add_class(bytes, "built-in").unwrap_or_else(|problems| panic!("{name}: {problems:#?}"));
        }
        Arc::new(library)
    })
}

/// The rule files that rules can name.
pub(crate) fn presets() -> &'static [(&'static str, &'static str)] {
    PRESETS
}
