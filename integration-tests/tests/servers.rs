//! Servers for tests come up, and go with the process that wanted them.

#![cfg(unix)]

use queuekit_integration_tests::servers::{self, OwnServer};

#[tokio::test]
async fn a_database_of_its_own() {
    let Some(server) = servers::postgres() else { return };
    let database = server.database().await;
    let other = server.database().await;
    assert_ne!(database.url(), other.url());
    database.drop().await;
    other.drop().await;
}

#[tokio::test]
async fn a_killed_server_comes_back() {
    let Some(mut server) = OwnServer::settings().set("fsync", "on").start().await else { return };
    let pid = server.pid();
    server.kill();
    server.restart().await;
    assert_ne!(server.pid(), pid);
}
