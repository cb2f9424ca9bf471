//! The Postgres store under the suite: each case has a database of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use queuekit_conformance::kit::{limits, millis};
use queuekit_conformance::{Capability, Expect, Harness, World};
use queuekit_core::capability::Durability;
use queuekit_core::{Backend, JobId};
use queuekit_integration_tests::raw_dump;
use queuekit_integration_tests::servers::{self, Database, PgBouncer};
use queuekit_postgres::{PostgresConfig, PostgresStore, tokio_postgres};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

/// Not the default, so that no statement can rely on that.
const SCHEMA: &str = "cases";

/// Opens stores on clocks that only the suite moves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PostgresHarness;

/// Opens stores whose time passes by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LivePostgresHarness;

#[async_trait]
impl Harness for PostgresHarness {
    async fn open(&self) -> Arc<dyn World> {
        Arc::new(PostgresWorld::stopped().await)
    }

    async fn why_absent(&self) -> Option<String> {
        why_absent()
    }
}

#[async_trait]
impl Harness for LivePostgresHarness {
    async fn open(&self) -> Arc<dyn World> {
        Arc::new(PostgresWorld::open().await)
    }

    async fn why_absent(&self) -> Option<String> {
        why_absent()
    }
}

fn why_absent() -> Option<String> {
    servers::postgres().is_none().then(|| "there is no Postgres server".to_owned())
}

/// A database in which a store's schema is made, and its clock can be moved. Each test has a copy,
/// which takes a tenth of the time that migrations do.
async fn template() -> &'static Database {
    static TEMPLATE: OnceCell<Database> = OnceCell::const_new();
    let make = || async {
        let database = servers::postgres().expect("a server").database().await;
        open_and_close(&database).await;
        let clock = include_str!("../../sql/postgres_clock.sql");
        let client = client(&database.url()).await;
        client.batch_execute(&of_schema(clock, SCHEMA)).await.expect("a clock");
        drop(client);
        database.unconnected().await
    };
    TEMPLATE.get_or_init(make).await
}

/// A copy of it whose clock stands, and which has the partitions of the days from then on: to make
/// them takes longer than most cases.
async fn stopped_template() -> &'static Database {
    static TEMPLATE: OnceCell<Database> = OnceCell::const_new();
    let make = || async {
        let database = template().await.copy().await;
        let client = client(&database.url()).await;
        let stop = of_schema(include_str!("../../sql/postgres_clock_stop.sql"), SCHEMA);
        client.execute(&stop, &[&1_767_225_600_000_i64]).await.expect("the clock stops");
        let days = of_schema(include_str!("../../sql/postgres_days_drop.sql"), SCHEMA);
        client.batch_execute(&days).await.expect("the days of the real clock are dropped");
        drop(client);
        open_and_close(&database).await;
        database.unconnected().await
    };
    TEMPLATE.get_or_init(make).await
}

async fn open_and_close(database: &Database) {
    let store = PostgresStore::connect(config(&database.url())).await.expect("the store opens");
    store.close().await.expect("the store closes");
}

/// How to open the store of such a database; servers of tests do not sync.
pub(crate) fn config(url: &str) -> PostgresConfig {
    let config = PostgresConfig::from_url(url).expect("a URL");
    let config = config.schema(SCHEMA).expect("a name").limits(limits());
    config.pool_size(4).allow_volatile(true)
}

/// A connection of the test's own.
pub(crate) async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("it connects");
    tokio::spawn(async move { drop(connection.await) });
    client
}

/// A store in a database of its own, and a connection to it.
pub(crate) struct PostgresWorld {
    config: PostgresConfig,
    database: Mutex<Option<Database>>,
    url: String,
    /// The name of the database.
    pub(crate) name: String,
    pub(crate) schema: &'static str,
    pub(crate) store: PostgresStore,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) client: Client,
    stands: bool,
}

impl PostgresWorld {
    /// One whose clock only the suite moves.
    pub(crate) async fn stopped() -> Self {
        let database = stopped_template().await.copy().await;
        let config = config(&database.url());
        Self { stands: true, ..Self::at(database, config).await }
    }

    /// One whose time passes by itself.
    pub(crate) async fn open() -> Self {
        let database = template().await.copy().await;
        let config = config(&database.url());
        Self::at(database, config).await
    }

    /// One behind a pooler that leads to its server.
    pub(crate) async fn stopped_behind(pooler: &PgBouncer) -> Self {
        let database = stopped_template().await.copy().await;
        let (url, listen) = (pooler.url(database.name()), database.url());
        let config = config(&format!("{url}?prepared=off&listen={listen}"));
        Self { stands: true, ..Self::at(database, config).await }
    }

    async fn at(database: Database, config: PostgresConfig) -> Self {
        let store = PostgresStore::connect(config.clone()).await.expect("the store opens");
        let client = client(&database.url()).await;
        Self {
            config,
            url: database.url(),
            name: database.name().to_owned(),
            database: Mutex::new(Some(database)),
            schema: SCHEMA,
            backend: Arc::new(store.clone()),
            store,
            client,
            stands: false,
        }
    }

    /// Another handle on the store.
    pub(crate) async fn handle(&self) -> PostgresStore {
        PostgresStore::connect(self.config.clone()).await.expect("another handle opens")
    }

    /// Where its database is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    async fn execute(
        &self,
        sql: &str,
        params: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> u64 {
        let sql = of_schema(sql, self.schema);
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
            capabilities: &Capability::ALL,
            can_corrupt: true,
            can_rewind: true,
            clock_stands: self.stands,
            second_handle: true,
            cancels_cross_handles: true,
            raw_dump: true,
            drops_history: true,
            atomic_across_queues: true,
            durability: Some(Durability::ProcessKill),
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
        Some(Arc::new(self.handle().await))
    }

    async fn corrupt(&self, id: JobId) -> bool {
        let id = id.to_string();
        let corrupt =
            include_str!("../../sql/postgres_corrupt.sql").replace("$1", &format!("'{id}'"));
        self.execute(&corrupt, &[]).await == 1
    }

    async fn raw_dump(&self) -> Option<Vec<String>> {
        Some(raw_dump::postgres(&self.client, self.schema).await)
    }

    async fn dispose(&self) {
        self.backend.close().await.expect("the store closes");
        let database = self.database.lock().expect("the lock").take();
        if let Some(database) = database {
            database.drop().await;
        }
    }
}
