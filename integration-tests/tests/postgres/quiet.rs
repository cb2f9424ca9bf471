//! An idle worker that sends the server no statement (contract R13.12).

use crate::common::quiet::{is_rung, rests, watched_for, worker};
use crate::common::store_fixture::client;
use queuekit_conformance::{skip, this_test};
use queuekit_core::Client;
use queuekit_integration_tests::servers::OwnServer;
use queuekit_postgres::{PostgresStore, tokio_postgres};

/// A server that counts statements; none where there are no programs of Postgres.
async fn server(test: &str) -> Option<OwnServer> {
    let settings = OwnServer::settings()
        .set("shared_preload_libraries", "pg_stat_statements")
        .set("pg_stat_statements.track", "all")
        .set("fsync", "on");
    let server = settings.start().await;
    if server.is_none() {
        skip(test, "there are no programs of Postgres");
    }
    server
}

/// An empty database of its own.
async fn database(server: &OwnServer, admin: &tokio_postgres::Client, name: &str) -> String {
    let setup = include_str!("../../sql/postgres_quiet_setup.sql");
    for statement in setup.replace("the_database", name).split(';') {
        // The extension is there after the first time.
        let _ = admin.batch_execute(statement).await;
    }
    format!("postgres://postgres@127.0.0.1:{}/{name}", server.port())
}

async fn statements(admin: &tokio_postgres::Client, database: &str) -> i64 {
    let count = include_str!("../../sql/postgres_quiet_count.sql");
    admin.query_one(count, &[&database]).await.expect("counts").get("statements")
}

/// R13.12, with the parts that no layer in front of the store sees: its connection for
/// notifications.
/// Guard: no check of that connection while a worker rests; what arrives is heard all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r13_12_an_idle_worker_sends_postgres_no_statement() {
    let Some(server) = server(this_test!()).await else { return };
    let admin = client(&server.url()).await;
    let mut sent = Vec::new();
    for (name, is_quiet) in [("quiet", true), ("awake", false)] {
        let url = database(&server, &admin, name).await;
        let store = PostgresStore::connect_url(&url).await.expect("a store");
        sent.push((name, worker(Client::new(store.clone()), is_quiet).await, store, url));
    }
    rests(&sent[0].1).await;
    let before = [statements(&admin, "quiet").await, statements(&admin, "awake").await];
    tokio::time::sleep(watched_for()).await;
    let after = [statements(&admin, "quiet").await, statements(&admin, "awake").await];
    let [quiet, awake] = [after[0] - before[0], after[1] - before[1]];
    eprintln!("in {:?}: {quiet} statements if quiet, {awake} if not", watched_for());
    assert_eq!(quiet, 0);
    assert!(awake > 10, "they are counted");
    let elsewhere = PostgresStore::connect_url(&sent[0].3).await.expect("a store");
    is_rung(&sent[0].1, &Client::new(elsewhere)).await;
    for (_, worker, ..) in sent {
        worker.stop().await;
    }
}

/// R13.12: a worker that cannot be woken polls. Behind a pooler without `listen`, the store
/// receives no notifications.
/// Guard: a rest asks whether notifications are heard.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r13_12_a_worker_that_is_not_notified_polls() {
    let Some(server) = server(this_test!()).await else { return };
    let admin = client(&server.url()).await;
    let url = database(&server, &admin, "deaf").await;
    let store = PostgresStore::connect_url(&format!("{url}?listen=off")).await.expect("a store");
    let worker = worker(Client::new(store), true).await;
    let before = statements(&admin, "deaf").await;
    while statements(&admin, "deaf").await < before + 20 {
        assert!(!worker.probe().health().resting);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    worker.stop().await;
}
