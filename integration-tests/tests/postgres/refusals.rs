//! Jobs that a reserve meets and must not lease (contract R5.7).

use std::time::Duration;

use crate::common::store_fixture::{Stage, create, lease, state};
use queuekit_conformance::kit::{build, draft};
use queuekit_conformance::this_test;
use queuekit_core::{Backend, Priority, State};
use queuekit_integration_tests::servers::Proxy;
use queuekit_postgres::PostgresStore;

/// A call for one job that took a trip for each job it refused took seconds on a busy server. It
/// was then given up and made again, while its first attempt still held jobs.
#[tokio::test]
async fn r5_7_to_refuse_many_jobs_takes_no_more_trips_than_to_refuse_few() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let proxy = Proxy::start(&stage.database.url()).await;
    let url = proxy.url(&stage.url("pool_size=1"));
    let store = PostgresStore::connect_url(&url).await.unwrap();
    // The first call prepares statements.
    refuse(&stage, &store, &proxy, 2).await;
    let few = refuse(&stage, &store, &proxy, 5).await;
    let many = refuse(&stage, &store, &proxy, 50).await;
    assert!(many < few + 50 * BYTES_PER_JOB, "{few} bytes for 5 jobs, {many} for 50");
    store.close().await.unwrap();
    stage.end().await;
}

/// The statements say 230 bytes of a job; trips of its own would take 700.
const BYTES_PER_JOB: u64 = 300;

/// The bytes that a reserve of one job sends, while this number of jobs before it is too late.
async fn refuse(stage: &Stage, store: &PostgresStore, proxy: &Proxy, jobs: usize) -> u64 {
    let late = draft().priority(Priority::CRITICAL).deadline(Duration::from_millis(1));
    let mut doomed = Vec::new();
    for _ in 0..jobs {
        doomed.push(create(&stage.store, &build(late.clone())).await);
    }
    let good = create(&stage.store, &build(draft())).await;
    tokio::time::sleep(Duration::from_millis(5)).await;
    let before = proxy.counts().to_server;
    let leased = lease(store, 1).await;
    let sent = proxy.counts().to_server - before;
    assert_eq!(leased.iter().map(|lease| lease.token.id).collect::<Vec<_>>(), [good]);
    for id in doomed {
        assert_eq!(state(store, id).await, Some(State::Dead));
    }
    sent
}
