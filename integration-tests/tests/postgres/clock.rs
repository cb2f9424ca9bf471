//! Jobs whose time has not come, in transactions that are open while it is changed what waiting
//! jobs of a key do (contract R7.3).

use std::slice::from_ref;

use crate::common::postgres::of_schema;
use crate::common::store_fixture::{Stage, complete, create, lease};
use queuekit_conformance::kit::{MINUTE, build, keyed};
use queuekit_conformance::this_test;
use queuekit_core::capability::Admin;
use queuekit_core::queue::{KeyOnWait, QueuePatch};
use queuekit_core::{JobDraft, JobId, Lease, QueueName};
use tokio_postgres::Client;

/// A store on a clock that the test moves.
struct Timed {
    stage: Stage,
    client: Client,
}

impl Timed {
    async fn open(test: &str, patch: QueuePatch) -> Option<Self> {
        let stage = Stage::open(test).await?;
        let client = stage.client().await;
        let clock = of_schema(include_str!("../../sql/postgres_clock.sql"), stage.store.schema());
        client.batch_execute(&clock).await.unwrap();
        let timed = Self { stage, client };
        timed.configure(patch).await;
        Some(timed)
    }

    async fn configure(&self, patch: QueuePatch) {
        self.stage.store.configure(&QueueName::default(), &patch).await.unwrap();
    }

    async fn job(&self, draft: JobDraft) -> JobId {
        create(&self.stage.store, &build(draft)).await
    }

    async fn move_by(&self, minutes: i64) {
        let jump = include_str!("../../sql/postgres_clock_move.sql");
        let jump = of_schema(jump, self.stage.store.schema());
        self.client.execute(&jump, &[&(minutes * 60_000)]).await.unwrap();
    }

    async fn next(&self) -> Option<Lease> {
        lease(&self.stage.store, 1).await.pop()
    }

    async fn assert_next(&self, id: JobId) {
        let lease = self.next().await.expect("a job is ready");
        assert_eq!(lease.id(), id);
        complete(&self.stage.store, vec![lease]).await;
    }

    /// A job of the key waits in an open transaction while the queue is changed.
    async fn later_one_of(&self, key: &str, patch: QueuePatch) -> JobId {
        let mut app = self.stage.client().await;
        let (tx, job) = (app.transaction().await.unwrap(), build(keyed(key).delay(MINUTE)));
        let _ = self.stage.store.enqueue_in(&tx, from_ref(&job)).await.unwrap();
        self.configure(patch).await;
        tx.commit().await.unwrap();
        job.id()
    }

    async fn end(self) {
        self.stage.assert_exact().await;
        self.stage.end().await;
    }
}

#[tokio::test]
async fn r7_3_a_job_that_commits_when_waiting_ones_are_passed_by_now_is_served_in_time() {
    let test = this_test!();
    let Some(timed) = Timed::open(test, QueuePatch::default()).await else { return };
    let patch = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    let later = timed.later_one_of("a", patch).await;
    let now = timed.job(keyed("a")).await;
    timed.assert_next(now).await;
    assert!(timed.next().await.is_none());
    timed.move_by(2).await;
    timed.assert_next(later).await;
    timed.end().await;
}

#[tokio::test]
async fn r7_3_a_job_that_commits_when_waiting_ones_block_by_now_blocks() {
    let test = this_test!();
    for per_key in [1, 2] {
        let patch = || QueuePatch::default().per_key(per_key);
        let passed = patch().key_on_wait(KeyOnWait::Skip);
        let Some(timed) = Timed::open(test, passed).await else { return };
        let later = timed.later_one_of("a", patch().key_on_wait(KeyOnWait::Block)).await;
        let behind = timed.job(keyed("a")).await;
        assert!(timed.next().await.is_none(), "it waits for the one before it");
        timed.move_by(2).await;
        timed.assert_next(later).await;
        timed.assert_next(behind).await;
        timed.end().await;
    }
}
