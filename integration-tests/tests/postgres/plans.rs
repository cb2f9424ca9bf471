//! A plan that was made for empty tables costs one slow call, not all that follow (contract R5.9).

use std::time::Duration;

use crate::common::store_fixture::{Stage, complete, config, lease, until, url};
use queuekit_conformance::kit::{build, draft};
use queuekit_conformance::{alone, this_test};
use queuekit_core::{Ack, AckOutcome, Backend, NewJob};
use queuekit_postgres::PostgresStore;
use tokio_postgres::Client;

const JOBS: usize = 3000;
const ACKS: usize = 10;

/// The number of index entries that a connection reads to settle half of the jobs in ten calls. Its
/// plans were made when the tables were empty, and vacuum had seen them empty.
async fn read_by_acks(test: &str, replan_after: Duration) -> Option<i64> {
    let stage = Stage::open(test).await?;
    let client = stage.client().await;
    client.batch_execute(include_str!("../../sql/postgres_plans_kept.sql")).await.unwrap();
    store_jobs(&stage.store, 1).await;
    let first = lease(&stage.store, 1).await;
    complete(&stage.store, first.clone()).await;
    client.batch_execute("VACUUM ANALYZE").await.unwrap();
    let settler = "settler";
    let config = config(&url(&stage.database.url(), settler, "pool_size=1"));
    let handle = PostgresStore::connect(config.replan_after(replan_after)).await.unwrap();
    let again = handle.ack(&[Ack::new(first[0].token.clone())]).await.unwrap();
    assert_eq!(again, [AckOutcome::AlreadyDone]);

    store_jobs(&stage.store, JOBS).await;
    let mut leases = Vec::new();
    while leases.len() < JOBS {
        leases.extend(lease(&stage.store, 1000).await);
    }
    // Connections tell what they have read when they end.
    stage.store.close().await.unwrap();
    gone(&client, &stage.application).await;
    let before = read(&client).await;
    for some in leases[..JOBS / 2].chunks(JOBS / 2 / ACKS) {
        complete(&handle, some.to_vec()).await;
    }
    handle.close().await.unwrap();
    gone(&client, settler).await;
    let read = read(&client).await - before;
    stage.end().await;
    Some(read)
}

async fn store_jobs(store: &PostgresStore, jobs: usize) {
    let jobs: Vec<NewJob> = (0..jobs).map(|_| build(draft())).collect();
    for some in jobs.chunks(1000) {
        store.enqueue(some).await.unwrap();
    }
}

async fn gone(client: &Client, application: &str) {
    let sql = include_str!("../../sql/postgres_connections.sql");
    until("its connections are gone", async || {
        client.query_one(sql, &[&application, &"%"]).await.unwrap().get::<_, i64>(0) == 0
    })
    .await;
}

async fn read(client: &Client) -> i64 {
    client.query_one(include_str!("../../sql/postgres_plans_read.sql"), &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn r5_9_a_plan_for_empty_tables_costs_one_slow_call() {
    let test = this_test!();
    // Its own process has its own server: where others make schemas, the queue of invalidations
    // overflows now and then, and every connection makes all of its plans anew.
    if !alone(test) {
        return;
    }
    let Some(kept) = read_by_acks(test, Duration::MAX).await else { return };
    assert!(kept > (JOBS * ACKS / 2) as i64, "such a plan reads whole tables: {kept}");
    // Calls on empty tables do not take that long, or have their plans made anew as well.
    let Some(mended) = read_by_acks(test, Duration::from_millis(10)).await else { return };
    println!("{kept} index entries by plans kept, {mended} by plans made anew");
    assert!(mended < kept / 3, "{mended} entries by plans made anew, {kept} by those kept");
}
