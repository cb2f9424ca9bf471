//! Connections to Redis that are encrypted, and those that are refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::authority::{Authority, Valid};
use crate::common::store_fixture::{complete, create, lease, promptly};
use queuekit_conformance::kit::{TTL, build, draft, ttl};
use queuekit_conformance::time_limit::within;
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{ExtendOutcome, Leases, Wakeups};
use queuekit_core::{Backend, BackendExt, ErrorKind, QueueName};
use queuekit_integration_tests::servers::{OwnRedis, RedisCluster};
use queuekit_redis::RedisStore;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

const NO_PROGRAM: &str = "there is no program of Redis";
/// A client that is refused for good gets the error long before that.
const PATIENT: &str = "op_timeout_ms=60000";

/// A server with a certificate, and a place for the certificates of authorities.
struct Encrypted {
    server: OwnRedis,
    directory: TempDir,
}

impl Encrypted {
    /// None where there is no program of Redis; a line on stderr says so.
    async fn start(test: &str, authority: &Authority, host: &str, valid: Valid) -> Option<Self> {
        let (certificate, key) = authority.issue(host, valid);
        let settings = OwnRedis::settings().encrypted(&certificate, &key, authority.pem());
        let Some(server) = settings.start().await else {
            skip(test, NO_PROGRAM);
            return None;
        };
        Some(Self { server, directory: tempfile::tempdir().unwrap() })
    }

    fn file(&self, name: &str, contents: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, contents).unwrap();
        path
    }

    /// The URL at which connections are encrypted, with this file of authorities.
    fn url(&self, host: &str, authorities: &Path) -> String {
        let port = self.server.tls_port().unwrap();
        format!("rediss://{host}:{port}/0?{PATIENT}&root_certificates={}", authorities.display())
    }
}

/// What is said to whom no time would help.
async fn refusal(url: &str) -> String {
    let opened = promptly("a refusal", RedisStore::connect_url(url)).await;
    let error = opened.expect_err("a connection that must be refused");
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    error.to_string()
}

/// The rule that was broken, and what to look at.
#[track_caller]
fn assert_says(refusal: &str, why: &str) {
    assert!(refusal.contains("no encrypted connection to Redis"), "{refusal}");
    assert!(refusal.contains(why), "{refusal}");
    assert!(refusal.contains("check root_certificates, the host"), "{refusal}");
}

#[tokio::test]
async fn a_server_of_the_right_authority_and_host_is_used_on_every_connection() {
    let test = this_test!();
    let authority = Authority::new("ours");
    let encrypted = Encrypted::start(test, &authority, "localhost", Valid::Now).await;
    let Some(encrypted) = encrypted else { return };
    // As it stands in a URL a name with a space and an @ has to be written.
    encrypted.file("the @uthority.pem", authority.pem());
    let file = encrypted.directory.path().join("the%20%40uthority.pem");
    let url = encrypted.url("localhost", &file);
    let (store, other) = (RedisStore::connect_url(&url).await, RedisStore::connect_url(&url).await);
    let (store, other) = (store.unwrap(), other.unwrap());
    let wakeup = store.subscribe(&[QueueName::default()]).unwrap();
    // The connection that listens rings when it is there.
    promptly("the connection of wake-ups", wakeup.rung()).await;
    create(&other, &build(draft())).await;
    promptly("the wake-up", wakeup.rung()).await;
    let leases = lease(&store, 10).await;
    let alive = ExtendOutcome::Extended { ttl: TTL, cancel_requested: false };
    assert_eq!(store.extend(&[leases[0].token.clone()], ttl(TTL)).await.unwrap(), [alive]);
    complete(&store, leases).await;
    store.close().await.unwrap();
    other.close().await.unwrap();
}

