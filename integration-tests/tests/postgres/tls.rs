//! Connections to Postgres that are encrypted, and those that are refused.

use std::fs;
use std::path::PathBuf;

use crate::common::authority::{Authority, Valid};
use crate::common::store_fixture::{create, lease};
use queuekit_conformance::kit::{build, draft};
use queuekit_conformance::{skip, this_test};
use queuekit_core::ErrorKind;
use queuekit_integration_tests::servers::OwnServer;
use queuekit_postgres::{Listen, PostgresConfig, PostgresStore, tokio_postgres};
use tempfile::TempDir;

const SECRET: &str = "s3cret-pass";

/// A server with a certificate, which only takes encrypted connections, and with a role that has
/// a password.
struct Encrypted {
    server: OwnServer,
    directory: TempDir,
}

impl Encrypted {
    /// None where there are no programs of Postgres; a line on stderr says so.
    async fn start(test: &str, authority: &Authority, host: &str, valid: Valid) -> Option<Self> {
        let (certificate, key) = authority.issue(host, valid);
        let settings = OwnServer::settings()
            .set("ssl", "on")
            .set("fsync", "on")
            .file("server.crt", certificate)
            .file("server.key", key)
            .host_rule("hostnossl all all all reject")
            .host_rule("hostssl all guarded all scram-sha-256");
        let Some(server) = settings.start().await else {
            skip(test, "there are no programs of Postgres");
            return None;
        };
        Some(Self { server, directory: tempfile::tempdir().unwrap() })
    }

    /// The file with an authority's certificate.
    fn trust(&self, authority: &Authority) -> PathBuf {
        let path = self.directory.path().join("authority.pem");
        fs::write(&path, authority.pem()).unwrap();
        path
    }

    fn url(&self, host: &str, settings: &str) -> String {
        format!("postgres://postgres@{host}:{}/postgres?{settings}", self.server.port())
    }

    async fn refusal(&self, host: &str, settings: &str) -> String {
        let opened = PostgresStore::connect_url(&self.url(host, settings)).await;
        let error = opened.expect_err("a connection that must be refused");
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        format!("{error} {error:?}")
    }

    /// Work gets done, all of it encrypted.
    async fn assert_works(&self, host: &str, settings: &str) {
        let store = PostgresStore::connect_url(&self.url(host, settings)).await.unwrap();
        create(&store, &build(draft())).await;
        assert_eq!(lease(&store, 10).await.len(), 1);
        queuekit_core::Backend::close(&store).await.unwrap();
    }
}

fn verified(file: &std::path::Path) -> String {
    format!("sslmode=verify-full&op_timeout_ms=2000&sslrootcert={}", file.display())
}

#[tokio::test]
async fn verify_full_accepts_the_right_authority_and_host_and_no_others() {
    let test = this_test!();
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let Some(encrypted) = Encrypted::start(test, &ours, "localhost", Valid::Now).await else {
        return;
    };
    let settings = verified(&encrypted.trust(&ours));
    encrypted.assert_works("localhost", &settings).await;
    let other_host = encrypted.refusal("127.0.0.1", &settings).await;
    assert!(other_host.contains("certificate not valid for name"), "{other_host}");
    let unknown = encrypted.refusal("localhost", &verified(&encrypted.trust(&theirs))).await;
    assert!(unknown.contains("UnknownIssuer"), "{unknown}");
    let system = "sslmode=verify-full&op_timeout_ms=2000";
    let system = encrypted.refusal("localhost", system).await;
    assert!(system.contains("UnknownIssuer") || system.contains("sslrootcert"), "{system}");
    let missing = verified(&encrypted.directory.path().join("missing.pem"));
    let missing = encrypted.refusal("localhost", &missing).await;
    assert!(missing.contains("missing.pem"), "{missing}");
}

#[tokio::test]
async fn verify_full_refuses_a_certificate_that_has_expired() {
    let test = this_test!();
    let authority = Authority::new("ours");
    let Some(encrypted) = Encrypted::start(test, &authority, "localhost", Valid::Once).await else {
        return;
    };
    let settings = verified(&encrypted.trust(&authority));
    let expired = encrypted.refusal("localhost", &settings).await;
    assert!(expired.contains("expired"), "{expired}");
    // It is the certificate that is refused, and nothing else.
    encrypted.assert_works("localhost", "sslmode=require").await;
}

#[tokio::test]
async fn require_encrypts_without_asking_who_it_is_and_disable_does_not_encrypt() {
    let test = this_test!();
    let authority = Authority::new("ours");
    let Some(encrypted) = Encrypted::start(test, &authority, "another", Valid::Now).await else {
        return;
    };
    // The server takes no other connections.
    for settings in ["sslmode=require", "sslmode=prefer", ""] {
        encrypted.assert_works("127.0.0.1", settings).await;
    }
    let plain = encrypted.refusal("127.0.0.1", "sslmode=disable&op_timeout_ms=2000").await;
    assert!(plain.contains("28000") && plain.contains("check user, password"), "{plain}");
    assert!(plain.contains("no encryption"), "{plain}");
}

/// A server that does not encrypt is no server to those who want it to.
#[tokio::test]
async fn require_refuses_a_server_that_does_not_encrypt() {
    let test = this_test!();
    let Some(database) = crate::common::store_fixture::database(test).await else { return };
    let url = crate::common::store_fixture::url(
        &database.url(),
        "tls",
        "sslmode=require&op_timeout_ms=1000",
    );
    let error = PostgresStore::connect_url(&url).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().to_lowercase().contains("tls"), "{error}");
    database.drop().await;
}

#[tokio::test]
async fn no_password_is_in_what_is_printed() {
    let test = this_test!();
    let authority = Authority::new("ours");
    let Some(encrypted) = Encrypted::start(test, &authority, "localhost", Valid::Now).await else {
        return;
    };
    let port = encrypted.server.port();
    let with =
        |role: &str, rest: &str| format!("postgres://{role}:{SECRET}@localhost:{port}{rest}");
    let url = with("postgres", "/postgres?sslmode=require");
    let config = PostgresConfig::from_url(&url).unwrap();
    let listens: tokio_postgres::Config = url.split('?').next().unwrap().parse().unwrap();
    let listens = config.clone().listen(Listen::At(Box::new(listens)));
    let store = PostgresStore::connect(config.clone()).await.unwrap();
    let mut printed = vec![format!("{config:?} {listens:?} {store:?}")];
    // The role is not there, the database is not, the host is not, the URL is none.
    let refused = [
        with("guarded", "/postgres?sslmode=require"),
        with("postgres", "/missing?sslmode=require"),
        with("postgres", "/postgres?sslmode=sometimes"),
        with("postgres", "/postgres?sslmode=disable"),
        format!("postgres://postgres:{SECRET}@missing.invalid/postgres?op_timeout_ms=100"),
        format!("postgres://postgres:{SECRET}@localhost:port/postgres"),
        format!("mysql://postgres:{SECRET}@localhost/postgres"),
        format!("postgres://localhost/postgres?listen=postgres://u:{SECRET}@localhost:port/x"),
    ];
    for url in refused {
        let error = PostgresStore::connect_url(&url).await.unwrap_err();
        printed.push(format!("{error} {error:?} {:?}", std::error::Error::source(&error)));
    }
    for text in &printed {
        assert!(!text.contains(SECRET), "{text}");
    }
    queuekit_core::Backend::close(&store).await.unwrap();
}
