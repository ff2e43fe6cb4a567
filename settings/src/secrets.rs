//! Secrets in a configuration: the values of headers and the credentials in a URL, which are sent to a receiver and shown nowhere.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use instrument_core::config::{Problems, TableReader};

/// A place of the text that holds a secret, and what is shown instead.
pub(crate) type Secret = (Range<usize>, String);

/// Returns the headers in `[metrics]`, each with its name and without its value, and the URL of the receiver if it has credentials.
pub(crate) fn in_metrics(metrics: &TableReader<'_, '_>) -> Vec<Secret> {
    // Mistakes are reported by those who read the headers and the URL.
    let mut unheard = Problems::new(Arc::default());
    let headers = metrics.strings("headers", "", &mut unheard);
    let headers = headers.into_iter().flatten().map(|header| (header.span(), shown(header.get_ref())));
    let url = metrics.string("otlp", "", &mut unheard).and_then(|url| match without_credentials(url.get_ref()) {
        Cow::Owned(shown) => Some((url.span(), in_quotes(&shown))),
        Cow::Borrowed(_) => None,
    });
    let mut secrets: Vec<Secret> = headers.chain(url).collect();
    secrets.sort_by_key(|(place, _)| place.start);
    secrets
}

/// Returns a URL with `***` in place of the credentials before its host, `user:password@`.
pub fn without_credentials(url: &str) -> Cow<'_, str> {
    let authority = url.find("://").map_or(0, |scheme| scheme + 3);
    let (scheme, rest) = url.split_at(authority);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.get(..end).and_then(|authority| authority.rfind('@')) {
        Some(at) => Cow::Owned(format!("{scheme}***{}", rest.get(at..).unwrap_or_default())),
        None => Cow::Borrowed(url),
    }
}

/// Returns a basic string of TOML.
fn in_quotes(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
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
    use super::*;
    use crate::parse;

    #[test]
    fn credentials_in_the_url_of_a_receiver_are_not_shown() {
        let with =
            "[metrics]\nheaders = 'k=s3cret'\notlp = 'https://me:s3cret@otlp.acme:4318/x'\n[[rule]]\nclass = 'a.B'\n";
        let (config, _) = parse(with, "c.toml").unwrap();
        let shown =
            "[metrics]\nheaders = \"k=***\"\notlp = \"https://***@otlp.acme:4318/x\"\n[[rule]]\nclass = 'a.B'\n";
        assert_eq!(config.text_without_secrets(), shown);
        assert_eq!(config.metrics.otlp.as_deref(), Some("https://me:s3cret@otlp.acme:4318/x"), "what is sent stays");
        for (url, shown) in [
            ("http://token@h", "http://***@h"),
            ("http://a:b@c@h:1?x=y@z", "http://***@h:1?x=y@z"),
            ("http://h/a@b", "http://h/a@b"),
            ("http://h#a@b", "http://h#a@b"),
            ("me:s3cret@h", "***@h"),
        ] {
            assert_eq!(without_credentials(url), shown);
        }
    }

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
