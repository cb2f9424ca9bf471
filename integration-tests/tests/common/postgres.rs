//! The Postgres store under the suite: each case has a schema of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::Durability;
use queuekit_core::{Backend, JobId};
use queuekit_integration_tests::kit::millis;
use queuekit_integration_tests::servers::{self, Database};
use queuekit_integration_tests::{Expect, Harness, World};
use queuekit_postgres::{PostgresConfig, PostgresStore, tokio_postgres};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

/// Opens stores on clocks that only the suite moves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PostgresHarness;

/// Opens stores whose time passes by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LivePostgresHarness;

#[async_trait]
impl Harness for PostgresHarness {
    async fn open(&self) -> Arc<dyn World> {
        Arc::new(PostgresWorld::stopped(config().await).await)
    }

    async fn why_absent(&self) -> Option<String> {
        why_absent()
    }
}

#[async_trait]
impl Harness for LivePostgresHarness {
    async fn open(&self) -> Arc<dyn World> {
        Arc::new(PostgresWorld::open(config().await).await)
    }

    async fn why_absent(&self) -> Option<String> {
        why_absent()
    }
}

fn why_absent() -> Option<String> {
    servers::postgres().is_none().then(|| "there is no Postgres server".to_owned())
}

/// The database of this process's tests.
pub(crate) async fn database() -> &'static Database {
    static DATABASE: OnceCell<Database> = OnceCell::const_new();
    let make = || async { servers::postgres().expect("a server").database().await };
    DATABASE.get_or_init(make).await
}

/// How to open a store in a new schema of the tests' database; servers of tests do not sync.
pub(crate) async fn config() -> PostgresConfig {
    config_at(&database().await.url())
}

/// The same by way of another URL.
pub(crate) fn config_at(url: &str) -> PostgresConfig {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let schema = format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let config = PostgresConfig::from_url(url).expect("a URL");
    config.schema(&schema).expect("a name").pool_size(4).allow_volatile(true)
}

/// A connection of the test's own.
pub(crate) async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("it connects");
    tokio::spawn(async move { drop(connection.await) });
    client
}

/// A store, and a connection to its database.
pub(crate) struct PostgresWorld {
    config: PostgresConfig,
    pub(crate) schema: String,
    pub(crate) store: PostgresStore,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) client: Client,
    stands: bool,
}

impl PostgresWorld {
    /// One whose clock only the suite moves.
    pub(crate) async fn stopped(config: PostgresConfig) -> Self {
        let mut world = Self::open(config).await;
        world.stands = true;
        let stop = include_str!("../../sql/postgres_clock_stop.sql");
        world.execute(stop, &[&1_767_225_600_000_i64]).await;
        world
    }

    pub(crate) async fn open(config: PostgresConfig) -> Self {
        let store = PostgresStore::connect(config.clone()).await.expect("the store opens");
        let schema = store.schema().to_owned();
        let client = client(&database().await.url()).await;
        let clock = include_str!("../../sql/postgres_clock.sql");
        client.batch_execute(&of_schema(clock, &schema)).await.expect("a clock");
        Self { config, schema, backend: Arc::new(store.clone()), store, client, stands: false }
    }

    async fn execute(
        &self,
        sql: &str,
        params: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> u64 {
        let sql = of_schema(sql, &self.schema);
        self.client.execute(&sql, params).await.expect("the schema can be written")
    }

    async fn jump(&self, by_ms: i64) {
        self.execute(include_str!("../../sql/postgres_clock_move.sql"), &[&by_ms]).await;
    }
}

/// SQL that was written for the schema `queuekit`, for this one.
pub(crate) fn of_schema(sql: &str, schema: &str) -> String {
    sql.replace("queuekit.", &format!("{schema}."))
}

#[async_trait]
impl World for PostgresWorld {
    fn expect(&self) -> Expect {
        Expect {
            can_corrupt: true,
            can_rewind: true,
            clock_stands: self.stands,
            second_handle: true,
            raw_dump: true,
            migrations: true,
            drops_history: true,
            atomic_across_queues: true,
            outbox: true,
            durability: Some(Durability::ProcessKill),
            ..Expect::FULL
        }
    }

    fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    async fn advance(&self, by: Duration) {
        self.jump(millis(by)).await;
    }

    async fn rewind(&self, by: Duration) -> bool {
        self.jump(-millis(by)).await;
        true
    }

    async fn second_handle(&self) -> Option<Arc<dyn Backend>> {
        let second = PostgresStore::connect(self.config.clone()).await;
        Some(Arc::new(second.expect("a second handle opens")))
    }

    async fn corrupt(&self, id: JobId) -> bool {
        let id = id.to_string();
        let corrupt =
            include_str!("../../sql/postgres_corrupt.sql").replace("$1", &format!("'{id}'"));
        self.execute(&corrupt, &[]).await == 1
    }

    async fn raw_dump(&self) -> Option<Vec<String>> {
        Some(raw_dump(&self.client, &self.schema).await)
    }

    async fn dispose(&self) {
        self.backend.close().await.expect("the store closes");
    }
}

/// Every row of every table, and its place; every sequence.
async fn raw_dump(client: &Client, schema: &str) -> Vec<String> {
    let make = include_str!("../../sql/postgres_dump.sql");
    client.batch_execute(make).await.expect("a function");
    let read = include_str!("../../sql/postgres_dump_read.sql");
    let rows = client.query(read, &[&schema]).await.expect("the schema is read");
    rows.iter().map(|row| row.get(0)).collect()
}
