//! The certificate of `queuekit serve`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::authority::{Authority, Valid};
use crate::sandbox::Sandbox;

const SERVE: [&str; 7] =
    ["serve", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];

/// Puts a certificate for `localhost` there.
fn certify(sandbox: &Sandbox, authority: &Authority, valid: Valid) {
    let (certificate, key) = authority.issue("localhost", valid);
    sandbox.write("cert.pem", &certificate);
    sandbox.write("key.pem", &key);
}

#[test]
fn a_file_without_a_certificate_or_its_key_is_named() {
    let sandbox = Sandbox::new();
    certify(&sandbox, &Authority::new("tests"), Valid::Now);
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
    let (certificate, key) = (read("cert.pem"), read("key.pem"));
    for wrong in ["", "garbage", &key] {
        sandbox.write("cert.pem", wrong);
        sandbox.run(&SERVE).failed(2, &["cert.pem has no certificate as PEM"]);
    }
    sandbox.write("cert.pem", &certificate);
    sandbox.write("key.pem", &certificate);
    sandbox.run(&SERVE).failed(2, &["key.pem has no private key as PEM"]);
    let (_, other) = Authority::new("others").issue("localhost", Valid::Now);
    sandbox.write("key.pem", &other);
    sandbox.run(&SERVE).failed(2, &["key.pem is not that of the certificate in cert.pem"]);
}

#[test]
fn s7_a_certificate_that_clients_refuse_is_told_at_the_start_and_at_a_reload() {
    let (sandbox, authority) = (Sandbox::new(), Authority::new("tests"));
    let expired = "clients will refuse the certificate in cert.pem: it expired on 2021-01-01";
    certify(&sandbox, &authority, Valid::Once);
    sandbox.start(&SERVE).says(expired);
    certify(&sandbox, &authority, Valid::Now);
    let mut serve = sandbox.start(&SERVE);
    serve.line();
    certify(&sandbox, &authority, Valid::Once);
    serve.signal("HUP");
    serve.says(expired);
}

#[test]
fn s7_browsers_are_told_to_stay_encrypted() {
    let (sandbox, authority) = (Sandbox::new(), Authority::new("tests"));
    certify(&sandbox, &authority, Valid::Now);
    let mut serve = sandbox.start(&SERVE);
    let line = serve.line();
    let address = line.strip_prefix("https://").unwrap().split(' ').next().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    for path in ["/healthz", "/ui", "/v1/nothing"] {
        let name = ServerName::try_from("localhost").unwrap();
        let tls = ClientConnection::new(Arc::new(config.clone()), name).unwrap();
        let mut stream = StreamOwned::new(tls, TcpStream::connect(address).unwrap());
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.contains("strict-transport-security: max-age=31536000"), "{answer}");
    }
}
