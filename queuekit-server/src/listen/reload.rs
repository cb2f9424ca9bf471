//! Reloads settings while the server runs.

use std::sync::Arc;

use anyhow::bail;

use super::tls::{self, Tls};
use crate::web::key_changes_log::log_changes;
use crate::web::limits::LiveLimits;
use crate::web::{HttpLimits, HttpOptions};

/// The parts of a running server that can change: its keys, its certificate and its limits.
pub(crate) struct Reloader {
    /// The options at the start; the keys are the present ones.
    pub(super) options: HttpOptions,
    pub(super) tls: Option<Arc<Tls>>,
    pub(super) limits: Arc<LiveLimits>,
}

impl Reloader {
    /// Replaces the keys, the certificate and the limits, or none of them. No connection ends.
    /// Other settings that differ are named in the log: they need a restart.
    ///
    /// # Errors
    /// If the certificate cannot be read, or if the server would become open or unencrypted.
    pub(crate) fn reload(&self, options: &HttpOptions) -> anyhow::Result<()> {
        if options.keys.is_empty() && !self.options.keys.is_empty() {
            bail!("no key is left, so anybody could do everything: to allow that, restart");
        }
        // Read before anything changes: a certificate that cannot be read leaves the server as it
        // was.
        let acceptor = match (&self.tls, &options.tls) {
            (Some(_), Some(files)) => Some(tls::acceptor(files)?),
            (None, None) => None,
            _ => bail!("turning TLS on or off needs a restart"),
        };
        if let (Some(tls), Some(acceptor)) = (&self.tls, acceptor) {
            tls.replace(acceptor);
        }
        log_changes(&self.options.keys.all(), &options.keys.all());
        self.options.keys.replace(&options.keys);
        self.limits.replace(&within_files(options.limits));
        let fixed = fixed(&self.options, options);
        if !fixed.is_empty() {
            let names = fixed.join(", ");
            tracing::warn!("these settings have changed, and need a restart: {names}");
        }
        Ok(())
    }
}

/// These limits, with no more connections than this process can open.
pub(super) fn within_files(limits: HttpLimits) -> HttpLimits {
    #[cfg(unix)]
    let limits = HttpLimits { connections: super::fd_limit::raise(limits.connections), ..limits };
    limits
}

/// Names of settings that have changed, and that need a restart.
fn fixed(old: &HttpOptions, new: &HttpOptions) -> Vec<&'static str> {
    let each = [
        ("listen", old.listen != new.listen),
        ("insecure_no_auth", old.insecure_no_auth != new.insecure_no_auth),
        ("hosts", old.hosts != new.hosts),
        ("proxies", old.proxies != new.proxies),
        ("access_log", old.access_log != new.access_log),
        ("dashboard", old.dashboard != new.dashboard),
    ];
    each.into_iter().filter(|(_, is_other)| *is_other).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::{CertificateDer, ServerName};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::config::{HttpFlags, Sources};
    use crate::web::TlsFiles;

    /// Puts a new certificate there.
    fn make(files: &TlsFiles) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(&files.certificate, made.cert.pem()).unwrap();
        std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
        made.cert.der().clone()
    }

    type Ends = (
        tokio_rustls::client::TlsStream<DuplexStream>,
        tokio_rustls::server::TlsStream<DuplexStream>,
    );

    /// Both ends of a connection of a client that trusts this certificate alone.
    async fn connect(tls: &Tls, trusted: &CertificateDer<'static>) -> std::io::Result<Ends> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(trusted.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        let (near, far) = tokio::io::duplex(64 * 1024);
        let name = ServerName::try_from("localhost").unwrap();
        tokio::try_join!(connector.connect(name, near), tls.acceptor().accept(far))
    }

    #[tokio::test]
    async fn s7_a_certificate_is_read_again_and_no_connection_ends() {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("c.pem"), directory.path().join("k.pem"));
        let files = TlsFiles { certificate, key };
        let mut options = HttpFlags::default().resolve(&Sources::default()).unwrap();
        let first = make(&files);
        let tls = Arc::new(Tls::open(&files).unwrap());
        options.tls = Some(files.clone());
        let limits = LiveLimits::new(&options.limits);
        let reloader = Reloader { options: options.clone(), tls: Some(Arc::clone(&tls)), limits };
        let (mut client, mut server) = connect(&tls, &first).await.unwrap();
        let second = make(&files);
        connect(&tls, &first).await.unwrap();
        reloader.reload(&options).unwrap();
        connect(&tls, &second).await.unwrap();
        connect(&tls, &first).await.unwrap_err();
        std::fs::write(&files.key, "").unwrap();
        reloader.reload(&options).unwrap_err();
        connect(&tls, &second).await.unwrap();
        options.tls = None;
        reloader.reload(&options).unwrap_err();
        client.write_all(b"still there").await.unwrap();
        client.flush().await.unwrap();
        let mut heard = [0; 11];
        server.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"still there");
    }
}
