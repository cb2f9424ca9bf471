//! Connections that a test accepts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::authority::{Authority, Valid};

/// A connection, encrypted or not.
pub(crate) trait Duplex: Read + Write + Send {}

impl<S: Read + Write + Send> Duplex for S {}

pub(crate) type Wire = BufReader<Box<dyn Duplex>>;

/// Calls this for each connection to this address, in a thread of its own; port 0 is any.
pub(crate) fn accept(
    address: &str,
    each: impl Fn(TcpStream) + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap();
    let each = Arc::new(each);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let each = Arc::clone(&each);
            thread::spawn(move || each(stream));
        }
    });
    address
}

pub(crate) fn plain(stream: TcpStream) -> Wire {
    BufReader::new(Box::new(stream))
}

pub(crate) fn encrypted(stream: TcpStream, config: &Arc<ServerConfig>) -> Wire {
    let tls = ServerConnection::new(Arc::clone(config)).unwrap();
    BufReader::new(Box::new(StreamOwned::new(tls, stream)))
}

/// A line without its end; none if the other side has gone.
pub(crate) fn line(wire: &mut Wire) -> Option<String> {
    let mut line = String::new();
    let read = wire.read_line(&mut line).unwrap_or(0);
    (read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
}

/// For `localhost`, from this authority.
pub(crate) fn certified(authority: &Authority) -> Arc<ServerConfig> {
    let (certificate, key) = authority.issue("localhost", Valid::Now);
    let chain = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    Arc::new(config)
}
