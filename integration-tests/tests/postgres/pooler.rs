//! The Postgres store behind a pgbouncer that gives each transaction another connection: the whole
//! contract holds with `prepared=off`.

use std::time::Duration;

use crate::common::pooler::{PoolerHarness, pooler};
use crate::common::store_fixture::{PATIENCE, Stage, client, create, database, url};
use queuekit_conformance::conformance;
use queuekit_conformance::kit::{build, draft, keyed};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::Wakeups;
use queuekit_core::{Backend, ErrorKind, QueueName};
use queuekit_postgres::PostgresStore;
use tokio::time::{sleep, timeout};

conformance!(pooled, PoolerHarness);

/// Statements that are prepared on one connection and run on another: the error says what to do.
#[tokio::test]
async fn prepared_statements_behind_a_pooler_are_refused_with_the_remedy() {
    let test = this_test!();
    let Some(database) = database(test).await else { return };
    let Some(pooler) = pooler().await else { return skip(test, "no pgbouncer") };
    // The schema is there, and the pooler has connections to choose from.
    let direct = PostgresStore::connect_url(&url(&database.url(), test, "")).await.unwrap();
    let behind = url(&pooler.url(database.name()), "pooled", "listen=off&op_timeout_ms=2000");
    let error = refused(&behind).await;
    assert!(error.contains("prepared=off"), "{error}");
    direct.close().await.unwrap();
    database.drop().await;
}

/// What the store says there: at its opening, or when two of its transactions have met.
async fn refused(url: &str) -> String {
    let store = match PostgresStore::connect_url(url).await {
        Err(error) => return error.to_string(),
        Ok(store) => store,
    };
    let call = |n: usize| {
        let (store, job) = (store.clone(), build(draft().queue(format!("q{}", n % 3))));
        tokio::spawn(async move { store.enqueue(&[job]).await })
    };
    for _ in 0..50 {
        for call in (0..8).map(call).collect::<Vec<_>>() {
            if let Err(error) = call.await.unwrap() {
                assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
                return error.to_string();
            }
        }
    }
    panic!("prepared statements work behind this pooler");
}

#[tokio::test]
async fn r13_6_a_store_behind_a_pooler_listens_at_its_second_url() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let Some(pooler) = pooler().await else { return skip(test, "no pgbouncer") };
    let settings = format!("prepared=off&listen={}", stage.database.url());
    let behind = url(&pooler.url(stage.database.name()), "pooled", &settings);
    let told = PostgresStore::connect_url(&behind).await.unwrap();
    let tells = PostgresStore::connect_url(&behind).await.unwrap();
    let wakeup = told.subscribe(&[QueueName::default()]).unwrap();
    for teller in [&stage.store, &tells] {
        for _ in 0..3 {
            // It may not listen yet, and who begins to is rung once for what came before.
            let tell = async {
                loop {
                    create(teller, &build(draft())).await;
                    sleep(Duration::from_millis(100)).await;
                }
            };
            let heard = timeout(PATIENCE, async {
                tokio::select! {
                    () = wakeup.rung() => {}
                    () = tell => {}
                }
            });
            heard.await.expect("the server should answer the query");
        }
    }
    told.close().await.unwrap();
    tells.close().await.unwrap();
    stage.end().await;
}

/// No connection of the pooler keeps anything of the store: neither settings nor statements.
#[tokio::test]
async fn nothing_of_a_transaction_stays_with_the_pooler() {
    let test = this_test!();
    let Some(database) = database(test).await else { return };
    let Some(pooler) = pooler().await else { return skip(test, "no pgbouncer") };
    let address = pooler.url(database.name());
    let settings = "prepared=off&settle=relaxed&statement_timeout_ms=4321&lock_timeout_ms=1234";
    let store = PostgresStore::connect_url(&url(&address, "pooled", settings)).await.unwrap();
    for job in [build(draft()), build(keyed("k"))] {
        create(&store, &job).await;
    }
    let leases = crate::common::store_fixture::lease(&store, 10).await;
    assert_eq!(leases.len(), 2);
    crate::common::store_fixture::complete(&store, leases).await;
    let app = client(&address).await;
    let left = include_str!("../../sql/postgres_left.sql");
    let left = app.query_typed(left, &[]).await.unwrap();
    let left: Vec<(String, String)> = left.iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(left, [], "settings and statements");
    store.close().await.unwrap();
    database.drop().await;
}
