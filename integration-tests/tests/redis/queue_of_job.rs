//! Which queue a call by id asks, where several have the id.

use crate::common::redis_store_fixture::RedisStage;
use queuekit_conformance::kit::{TWINS, build, draft, queue};
use queuekit_conformance::this_test;
use queuekit_core::{Backend, Job, JobFilter};
use redis::cmd;

async fn jobs_of(stage: &RedisStage, name: &str) -> Vec<Job> {
    stage.store.list_jobs(&JobFilter::default().queue(name)).await.unwrap().items
}

/// The server's clock.
async fn now_ms(stage: &RedisStage) -> u64 {
    let (seconds, micros): (u64, u64) = stage.ask(&cmd("TIME")).await;
    seconds * 1000 + micros / 1000
}

/// A client that may name a queue easily finds a name with the tag of another queue.
#[tokio::test]
async fn s5_a_copy_of_an_id_in_another_queue_hides_and_replaces_no_job() {
    let Some(stage) = RedisStage::open(this_test!()).await else { return };
    let [copying, copied] = TWINS;
    assert_eq!(queue(copying).id_tag(), queue(copied).id_tag());
    // It knows one of the queues, and another process creates the other.
    let early = stage.handle("").await;
    early.enqueue(&[build(draft().queue(copying))]).await.unwrap();
    let job = build(draft().queue(copied));
    stage.store.enqueue(std::slice::from_ref(&job)).await.unwrap();
    let stored = now_ms(&stage).await;
    while now_ms(&stage).await == stored {}
    let copy = build(draft().queue(copying).id(job.id()).priority(9));
    stage.store.enqueue(&[copy]).await.unwrap();

    // A handle that has seen no queue yet may ask them in any order.
    for _ in 0..8 {
        let handle = stage.handle("").await;
        let found = handle.get_job(job.id()).await.unwrap().unwrap();
        assert_eq!(found.queue.as_str(), copied);
        handle.close().await.unwrap();
    }
    early.delete_job(job.id(), false).await.unwrap();
    assert_eq!(jobs_of(&stage, copied).await, []);
    assert_eq!(jobs_of(&stage, copying).await.len(), 2, "the copy is left alone");
    early.close().await.unwrap();
    stage.end().await;
}
