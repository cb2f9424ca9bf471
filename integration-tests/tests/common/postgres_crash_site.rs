//! The Postgres store in crash tests.

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use queuekit_conformance::skip;
use queuekit_core::Backend;
use queuekit_integration_tests::crash::{Role, Server, Site};
use queuekit_integration_tests::servers::{self, Database, OwnServer};
use queuekit_postgres::PostgresStore;

use super::store_fixture::{assert_exact, client, url};

/// A database of the server that tests share, or of one of its own.
#[derive(Debug, Default)]
pub(crate) struct PostgresSite {
    /// The URL of the server of its own, in the process that runs it.
    own: Option<String>,
    databases: Mutex<Vec<Database>>,
}

impl PostgresSite {
    /// A site in the server that tests share; none where there is no server, and a line on stderr
    /// says so.
    pub(crate) fn shared(test: &str) -> Option<Self> {
        // A process that was started to play a role gets the place of the store.
        if Role::of_this_process().is_none() && servers::postgres().is_none() {
            skip(test, "there is no Postgres server");
            return None;
        }
        Some(Self::default())
    }

    /// In this server, where it is known.
    pub(crate) fn of(server: Option<&KilledServer>) -> Self {
        Self { own: server.map(|server| server.0.url()), ..Self::default() }
    }
}

#[async_trait]
impl Site for PostgresSite {
    async fn create(&self, _: &Path) -> String {
        if let Some(own) = &self.own {
            return url(own, "crash", "pool_size=4");
        }
        let database = servers::postgres().expect("a server").database().await;
        let place = url(&database.url(), "crash", "pool_size=4");
        self.databases.lock().expect("nobody panicked").push(database);
        place
    }

    async fn open(&self, place: &str) -> Arc<dyn Backend> {
        Arc::new(PostgresStore::connect_url(place).await.expect("the store opens"))
    }

    /// Asserts that derived data agrees with the jobs.
    async fn check(&self, place: &str) {
        let (address, _) = place.split_once('?').expect("a URL with settings");
        let client = client(address).await;
        let sql = include_str!("../../sql/postgres_has_schema.sql");
        // The process that was making the schema may have been killed.
        if client.query_one(sql, &[]).await.expect("a look").get(0) {
            assert_exact(&client, "queuekit").await;
        }
    }

    async fn dispose(&self, place: &str) {
        let mut databases = std::mem::take(&mut *self.databases.lock().expect("nobody panicked"));
        let of_place = |database: &mut Database| place.starts_with(&database.url());
        for database in databases.extract_if(.., of_place) {
            database.drop().await;
        }
        self.databases.lock().expect("nobody panicked").append(&mut databases);
    }
}

/// A Postgres server that is killed.
#[derive(Debug)]
pub(crate) struct KilledServer(pub(crate) OwnServer);

#[async_trait]
impl Server for KilledServer {
    fn kill(&mut self) {
        self.0.kill();
    }

    async fn restart(&mut self) {
        self.0.restart().await;
    }
}
