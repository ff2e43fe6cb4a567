//! Secrets in a configuration: the values of headers, which are sent to a receiver and shown nowhere.

use std::ops::Range;
use std::sync::Arc;

use instrument_core::config::{Problems, TableReader};

/// A place of the text that holds a secret, and what is shown instead.
pub(crate) type Secret = (Range<usize>, String);

/// The headers in `[metrics]`, each with its name and without its value.
pub(crate) fn in_headers(metrics: &TableReader<'_, '_>) -> Vec<Secret> {
    // Mistakes are reported by those who read the headers.
    let mut unheard = Problems::new(Arc::default());
    let headers = metrics.strings("headers", &mut unheard);
    headers.into_iter().map(|header| (header.span(), shown(header.get_ref()))).collect()
}

fn shown(header: &str) -> String {
    let name = header.split_once('=').map_or("", |(name, _)| name.trim());
    format!("\"{name}=***\"")
}

/// The text with something else in these places.
pub(crate) fn without(secrets: &[Secret], text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest_begins = 0;
    for (place, replacement) in secrets {
        shown.push_str(text.get(rest_begins..place.start).unwrap_or_default());
        shown.push_str(replacement);
        rest_begins = place.end;
    }
    shown.push_str(text.get(rest_begins..).unwrap_or_default());
    shown
}

#[cfg(test)]
mod tests {
    use crate::parse;

    #[test]
    fn values_of_headers_are_not_shown() {
        let cases = [
            ("headers = 'Authorization=Bearer s3cret'", "headers = \"Authorization=***\""),
            (
                "headers = [\"a=s3cret=s3cret\", # why\n '''b = s3cret'''] # end",
                "headers = [\"a=***\", # why\n \"b=***\"] # end",
            ),
            ("headers = \"x\\u003Ds3cret=\\\"s3cret\"", "headers = \"x=***\""),
            ("headers = \"\"\"k=s3cret\n s3cret\"\"\"", "headers = \"k=***\""),
        ];
        for (written, shown) in cases {
            let around = |line: &str| {
                format!("[metrics]\notlp = 'http://h'\n{line}\nservice = 'größe'\n[[rule]]\nclass = 'a.B'\n")
            };
            let (config, _) = parse(&around(written), "c.toml").unwrap();
            assert_eq!(config.text_without_secrets(), around(shown));
            assert!(config.metrics.headers.iter().all(|(_, value)| value.contains("s3cret")), "what is sent stays");
        }
        let inline = "metrics = { otlp = 'http://h', headers = ['k=s3cret'] }\n[[rule]]\nclass = 'a.B'\n";
        let (config, _) = parse(inline, "c.toml").unwrap();
        assert!(!config.text_without_secrets().contains("s3cret"), "{}", config.text_without_secrets());
    }
}
