//! Where requests go: address, headers, and which authorities may vouch for the receiver.
//!
//! Secrets need not stand in the configuration: `${NAME}` in a header is the environment variable of that name.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use settings::MetricsConfig;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// A receiver of OpenTelemetry's protocol.
#[derive(Debug, Clone)]
pub(crate) struct Destination {
    /// Base address, without a slash at its end.
    pub(crate) url: String,
    /// Headers of each request, with their secrets.
    pub(crate) headers: Vec<(String, String)>,
    /// File with the certificates of the authorities that may vouch for the receiver; those of the system without it.
    ca_file: Option<String>,
}

impl Destination {
    /// The receiver that the configuration names.
    ///
    /// # Errors
    /// The environment variable that a header wants and that is not set, in a sentence.
    pub(crate) fn of(url: &str, config: &MetricsConfig) -> Result<Destination, String> {
        let variable = |name: &str| std::env::var(name).ok();
        let mut headers = Vec::new();
        for (name, value) in &config.headers {
            let value = filled(value, &variable).map_err(|missing| {
                format!("the header `{name}` in [metrics] needs the environment variable {missing}, which is not set")
            })?;
            headers.push((name.clone(), value));
        }
        Ok(Destination { url: url.to_owned(), headers, ca_file: config.ca_file.clone() })
    }

    /// A client for this receiver. Reads certificates if the receiver wants TLS, and nothing otherwise.
    ///
    /// # Errors
    /// Why there are no authorities, in a sentence.
    pub(super) fn client(&self, patience: Duration) -> Result<ureq::Agent, String> {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(patience))
            .http_status_as_error(false)
            .proxy(None)
            .user_agent(concat!("instr/", env!("CARGO_PKG_VERSION")));
        if !self.url.starts_with("https://") {
            return Ok(config.build().new_agent());
        }
        let authorities = match &self.ca_file {
            Some(file) => of_file(file.as_ref())?,
            None => of_system()?,
        };
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&authorities))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        Ok(config.tls_config(tls.build()).build().new_agent())
    }

    /// Why the receiver's certificate is not taken, if that is what an attempt failed at.
    pub(super) fn distrust(&self, error: &ureq::Error) -> Option<String> {
        let tls = match error {
            ureq::Error::Rustls(error) => error,
            // A handshake tells what went wrong as an error of reading.
            ureq::Error::Io(error) => error.get_ref()?.downcast_ref::<rustls::Error>()?,
            _ => return None,
        };
        let rustls::Error::InvalidCertificate(reason) = tls else { return None };
        let (trusted, help) = match &self.ca_file {
            Some(file) => (format!("by ca-file = \"{file}\""), "put the authority that signed it there"),
            None => ("on this system".to_owned(), "name the authority that signed it with `ca-file`"),
        };
        Some(match reason {
            rustls::CertificateError::UnknownIssuer => {
                format!("its certificate is signed by nobody who is trusted {trusted}; {help}")
            }
            reason => format!("its certificate is not valid: {reason}"),
        })
    }
}

/// The text with each `${NAME}` replaced; the name of a variable that is not set as the error.
fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((name, after)) = behind.split_once('}') else { break };
        filled.push_str(before);
        filled.push_str(variable(name).ok_or_else(|| name.to_owned())?.trim());
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn of_file(file: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let place = format!("ca-file = \"{}\" in [metrics]", file.display());
    let text = std::fs::read(file).map_err(|error| format!("{place}: {error}"))?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let found: Vec<_> = parse_pem(&text).filter_map(certificate).collect();
    if found.is_empty() {
        return Err(format!("{place} holds no certificate; it must be a PEM file (BEGIN CERTIFICATE)"));
    }
    Ok(found)
}

fn of_system() -> Result<Vec<Certificate<'static>>, String> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return Err("this system has no list of certificate authorities (Debian: package `ca-certificates`); \
                    name a file with `ca-file` in [metrics]"
            .to_owned());
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_come_from_the_environment_and_a_missing_one_is_named() {
        let variable = |name: &str| (name == "TOKEN").then(|| "s3cret\n".to_owned());
        assert_eq!(filled("Bearer ${TOKEN}", &variable).as_deref(), Ok("Bearer s3cret"));
        assert_eq!(filled("a${TOKEN}b${TOKEN}", &variable).as_deref(), Ok("as3cretbs3cret"));
        for plain in ["", "Bearer x", "$TOKEN", "100 ${", "{TOKEN}"] {
            assert_eq!(filled(plain, &variable).as_deref(), Ok(plain));
        }
        assert_eq!(filled("${OTHER}", &variable), Err("OTHER".to_owned()));
    }

    #[test]
    fn a_file_without_certificates_is_told_before_anything_is_sent() {
        let missing = of_file("/nowhere/ca.pem".as_ref()).unwrap_err();
        assert!(missing.contains("/nowhere/ca.pem") && missing.contains("No such file"), "{missing}");
        let other = of_file(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").as_ref()).unwrap_err();
        assert!(other.contains("holds no certificate"), "{other}");
    }
}
