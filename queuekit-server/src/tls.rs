//! How this program trusts others.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};

/// Trusts whom the machine trusts, or SSL_CERT_FILE and SSL_CERT_DIR where they are set.
///
/// # Errors
/// If connections cannot be encrypted.
pub(crate) fn client_config() -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        tracing::warn!(
            "this machine has no authorities that certificates could lead to: nobody can be asked \
             by https; install ca-certificates, or set SSL_CERT_FILE"
        );
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
