//! Encrypted connections.

use std::sync::Arc;

use queuekit_core::{Error, ErrorKind, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::{PostgresConfig, Tls};

/// The driver's connector for the encryption that this configuration asks for.
pub(crate) fn connector(config: &PostgresConfig) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("the TLS library has no usable protocol").caused_by(error))?;
    let client = match config.tls {
        Tls::VerifyFull => {
            builder.with_root_certificates(authorities(config)?).with_no_client_auth()
        }
        Tls::Disable | Tls::Prefer | Tls::Require => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unchecked(provider)))
            .with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(client))
}

/// The mode in the driver's terms; the connector decides which certificates are valid.
pub(crate) fn mode(tls: Tls) -> SslMode {
    match tls {
        Tls::Disable => SslMode::Disable,
        Tls::Prefer => SslMode::Prefer,
        Tls::Require | Tls::VerifyFull => SslMode::Require,
    }
}

fn authorities(config: &PostgresConfig) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(file) = &config.root_certificates else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            let message = "the system has no CA certificates; install them, or name a file with \
                           sslrootcert";
            return Err(unusable(message));
        }
        return Ok(roots);
    };
    let unreadable = |error: rustls::pki_types::pem::Error| {
        let message = "the file of sslrootcert holds no readable PEM certificates";
        unusable(message).on(file.display()).caused_by(error)
    };
    for certificate in CertificateDer::pem_file_iter(file).map_err(unreadable)? {
        let added = roots.add(certificate.map_err(unreadable)?);
        added.map_err(|error| {
            unusable("a certificate of sslrootcert cannot be used")
                .on(file.display())
                .caused_by(error)
        })?;
    }
    if roots.is_empty() {
        return Err(unusable("the file of sslrootcert is empty").on(file.display()));
    }
    Ok(roots)
}

fn unusable(message: &str) -> Error {
    Error::new(ErrorKind::Unavailable, message)
}

/// Accepts any certificate, as libpq does below `verify-ca`: this protects against eavesdroppers
/// only, not against a false server.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
