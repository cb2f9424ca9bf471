//! Limits that the suite's store does not have, and calls that need no server.

use std::sync::Arc;
use std::time::Duration;

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::in_the_dark;
use crate::common::taken_ids::{
    assert_events_are_compared_at_once, assert_jobs_are_compared_at_once,
};
use crate::scale::Scale;
use queuekit_conformance::kit::{
    HOUR, assert_answers_empty_batches, assert_keeps_the_largest_payload, build, draft,
};
use queuekit_conformance::this_test;
use queuekit_core::limits::PAYLOAD_BYTES_HARD;
use queuekit_core::{Backend, Client, EnqueueOutcome, JobDraft, JobFilter, Limits, NewJob, Status};
use queuekit_integration_tests::servers::{Mode, Proxy};
use queuekit_redis::{RedisConfig, RedisStore};

#[tokio::test]
async fn r12_a_payload_of_16_mib_is_stored_whole() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let limits = Limits::default().with_payload_bytes(PAYLOAD_BYTES_HARD);
    let config = RedisConfig::from_url(&stage.url("")).unwrap().limits(limits);
    let store = RedisStore::connect(config).await.unwrap();
    assert_keeps_the_largest_payload(&store).await;
    store.close().await.unwrap();
    stage.end().await;
}

/// The server is out of reach, so that no call that asks it could be answered.
#[tokio::test]
async fn r2_2_an_empty_batch_does_not_contact_the_store() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let proxy = Proxy::start(&stage.server).await;
    let op_timeout = Duration::from_millis(500);
    let settings = format!("op_timeout_ms={}", op_timeout.as_millis());
    let store = RedisStore::connect_url(&proxy.url(&stage.url(&settings))).await.unwrap();
    proxy.set(Mode::BlackHole);
    let jobs = [build(draft())];
    in_the_dark("enqueue", op_timeout, || store.enqueue(&jobs)).await;
    assert_answers_empty_batches(&store).await;
    proxy.set(Mode::Pass);
    store.close().await.unwrap();
    stage.end().await;
}

/// Guard: a call of 90 KB read 1 GB in the server, and answered it.
#[tokio::test]
async fn s6_a_call_that_names_one_large_item_a_thousand_times_reads_it_once() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let proxy = Proxy::start(&stage.server).await;
    let store: Arc<dyn Backend> =
        Arc::new(RedisStore::connect_url(&proxy.url(&stage.url(""))).await.unwrap());
    assert_jobs_are_compared_at_once(&*store, &proxy).await;
    assert_events_are_compared_at_once(&Client::shared(Arc::clone(&store)), &proxy).await;
    store.close().await.unwrap();
    stage.end().await;
}

/// Guard: two such calls took 2 GB of the server's memory, and 20 s.
#[tokio::test]
async fn s6_a_call_that_names_many_large_jobs_reads_few_of_them() {
    const JOBS: usize = 64;
    let Some(scale) = Scale::open(this_test!()).await else { return };
    let draft = |payload: Vec<u8>| JobDraft::new("work", payload);
    let large: Vec<_> = (0..JOBS).map(|_| build(draft(vec![b'x'; 256 * 1024]))).collect();
    for some in large.chunks(16) {
        scale.store().enqueue(some).await.unwrap();
    }
    let small: Vec<_> = large.iter().map(|job| build(draft(vec![b'1']).id(job.id()))).collect();
    let outcomes = scale.store().enqueue(&small).await.unwrap();
    let conflict = |job: &NewJob| EnqueueOutcome::Conflict { existing: job.id() };
    assert_eq!(outcomes, large.iter().map(conflict).collect::<Vec<_>>());
    let used = scale.memory_of_scripts().await;
    assert!(used < 8 * 1024 * 1024, "{used} bytes");
    let again = scale.store().enqueue(&large[..16]).await.unwrap();
    let duplicate = |job: &NewJob| EnqueueOutcome::Duplicate { existing: job.id() };
    assert_eq!(again, large[..16].iter().map(duplicate).collect::<Vec<_>>());
}

/// Guard: the script read all jobs whose leases had run out at once, up to 2,000.
#[tokio::test]
async fn s6_leases_of_large_jobs_that_ran_out_are_taken_back_in_parts() {
    const JOBS: usize = 48;
    let Some(scale) = Scale::open(this_test!()).await else { return };
    for _ in 0..JOBS / 6 {
        let large = || build(JobDraft::new("work", vec![b'x'; 1024 * 1024]));
        scale
            .store()
            .enqueue(&[large(), large(), large(), large(), large(), large()])
            .await
            .unwrap();
    }
    let mut leased = 0;
    while leased < JOBS {
        leased += scale.reserve(JOBS).await.len();
    }
    scale.clock.jump(HOUR.as_millis() as i64).await;
    let expired = async || {
        let filter = JobFilter::default().status(Status::Expired);
        scale.store().list_jobs(&filter).await.unwrap().items.len()
    };
    scale.reserve(1).await;
    let left = expired().await;
    assert!((1..JOBS).contains(&left), "{left} are left to the next calls");
    while expired().await > 0 {
        scale.reserve(1).await;
    }
}