#[tokio::test]
async fn a_certificate_of_another_authority_or_host_is_refused_at_once() {
    let test = this_test!();
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let encrypted = Encrypted::start(test, &ours, "localhost", Valid::Now).await;
    let Some(encrypted) = encrypted else { return };
    let (right, wrong) =
        (encrypted.file("ours.pem", ours.pem()), encrypted.file("theirs.pem", theirs.pem()));
    assert_says(&refusal(&encrypted.url("localhost", &wrong)).await, "UnknownIssuer");
    let other_host = refusal(&encrypted.url("127.0.0.1", &right)).await;
    assert_says(&other_host, "certificate not valid for name");
    // The system's authorities know nothing of ours either.
    let port = encrypted.server.tls_port().unwrap();
    let url = format!("rediss://localhost:{port}/0?{PATIENT}");
    assert_says(&refusal(&url).await, "UnknownIssuer");
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_refused_at_once() {
    let test = this_test!();
    let authority = Authority::new("ours");
    let encrypted = Encrypted::start(test, &authority, "localhost", Valid::Once).await;
    let Some(encrypted) = encrypted else { return };
    let file = encrypted.file("authority.pem", authority.pem());
    assert_says(&refusal(&encrypted.url("localhost", &file)).await, "expired");
}

#[tokio::test]
async fn a_file_that_holds_no_certificates_is_named() {
    let test = this_test!();
    let authority = Authority::new("ours");
    let encrypted = Encrypted::start(test, &authority, "localhost", Valid::Now).await;
    let Some(encrypted) = encrypted else { return };
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (name, contents) in [("empty", ""), ("text", "none\n"), ("broken", broken)] {
        let file = encrypted.file(name, contents);
        let refused = refusal(&encrypted.url("localhost", &file)).await;
        assert!(refused.contains(&file.display().to_string()), "{refused}");
        assert!(refused.contains("in root_certificates"), "{refused}");
    }
    let missing = encrypted.directory.path().join("missing.pem");
    let refused = refusal(&encrypted.url("localhost", &missing)).await;
    assert!(refused.contains("missing.pem cannot be read"), "{refused}");
}

#[tokio::test]
async fn who_does_not_encrypt_where_the_server_does_is_told_within_op_timeout() {
    let test = this_test!();
    let authority = Authority::new("ours");
    let encrypted = Encrypted::start(test, &authority, "localhost", Valid::Now).await;
    let Some(encrypted) = encrypted else { return };
    let file = encrypted.file("authority.pem", authority.pem());
    let (tls, plain) = (encrypted.server.tls_port().unwrap(), encrypted.server.port());
    // To what is encrypted the server says nothing: it waits for the end of a line.
    let op_timeout = Duration::from_secs(4);
    let settings = format!("op_timeout_ms={}", op_timeout.as_millis());
    for url in [
        format!("redis://localhost:{tls}/0?{settings}"),
        format!("rediss://localhost:{plain}/0?{settings}&root_certificates={}", file.display()),
    ] {
        let limit = op_timeout + Duration::from_secs(1);
        let opened = within("connect", limit, || RedisStore::connect_url(&url)).await;
        let error = opened.expect_err("the other port");
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("encrypts (rediss:) or not (redis:)"), "{error}");
    }
}

/// As a Redis server does if chance has put the end of a line into what it takes for a command.
#[tokio::test]
async fn what_answers_without_encryption_is_refused_at_once() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let answering = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"-ERR unknown command\r\n").await.unwrap();
        stream
    });
    let refused = refusal(&format!("rediss://localhost:{port}/0?{PATIENT}")).await;
    assert!(refused.contains("no encrypted connection to Redis"), "{refused}");
    assert!(refused.contains("rediss: is for the server's tls-port"), "{refused}");
    drop(answering.await.unwrap());
}

#[tokio::test]
async fn nodes_of_a_cluster_are_encrypted_and_checked_like_a_server() {
    let test = this_test!();
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (certificate, key) = ours.issue("127.0.0.1", Valid::Now);
    let settings = OwnRedis::settings().encrypted(&certificate, &key, ours.pem());
    let cluster = RedisCluster::start(settings.set("tls-cluster", "yes"), 3, 0).await;
    let Some(cluster) = cluster else { return skip(test, NO_PROGRAM) };
    let directory = tempfile::tempdir().unwrap();
    let url = |authority: &Authority| {
        let file = directory.path().join("authority.pem");
        fs::write(&file, authority.pem()).unwrap();
        let node = cluster.nodes().next().unwrap().tls_port().unwrap();
        let file = file.display();
        format!("rediss-cluster://127.0.0.1:{node}?{PATIENT}&root_certificates={file}")
    };
    let store = RedisStore::connect_url(&url(&ours)).await.unwrap();
    for n in 0..9 {
        create(&store, &build(draft().queue(format!("queue-{n}")))).await;
    }
    assert_eq!(store.all_queues().await.unwrap().len(), 9);
    store.close().await.unwrap();
    assert_says(&refusal(&url(&theirs)).await, "UnknownIssuer");
}
