//! The Redis servers that are measured.

use std::sync::Mutex;

use queuekit_integration_tests::servers::OwnRedis;

/// Servers that are kept: the one that is measured, and the one before, which may still be open.
const KEPT: usize = 2;

static SERVERS: Mutex<Vec<OwnRedis>> = Mutex::new(Vec::new());

/// Whether a server can be started. If not, a line on stderr says so.
pub(crate) async fn is_there() -> bool {
    start().await.is_some()
}

/// The URL of an empty server. It is stopped after some more calls.
pub(crate) async fn empty() -> String {
    start().await.expect("there was one before")
}

async fn start() -> Option<String> {
    let server = OwnRedis::settings().start().await?;
    let url = server.url();
    let mut servers = SERVERS.lock().expect("nobody panics with it");
    servers.push(server);
    let old = servers.len().saturating_sub(KEPT);
    servers.drain(..old);
    Some(url)
}
