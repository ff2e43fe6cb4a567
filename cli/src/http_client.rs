//! The client of requests to other machines: with TLS if the address wants it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::failure::Failure;

/// A client for this address. With `https` the authorities of `ca_file` may vouch for the server, or those that the system trusts.
///
/// # Errors
/// If `https` is wanted and there are no authorities.
pub(crate) fn client_for(url: &str, ca_file: Option<&Path>, patience: Duration) -> Result<ureq::Agent> {
    let config = ureq::Agent::config_builder().timeout_global(Some(patience)).http_status_as_error(false).proxy(None);
    if !url.starts_with("https://") {
        return Ok(config.build().new_agent());
    }
    let authorities = match ca_file {
        Some(file) => of_file(file)?,
        None => of_system(),
    };
    if authorities.is_empty() {
        bail!(Failure::new(
            format!("no certificate authority is known that could vouch for {url}"),
            "name a PEM file with --ca-file"
        ));
    }
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(&authorities))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
    Ok(config.tls_config(tls.build()).build().new_agent())
}

fn of_file(file: &Path) -> Result<Vec<Certificate<'static>>> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    Ok(parse_pem(&text).filter_map(certificate).collect())
}

fn of_system() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs();
    found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect()
}
