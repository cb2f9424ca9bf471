//! Encrypted connections. The server's certificate is always checked.

use std::io;
use std::path::Path;
use std::sync::Arc;

use queuekit_core::{Error, ErrorKind, Result};
use redis::{Client, ConnectionAddr, ConnectionInfo, RedisError, TlsCertificates};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Refuses the driver's option to skip the check of the certificate.
pub(crate) fn check(server: &ConnectionAddr) -> Result<()> {
    if matches!(server, ConnectionAddr::TcpTls { insecure: true, .. }) {
        let limit = "without #insecure: certificates are always checked; name their authority in \
                     root_certificates";
        return Err(Error::invalid("url", limit, "#insecure"));
    }
    Ok(())
}

/// The driver takes the certificates of this file with the address.
pub(crate) fn with_certificates(
    server: ConnectionInfo,
    root_certificates: Option<&Path>,
) -> Result<ConnectionInfo> {
    if !matches!(server.addr(), ConnectionAddr::TcpTls { .. }) {
        return Ok(server);
    }
    // The application may have chosen another one before.
    drop(rustls::crypto::ring::default_provider().install_default());
    let Some(file) = root_certificates else {
        return Ok(server);
    };
    let certificates = TlsCertificates { client_tls: None, root_cert: Some(read(file)?) };
    let client = Client::build_with_tls(server, certificates);
    let client = client.map_err(|error| unusable(file, "is not of use").caused_by(error))?;
    Ok(client.get_connection_info().clone())
}

fn read(file: &Path) -> Result<Vec<u8>> {
    let pem =
        std::fs::read(file).map_err(|error| unusable(file, "cannot be read").caused_by(error))?;
    match CertificateDer::pem_slice_iter(&pem).next() {
        Some(Ok(_)) => Ok(pem),
        _ => Err(unusable(file, "holds no certificates")),
    }
}

fn unusable(file: &Path, why: &str) -> Error {
    let message = format!(
        "{} {why}; name a PEM file with the certificates of authorities in root_certificates",
        file.display()
    );
    Error::new(ErrorKind::Unavailable, message)
}

/// The error of a failed encryption, if that is why a connect failed: trying again does not help.
pub(crate) fn refusal(error: &RedisError) -> Option<Error> {
    let cause = std::error::Error::source(error)?;
    let cause: &Arc<dyn std::error::Error + Send + Sync> = cause.downcast_ref()?;
    let io: Option<&io::Error> = cause.downcast_ref();
    let (why, remedy) = match io {
        Some(io) => match io.get_ref()?.downcast_ref()? {
            why @ rustls::Error::InvalidMessage(_) => (
                why.to_string(),
                "check the port: rediss: is for the server's tls-port, redis: for its other one",
            ),
            why => (
                why.to_string(),
                "check root_certificates, the host in the URL, and the server's certificate",
            ),
        },
        // It failed before the handshake: the driver reads the system's certificates each time.
        None => (cause.to_string(), "check the certificates of this system, and the host"),
    };
    let message = format!("no encrypted connection to Redis: {why}; {remedy}");
    Some(Error::new(ErrorKind::Unavailable, message).caused_by(error.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_on_this_machine_is_not_blamed_on_the_network() {
        let here = RedisError::from(rustls::Error::General("no such certificate".to_owned()));
        let refusal = refusal(&here).expect("no reason to try again").to_string();
        assert!(refusal.contains("no such certificate; check the certificates of this system"));
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        for kind in [io::ErrorKind::ConnectionReset, io::ErrorKind::TimedOut] {
            assert!(refusal(&RedisError::from(io::Error::from(kind))).is_none(), "{kind}");
        }
    }
}
