//! The certificate of `queuekit serve`.

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
    let expired = "clients will refuse the certificate in cert.pem: it has expired on 2021-01-01";
    certify(&sandbox, &authority, Valid::Once);
    sandbox.start(&SERVE).says(expired);
    certify(&sandbox, &authority, Valid::Now);
    let mut serve = sandbox.start(&SERVE);
    serve.line();
    certify(&sandbox, &authority, Valid::Once);
    serve.signal("HUP");
    serve.says(expired);
}
