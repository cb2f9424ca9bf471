//! The designs that are compared: the store as it is, and bare ones in SQL.

use std::sync::Arc;

use queuekit_benches::{fill, request};
use queuekit_core::{Ack, Backend};
use queuekit_postgres::PostgresStore;
use queuekit_postgres::tokio_postgres::{Client, Statement};
use uuid::Uuid;

use crate::server::connect;

/// Jobs per statement that stores them.
const CHUNK: usize = 1000;

/// As the store sets it, so that all have the same chance of a good plan.
const SETTINGS: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// The statements of a bare design; without any it is the store itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Design {
    pub(crate) name: &'static str,
    sql: Option<Sql>,
}

#[derive(Clone, Copy, Debug)]
struct Sql {
    schema: &'static str,
    fill: &'static str,
    reserve: &'static str,
    ack: &'static str,
}

macro_rules! sql {
    ($directory:literal) => {
        Some(Sql {
            schema: include_str!(concat!("../../designs/postgres/", $directory, "/schema.sql")),
            fill: include_str!(concat!("../../designs/postgres/", $directory, "/fill.sql")),
            reserve: include_str!(concat!("../../designs/postgres/", $directory, "/reserve.sql")),
            ack: include_str!(concat!("../../designs/postgres/", $directory, "/ack.sql")),
        })
    };
}

pub(crate) const DESIGNS: [Design; 4] = [
    Design { name: "queuekit, complete", sql: None },
    Design { name: "its tables, bare", sql: sql!("narrow") },
    Design { name: "one table, updates", sql: sql!("usual") },
    Design { name: "one table, history", sql: sql!("deleting") },
];

/// One that reserves and acks, on a connection of its own.
pub(crate) enum Reserver {
    Bare { client: Client, reserve: Statement, ack: Statement },
    Store(Arc<dyn Backend>),
}

impl Design {
    /// Makes its tables in an empty database.
    pub(crate) async fn create(&self, url: &str) {
        match self.sql {
            None => drop(self.reserver(url).await),
            Some(sql) => {
                let client = connect(url).await;
                client.batch_execute(sql.schema).await.expect("the tables are made");
            }
        }
    }

    pub(crate) async fn fill(&self, url: &str, jobs: usize, first: usize) {
        let Some(sql) = self.sql else {
            let store = PostgresStore::connect_url(url).await.expect("the store opens");
            fill(&store, jobs, |job| job).await;
            return store.close().await.expect("close");
        };
        let client = connect(url).await;
        let statement = client.prepare(sql.fill).await.expect("fill.sql");
        // As long as that of the store's jobs.
        let payload: &[u8] = br#"{"number":12345}"#;
        for first in (first..first + jobs).step_by(CHUNK) {
            // In order, as ids are that begin with the time.
            let ids: Vec<Uuid> =
                (first..first + CHUNK).map(|id| Uuid::from_u128(id as u128)).collect();
            client.execute(&statement, &[&ids, &payload]).await.expect("fill");
        }
    }

    pub(crate) async fn reserver(&self, url: &str) -> Reserver {
        let Some(sql) = self.sql else {
            let store = PostgresStore::connect_url(url).await.expect("the store opens");
            return Reserver::Store(Arc::new(store));
        };
        let client = connect(url).await;
        client.batch_execute(SETTINGS).await.expect("settings");
        let reserve = client.prepare(sql.reserve).await.expect("reserve.sql");
        let ack = client.prepare(sql.ack).await.expect("ack.sql");
        Reserver::Bare { client, reserve, ack }
    }
}

/// What was reserved and is to be completed.
pub(crate) enum Reserved {
    Ids(Vec<Uuid>),
    Acks(Vec<Ack>),
}

impl Reserver {
    pub(crate) async fn reserve(&self, limit: usize) -> Reserved {
        match self {
            Self::Bare { client, reserve, .. } => {
                let limit = i32::try_from(limit).expect("a small number");
                let rows = client.query(reserve, &[&limit]).await.expect("reserve");
                Reserved::Ids(rows.iter().map(|row| row.get(0)).collect())
            }
            Self::Store(store) => {
                let reserved = store.reserve(&request(limit)).await.expect("reserve");
                let leases = reserved.leases.into_iter();
                Reserved::Acks(leases.map(|lease| Ack::new(lease.token)).collect())
            }
        }
    }

    /// How many were completed.
    pub(crate) async fn ack(&self, reserved: Reserved) -> usize {
        match (self, reserved) {
            (Self::Bare { client, ack, .. }, Reserved::Ids(mut ids)) => {
                ids.sort_unstable();
                let row = client.query_one(ack, &[&ids]).await.expect("ack");
                usize::try_from(row.get::<_, i64>(0)).expect("a count")
            }
            (Self::Store(store), Reserved::Acks(acks)) if !acks.is_empty() => {
                store.ack(&acks).await.expect("ack").len()
            }
            _ => 0,
        }
    }

    pub(crate) async fn close(self) {
        if let Self::Store(store) = self {
            store.close().await.expect("close");
        }
    }
}
