//! A queue that is removed while a job is stored in it: the job is not lost (contract R0.2), and
//! nothing is left of the queue in the end.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

mod common;

use std::slice::from_ref;

use common::postgres::of_schema;
use common::stage::{Stage, complete, create, lease, state, until};
use queuekit_core::capability::{Admin, Upkeep};
use queuekit_core::{Backend, EnqueueOutcome, JobDraft, Lease, NewJob, QueueName, State};
use queuekit_integration_tests::kit::{build, draft, keyed};
use tokio_postgres::Client;

/// A store with gates in the way of its enqueues, and who closes them.
struct Gated {
    stage: Stage,
    keeper: Client,
}

impl Gated {
    /// The queue `default` exists, and is empty.
    async fn open(test: &str, draft: fn() -> JobDraft) -> Option<Self> {
        let stage = Stage::open(test).await?;
        let keeper = stage.client().await;
        let id = create(&stage.store, &build(draft())).await;
        assert!(stage.store.delete_job(id, false).await.unwrap());
        let gated = Self { stage, keeper };
        let gates = gated.sql(include_str!("../sql/postgres_gates.sql"));
        gated.keeper.batch_execute(&gates).await.unwrap();
        Some(gated)
    }

    fn sql(&self, sql: &str) -> String {
        of_schema(sql, self.stage.store.schema())
    }

    async fn close(&self, gate: i32) {
        let sql = include_str!("../sql/postgres_gate_close.sql");
        self.keeper.execute(sql, &[&gate]).await.unwrap();
    }

    async fn unlock(&self, gate: i32) {
        let sql = include_str!("../sql/postgres_gate_open.sql");
        self.keeper.execute(sql, &[&gate]).await.unwrap();
    }

    async fn until_someone_is_at(&self, gate: i32) {
        let sql = include_str!("../sql/postgres_gate_waits.sql");
        let waits = async || self.keeper.query_one(sql, &[&gate]).await.unwrap().get(0);
        until("the enqueue is at the gate", waits).await;
    }

    async fn remove_queue(&self) {
        assert!(self.stage.store.remove_queue(&QueueName::default(), true).await.unwrap());
    }

    /// More upkeep than it takes to forget a queue.
    async fn keep_up(&self) {
        for _ in 0..3 {
            self.stage.store.prune().await.unwrap();
            while self.stage.store.repair().await.unwrap().more {}
        }
    }

    /// The job that came when its queue was gone is served as ever; then all of both goes.
    async fn judge(self, job: &NewJob) {
        let store = &self.stage.store;
        self.keep_up().await;
        assert_eq!(state(store, job.id()).await, Some(State::Pending));
        self.stage.assert_exact().await;
        let leases = lease(store, 10).await;
        assert_eq!(leases.iter().map(Lease::id).collect::<Vec<_>>(), [job.id()]);
        complete(store, leases).await;
        self.keep_up().await;
        self.assert_owned().await;
        self.stage.assert_exact().await;
        assert!(store.delete_job(job.id(), false).await.unwrap());
        let rows = self.sql(include_str!("../sql/postgres_queue_rows.sql"));
        until("the queue is forgotten", async || {
            self.keep_up().await;
            self.keeper.query_one(&rows, &[]).await.unwrap().get::<_, i64>(0) == 0
        })
        .await;
        self.assert_owned().await;
        // The name is as any other.
        let again = create(store, &build(draft())).await;
        assert_eq!(lease(store, 10).await.pop().map(|lease| lease.id()), Some(again));
        self.stage.end().await;
    }

    async fn assert_owned(&self) {
        let sql = self.sql(include_str!("../sql/postgres_unowned.sql"));
        let rows = self.keeper.query(&sql, &[]).await.unwrap();
        let tables: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert!(tables.is_empty(), "rows of no queue in {tables:?}");
    }
}

/// The enqueue has seen its queue; the queue is removed, and only then is the job stored.
async fn removed_under_an_enqueue(test: &str, draft: fn() -> JobDraft) {
    let Some(gated) = Gated::open(test, draft).await else { return };
    let job = build(draft());
    gated.close(1).await;
    let (store, stored) = (gated.stage.store.clone(), job.clone());
    let enqueue = tokio::spawn(async move { store.enqueue(&[stored]).await });
    gated.until_someone_is_at(1).await;
    gated.remove_queue().await;
    gated.close(2).await;
    gated.unlock(1).await;
    gated.until_someone_is_at(2).await;
    // Upkeep goes on while the enqueue has not ended.
    gated.keep_up().await;
    gated.unlock(2).await;
    let outcomes = enqueue.await.unwrap().unwrap();
    assert_eq!(outcomes, [EnqueueOutcome::Created { id: job.id() }]);
    gated.judge(&job).await;
}

#[tokio::test]
async fn r0_2_a_job_that_is_stored_while_its_queue_is_removed_is_served() {
    let test = "r0_2_a_job_that_is_stored_while_its_queue_is_removed_is_served";
    removed_under_an_enqueue(test, draft).await;
}

#[tokio::test]
async fn r0_2_a_job_with_a_partition_key_likewise() {
    let test = "r0_2_a_job_with_a_partition_key_likewise";
    removed_under_an_enqueue(test, || keyed("k")).await;
}

#[tokio::test]
async fn r0_2_a_job_of_an_open_transaction_likewise() {
    let test = "r0_2_a_job_of_an_open_transaction_likewise";
    for draft in [draft, || keyed("k")] {
        let Some(gated) = Gated::open(test, draft).await else { return };
        let job = build(draft());
        let mut app = gated.stage.client().await;
        let tx = app.transaction().await.unwrap();
        gated.stage.store.enqueue_in(&tx, from_ref(&job)).await.unwrap();
        gated.remove_queue().await;
        gated.keep_up().await;
        tx.commit().await.unwrap();
        gated.judge(&job).await;
    }
}
