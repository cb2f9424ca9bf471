//! Encrypted connections.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::Context;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::web::TlsFiles;

/// Accepts connections with the latest certificate; open connections keep theirs.
pub(super) struct Tls(RwLock<TlsAcceptor>);

impl Tls {
    /// # Errors
    /// If the files cannot be read, or certificate and key do not match.
    pub(super) fn open(files: &TlsFiles) -> anyhow::Result<Self> {
        Ok(Self(RwLock::new(acceptor(files)?)))
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Uses another certificate from now on.
    pub(super) fn replace(&self, acceptor: TlsAcceptor) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
    }
}

/// # Errors
/// If the files cannot be read, or certificate and key do not match.
pub(super) fn acceptor(files: &TlsFiles) -> anyhow::Result<TlsAcceptor> {
    let unread = |path: &Path, what| format!("cannot read {what} as PEM from {}", path.display());
    let chain: Vec<_> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect)
        .with_context(|| unread(&files.certificate, "a certificate"))?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .with_context(|| unread(&files.key, "a private key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("cannot set the versions of TLS")?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate and the private key do not match")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
