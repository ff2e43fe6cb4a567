//! `[conditions]`: what conditions of claims and contexts may read (`--when`).

use core::net::IpAddr;

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
        /// Hosts that may be sent the header `baggage` by contexts with `across-hosts`, with `*`, as the application names them in its addresses: `["*.internal",
        /// "10.0.0.*"]`. Unless stated, none, and such contexts are refused.
        baggage_to: Vec<String> = key("baggage-to", texts().plain(), Vec::new()),
    }
}

impl ConditionsConfig {
    /// Whether baggage that is sent from this address is believed.
    pub fn is_believed(&self, address: &str) -> bool {
        self.baggage_from.iter().any(|pattern| is_text_like(pattern, address))
    }

    /// Whether baggage may be sent to this host, as the address of a request names it.
    pub fn is_sent_to(&self, host: &str) -> bool {
        let plain = |text: &str| text.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let host = plain(host);
        let is_address = host.parse::<IpAddr>().is_ok();
        // `10.0.0.*` means addresses, and not the name `10.0.0.example`.
        let may_be_meant = |pattern: &str| {
            is_address || !pattern.bytes().all(|byte| b"0123456789.:*".contains(&byte)) || pattern == "*"
        };
        self.baggage_to
            .iter()
            .map(|pattern| plain(pattern))
            .any(|pattern| may_be_meant(&pattern) && is_text_like(&pattern, &host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_compared_without_case_and_brackets() {
        let hosts = ["*.Internal", "127.0.0.1", "::1", "10.0.0.*"];
        let allowed = ConditionsConfig { baggage_to: hosts.map(str::to_owned).into(), ..ConditionsConfig::default() };
        let is_sent_to =
            ["stock.internal", "STOCK.internal", "[::1]", "127.0.0.1"].map(|host| allowed.is_sent_to(host));
        assert_eq!(is_sent_to, [true; 4]);
        assert!(allowed.is_sent_to("10.0.0.7"));
        assert!(!["internal.example", "127.0.0.10", "10.0.0.example", ""].iter().any(|host| allowed.is_sent_to(host)));
        assert!(!ConditionsConfig::default().is_sent_to("stock.internal"));
    }
}
