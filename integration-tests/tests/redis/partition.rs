//! A worker that cannot reach its Redis, and another one that can.

use std::sync::Arc;

use crate::common::partition::partition;
use crate::common::redis_store_fixture::RedisStage;
use queuekit_conformance::this_test;
use queuekit_core::Backend;
use queuekit_integration_tests::servers::{Mode, Proxy};
use queuekit_redis::RedisStore;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r13_6_a_worker_that_was_cut_off_resumes_and_its_jobs_are_taken_over() {
    cut_off(this_test!(), Mode::BlackHole).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r13_6_a_worker_whose_requests_were_lost_resumes_and_its_jobs_are_taken_over() {
    cut_off(this_test!(), Mode::LoseRequests).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r13_6_a_worker_that_heard_no_replies_resumes_and_its_jobs_are_taken_over() {
    cut_off(this_test!(), Mode::LoseReplies).await;
}

async fn cut_off(test: &str, mode: Mode) {
    let Some(stage) = RedisStage::open(test).await else { return };
    let proxy = Proxy::start(&stage.server).await;
    let behind = RedisStore::connect_url(&proxy.url(&stage.url(""))).await.unwrap();
    let beside: Arc<dyn Backend> = Arc::new(stage.store.clone());
    partition(mode, &proxy, Arc::new(behind.clone()), beside).await;
    behind.close().await.unwrap();
    stage.assert_exact().await;
    stage.end().await;
}
