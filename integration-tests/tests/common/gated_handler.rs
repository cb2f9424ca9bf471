//! A Postgres store whose queue is removed while others use it.

use queuekit_conformance::kit::{build, draft};
use queuekit_core::capability::{Admin, Upkeep};
use queuekit_core::{Backend, JobDraft, Lease, NewJob, QueueName, State};
use queuekit_postgres::PostgresStore;
use tokio_postgres::Client;

use super::postgres::of_schema;
use super::store_fixture::{Stage, complete, create, lease, state, until};

/// A store with gates that block its enqueues, and the connection that closes them.
pub(crate) struct Gated {
    pub(crate) stage: Stage,
    pub(crate) keeper: Client,
}

impl Gated {
    /// The queue `default` exists, and is empty.
    pub(crate) async fn open(test: &str, draft: fn() -> JobDraft) -> Option<Self> {
        // A call at a gate waits for a lock, which a busy machine may release late.
        let stage = Stage::with(test, "lock_timeout_ms=5000").await?;
        let keeper = stage.client().await;
        let id = create(&stage.store, &build(draft())).await;
        assert!(stage.store.delete_job(id, false).await.expect("an answer"));
        let gated = Self { stage, keeper };
        let gates = gated.sql(include_str!("../../sql/postgres_gates.sql"));
        gated.keeper.batch_execute(&gates).await.expect("an answer");
        Some(gated)
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        of_schema(sql, self.stage.store.schema())
    }

    pub(crate) async fn close(&self, gate: i32) {
        let sql = include_str!("../../sql/postgres_gate_close.sql");
        self.keeper.execute(sql, &[&gate]).await.expect("an answer");
    }

    pub(crate) async fn unlock(&self, gate: i32) {
        let sql = include_str!("../../sql/postgres_gate_open.sql");
        self.keeper.execute(sql, &[&gate]).await.expect("an answer");
    }

    pub(crate) async fn until_someone_is_at(&self, gate: i32) {
        let sql = include_str!("../../sql/postgres_gate_waits.sql");
        let waits = async || self.keeper.query_one(sql, &[&gate]).await.expect("an answer").get(0);
        until("the enqueue is at the gate", waits).await;
    }

    /// Through another handle, until nothing is left of it.
    pub(crate) async fn forget_queue(&self, other: &PostgresStore) {
        assert!(other.remove_queue(&QueueName::default(), true).await.expect("an answer"));
        self.until_forgotten().await;
    }

    async fn until_forgotten(&self) {
        let rows = self.sql(include_str!("../../sql/postgres_queue_rows.sql"));
        until("the queue is forgotten", async || {
            self.keep_up().await;
            self.keeper.query_one(&rows, &[]).await.expect("an answer").get::<_, i64>(0) == 0
        })
        .await;
    }

    pub(crate) async fn remove_queue(&self) {
        assert!(
            self.stage.store.remove_queue(&QueueName::default(), true).await.expect("an answer")
        );
    }

    /// More upkeep than it takes to forget a queue.
    pub(crate) async fn keep_up(&self) {
        for _ in 0..3 {
            self.stage.store.prune().await.expect("an answer");
            while self.stage.store.repair().await.expect("an answer").more {}
        }
    }

    /// Asserts that the job is served whether its queue exists or is gone; then removes both.
    pub(crate) async fn judge(self, job: &NewJob) {
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
        assert!(store.delete_job(job.id(), false).await.expect("an answer"));
        // Unless it is gone already.
        store.remove_queue(&QueueName::default(), false).await.expect("an answer");
        self.until_forgotten().await;
        self.assert_owned().await;
        // The name is as any other.
        let again = create(store, &build(draft())).await;
        assert_eq!(lease(store, 10).await.pop().map(|lease| lease.id()), Some(again));
        self.stage.end().await;
    }

    pub(crate) async fn assert_owned(&self) {
        let sql = self.sql(include_str!("../../sql/postgres_unowned.sql"));
        let rows = self.keeper.query(&sql, &[]).await.expect("an answer");
        let tables: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        assert!(tables.is_empty(), "rows of no queue in {tables:?}");
    }
}
