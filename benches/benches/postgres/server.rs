//! The Postgres server that is measured, at default durability, and databases in it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use queuekit_integration_tests::servers::OwnServer;
use queuekit_postgres::tokio_postgres::{self, Client, NoTls};
use tokio::sync::OnceCell;

/// The URL of a running server: of a database from which others are created and dropped.
const GIVEN: &str = "QUEUEKIT_BENCH_POSTGRES_URL";

/// Settings that differ from the defaults: they give the measurement room, so that it does not
/// measure evictions and checkpoints. Durability has its defaults, stated to be seen.
const SETTINGS: [(&str, &str); 5] = [
    ("fsync", "on"),
    ("synchronous_commit", "on"),
    ("shared_buffers", "1GB"),
    ("max_wal_size", "4GB"),
    ("max_connections", "200"),
];

/// Databases that are kept: the one that is measured, and the one before, which may still be open.
const KEPT: usize = 2;

/// The URL of the server, and the server if it is ours; none if there is none.
static SERVER: OnceCell<Option<(String, Option<OwnServer>)>> = OnceCell::const_new();

/// Whether there is a server to measure. If not, a line on stderr says so.
pub(crate) async fn is_there() -> bool {
    url().await.is_some()
}

/// The URL of an empty database. It is dropped after some more calls.
pub(crate) async fn database() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    static NAMES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let server = url().await.expect("there is a server");
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("queuekit_bench_{}_{number}", std::process::id());
    let old: Vec<String> = {
        let mut names = NAMES.lock().expect("nobody panics with it");
        names.push(name.clone());
        let old = names.len().saturating_sub(KEPT);
        names.drain(..old).collect()
    };
    let admin = connect(server).await;
    // Dropping also makes a checkpoint, so that the next measurement begins right after one.
    for old in old {
        let drop = format!("DROP DATABASE {old} WITH (FORCE)");
        admin.batch_execute(&drop).await.expect("a database is dropped");
    }
    admin.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database is created");
    let (server, query) = server.split_once('?').unwrap_or((server, ""));
    let host = server.rsplit_once('/').map_or(server, |(host, _)| host);
    let query = if query.is_empty() { String::new() } else { format!("?{query}") };
    format!("{host}/{name}{query}")
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("it connects");
    // It ends with the client, which gets its errors too.
    tokio::spawn(connection);
    client
}

async fn url() -> Option<&'static str> {
    let server = SERVER.get_or_init(async || match std::env::var(GIVEN) {
        Ok(url) => Some((url, None)),
        Err(_) => {
            let settings = OwnServer::settings();
            let with = SETTINGS.iter().fold(settings, |all, (name, value)| all.set(*name, value));
            let own = with.start().await?;
            Some((own.url(), Some(own)))
        }
    });
    server.await.as_ref().map(|(url, _)| url.as_str())
}
