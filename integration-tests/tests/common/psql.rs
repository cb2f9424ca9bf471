//! The use of a Postgres store from psql.

use std::future::{pending, poll_fn};

use queuekit_conformance::World;
use queuekit_conformance::kit::default_queue;
use queuekit_conformance::skip;
use queuekit_core::queue::QueuePatch;
use queuekit_core::{Job, JobId};
use queuekit_integration_tests::servers;
use queuekit_postgres::tokio_postgres::{self, AsyncMessage, NoTls};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::error::DbError;

use super::postgres::{PostgresWorld, of_schema};
use super::store_fixture::assert_exact;

/// A store, and a connection beside it.
pub(crate) struct Psql(pub(crate) PostgresWorld);

impl Psql {
    /// With the queue `default`, which takes partition keys.
    pub(crate) async fn open(test: &str) -> Option<Self> {
        if servers::postgres().is_none() {
            skip(test, "there is no Postgres server");
            return None;
        }
        let psql = Self(PostgresWorld::open().await);
        psql.run("SELECT queuekit.create_queue('default', keyed => true)").await.unwrap();
        Some(psql)
    }

    pub(crate) fn world(&self) -> &dyn World {
        &self.0
    }

    pub(crate) fn sql(&self, sql: &str) -> String {
        of_schema(sql, self.0.schema)
    }

    pub(crate) async fn run(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        self.0.client.batch_execute(&self.sql(sql)).await
    }

    /// The one value that this statement answers, as text.
    pub(crate) async fn value(&self, sql: &str) -> Result<Option<String>, tokio_postgres::Error> {
        Ok(self.0.client.query_one(&self.sql(sql), &[]).await?.get(0))
    }

    /// Enqueues with these arguments.
    pub(crate) async fn id(&self, arguments: &str) -> JobId {
        let id = self.value(&format!("SELECT queuekit.enqueue({arguments})::text")).await;
        id.unwrap().unwrap().parse().unwrap()
    }

    pub(crate) async fn job(&self, arguments: &str) -> Job {
        self.world().job(self.id(arguments).await).await
    }

    /// The error message that this statement gets.
    pub(crate) async fn refused(&self, sql: &str) -> DbError {
        let error = self.run(sql).await.expect_err(sql);
        error.as_db_error().unwrap().clone()
    }

    /// The queues of which the store notifies workers from now on.
    pub(crate) async fn listen(&self) -> UnboundedReceiver<String> {
        let (listener, mut connection) =
            tokio_postgres::connect(self.0.url(), NoTls).await.unwrap();
        let (told, heard) = unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notification(notice) = message {
                    // The test may have ended.
                    let _ = told.send(notice.payload().to_owned());
                }
            }
        });
        listener.batch_execute(&format!("LISTEN {}", self.0.schema)).await.unwrap();
        // Its connection ends with it.
        tokio::spawn(async move {
            pending::<()>().await;
            drop(listener);
        });
        heard
    }

    /// Asserts that derived data agrees with the jobs.
    pub(crate) async fn assert_exact(&self) {
        assert_exact(&self.0.client, self.0.schema).await;
    }

    pub(crate) async fn configure(&self, patch: QueuePatch) {
        self.world().configure(&default_queue(), patch).await;
    }
}
