//! `[conditions]`: what conditions of claims and contexts may read (`--when`).

use instrument_core::config::texts;
use instrument_core::declare_table;
use instrument_core::rules::predicates::is_text_like;

declare_table! {
    /// What conditions (`instr probe --when`, `when` in `[[context]]`; docs/probes.md) may read besides arguments, fields, and getters that only return a field.
    pub struct ConditionsConfig = "conditions" {
        /// Getters that may be called, as `package.Class.method`: they run on the application's threads, and must neither wait nor change anything. What they
        /// throw is counted.
        getters: Vec<String> = key("getters", texts().plain(), Vec::new()),
        /// Addresses of clients whose header `baggage` is believed, with `*`: `["10.0.0.*"]`. Unless stated, of none. The address is what `getRemoteAddr()` of the
        /// request returns: where a filter or proxy support of the container sets it from `Forwarded` or `X-Forwarded-For`, clients can choose it.
        baggage_from: Vec<String> = key("baggage-from", texts().plain(), Vec::new()),
    }
}

impl ConditionsConfig {
    /// Whether baggage that is sent from this address is believed.
    pub fn is_believed(&self, address: &str) -> bool {
        self.baggage_from.iter().any(|pattern| is_text_like(pattern, address))
    }
}
