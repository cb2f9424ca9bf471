//! Limits that the suite's store does not have, and calls that need no server.

use std::sync::Arc;
use std::time::Duration;

use crate::common::store_fixture::{Stage, in_the_dark};
use crate::common::taken_ids::{
    assert_events_are_compared_at_once, assert_jobs_are_compared_at_once,
};
use queuekit_conformance::kit::{
    TTL, assert_answers_empty_batches, assert_keeps_the_largest_payload, build, draft, request, ttl,
};
use queuekit_conformance::this_test;
use queuekit_core::capability::{ExtendOutcome, Leases, Report, ReportOutcome};
use queuekit_core::limits::{FAILURES_KEPT, PAYLOAD_BYTES_HARD};
use queuekit_core::{Backend, Client, Lease, Limits, Nack, NackKind, QueueName};
use queuekit_integration_tests::servers::{Mode, Proxy};
use queuekit_postgres::{PostgresConfig, PostgresStore};

#[tokio::test]
async fn r12_a_payload_of_16_mib_is_stored_whole() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let limits = Limits::default().with_payload_bytes(PAYLOAD_BYTES_HARD);
    let config = PostgresConfig::from_url(&stage.url("")).unwrap().limits(limits);
    let store = PostgresStore::connect(config).await.unwrap();
    assert_keeps_the_largest_payload(&store).await;
    store.close().await.unwrap();
    stage.end().await;
}

/// The server is out of reach, so that no call that asks it could be answered.
#[tokio::test]
async fn r2_2_an_empty_batch_does_not_contact_the_store() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let proxy = Proxy::start(&stage.database.url()).await;
    let op_timeout = Duration::from_millis(500);
    let settings = format!("pool_size=3&op_timeout_ms={}", op_timeout.as_millis());
    let store = PostgresStore::connect_url(&proxy.url(&stage.url(&settings))).await.unwrap();
    proxy.set(Mode::BlackHole);
    let jobs = [build(draft())];
    in_the_dark("enqueue", op_timeout, || store.enqueue(&jobs)).await;
    assert_answers_empty_batches(&store).await;
    proxy.set(Mode::Pass);
    store.close().await.unwrap();
    stage.end().await;
}

/// Guard: a call of 90 KB made a round for each of its jobs, and read 1 GB.
#[tokio::test]
async fn s6_a_call_that_names_one_large_item_a_thousand_times_reads_it_once() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let proxy = Proxy::start(&stage.database.url()).await;
    let store = PostgresStore::connect_url(&proxy.url(&stage.url("pool_size=2"))).await.unwrap();
    let store: Arc<dyn Backend> = Arc::new(store);
    assert_jobs_are_compared_at_once(&*store, &proxy).await;
    assert_events_are_compared_at_once(&Client::shared(Arc::clone(&store)), &proxy).await;
    store.close().await.unwrap();
    stage.end().await;
}

/// Guard: such a call was a thousand statements, one after the other.
#[tokio::test]
async fn s6_a_call_with_a_thousand_reports_of_one_job_is_one_statement() {
    const REPORTS: usize = 1000;
    let Some(stage) = Stage::open(this_test!()).await else { return };
    let proxy = Proxy::start(&stage.database.url()).await;
    let store = PostgresStore::connect_url(&proxy.url(&stage.url("pool_size=2"))).await.unwrap();
    store.enqueue(&[build(draft())]).await.unwrap();
    let reserve = request(QueueName::default(), 1);
    let lease = store.reserve(&reserve).await.unwrap().leases.pop().unwrap();
    let report = |number: usize| Report::new(lease.token.clone(), None, vec![number.to_string()]);
    let reports: Vec<Report> = (0..REPORTS).map(report).collect();
    let before = proxy.counts();
    let outcomes = store.report(&reports).await.unwrap();
    let after = proxy.counts();
    assert_eq!(outcomes, vec![ReportOutcome::Reported; REPORTS]);
    let (sent, answered) = (after.to_server - before.to_server, after.to_client - before.to_client);
    assert!(sent + answered < 64 * 1024, "{sent} bytes sent, {answered} answered");
    store.close().await.unwrap();
    stage.end().await;
}

/// Guard: a call about a thousand jobs read up to 160 KiB of errors of each.
#[tokio::test]
async fn s6_calls_about_jobs_with_large_errors_do_not_read_these() {
    const JOBS: usize = 16;
    let Some(stage) = Stage::open(this_test!()).await else { return };
    let proxy = Proxy::start(&stage.database.url()).await;
    let store = PostgresStore::connect_url(&proxy.url(&stage.url("pool_size=2"))).await.unwrap();
    let jobs: Vec<_> = (0..JOBS).map(|_| build(draft().max_attempts(1000))).collect();
    store.enqueue(&jobs).await.unwrap();
    let mut answered = 0;
    for round in 0..FAILURES_KEPT + 2 {
        let reserve = request(QueueName::default(), JOBS);
        let leases = store.reserve(&reserve).await.unwrap().leases;
        assert_eq!(leases.len(), JOBS);
        let error = format!("{round} {}", "x".repeat(8000));
        let nack = |lease: &Lease| {
            Nack::new(lease.token.clone(), NackKind::Retry, error.as_str(), Duration::ZERO)
        };
        let nacks: Vec<Nack> = leases.iter().map(nack).collect();
        let tokens: Vec<_> = leases.into_iter().map(|lease| lease.token).collect();
        let before = proxy.counts().to_client;
        store.nack(&nacks).await.unwrap();
        let lost = store.extend(&tokens, ttl(TTL)).await.unwrap();
        answered = proxy.counts().to_client - before;
        assert_eq!(lost, vec![ExtendOutcome::LeaseLost; JOBS]);
    }
    assert!(answered < 64 * 1024, "{answered} bytes answered");
    let job = store.get_job(jobs[0].id()).await.unwrap().unwrap();
    assert_eq!(job.errors.len(), FAILURES_KEPT);
    assert!(job.errors[0].error.as_str().starts_with("2 ") && job.errors[0].attempt == 3);
    store.close().await.unwrap();
    stage.end().await;
}
