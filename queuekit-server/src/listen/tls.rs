//! Encrypted connections.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context, anyhow};
use queuekit::store::{Clock, SystemClock};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::error::Usage;
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

/// Warns if clients will refuse the certificate because of its dates.
///
/// # Errors
/// If the files cannot be read, have no certificate or no key, or do not match.
pub(super) fn acceptor(files: &TlsFiles) -> anyhow::Result<TlsAcceptor> {
    let (certificate, key_file) = (files.certificate.display(), files.key.display());
    let chain: Vec<_> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| unread(error, &files.certificate, "certificate"))?;
    let Some(own) = chain.first() else {
        return Err(unread(pem::Error::NoItemsFound, &files.certificate, "certificate"));
    };
    if let Some(told) = out_of_date(own, now()) {
        tracing::warn!("clients will refuse the certificate in {certificate}: {told}");
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| unread(error, &files.key, "private key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("cannot set the versions of TLS")?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => Usage::error(format!(
                "the private key in {key_file} is not that of the certificate in {certificate}"
            )),
            error => Usage::error(format!("cannot use the certificate in {certificate}: {error}")),
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn unread(error: pem::Error, file: &Path, what: &str) -> anyhow::Error {
    let file = file.display();
    match error {
        pem::Error::Io(error) => anyhow!("cannot read a {what} from {file}: {error}"),
        pem::Error::NoItemsFound => Usage::error(format!("{file} has no {what} as PEM")),
        error => Usage::error(format!("cannot read a {what} as PEM from {file}: {error}")),
    }
}

/// Why clients refuse this certificate at this time, if its dates are the reason.
fn out_of_date(certificate: &CertificateDer<'_>, now: UnixTime) -> Option<String> {
    let certificate = ParsedCertificate::try_from(certificate).ok()?;
    // The verifier checks the dates before the issuer, so no issuer has to be trusted here.
    let (nobody, provider) = (RootCertStore::empty(), rustls::crypto::ring::default_provider());
    let algorithms = provider.signature_verification_algorithms.all;
    let checked =
        verify_server_cert_signed_by_trust_anchor(&certificate, &nobody, &[], now, algorithms);
    let date = |time: UnixTime| {
        let seconds = i64::try_from(time.as_secs()).ok()?;
        jiff::Timestamp::from_second(seconds).ok()
    };
    let rustls::Error::InvalidCertificate(error) = checked.err()? else { return None };
    match error {
        CertificateError::ExpiredContext { not_after, .. } => {
            Some(format!("it expired on {}", date(not_after)?))
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            Some(format!("it is valid only from {} on", date(not_before)?))
        }
        _ => None,
    }
}

fn now() -> UnixTime {
    let millis = u64::try_from(SystemClock::default().now().as_millis()).unwrap_or_default();
    UnixTime::since_unix_epoch(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dates_of_a_certificate_are_looked_at() {
        let mut params = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let told = |seconds| {
            let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
            out_of_date(certificate.der(), now)
        };
        let (from, until) = (1_577_836_800, 1_609_459_200);
        let early = told(from - 1).unwrap();
        assert_eq!(early, "it is valid only from 2020-01-01T00:00:00Z on");
        assert_eq!((told(from), told(until)), (None, None));
        assert_eq!(told(until + 1).unwrap(), "it expired on 2021-01-01T00:00:00Z");
    }
}
