//! The Postgres store behind a pooler, under the suite.

use std::sync::Arc;

use async_trait::async_trait;
use queuekit_conformance::{Harness, World};
use queuekit_integration_tests::servers::{self, PgBouncer};
use tokio::sync::OnceCell;

use super::postgres::PostgresWorld;

/// The pgbouncer of this process, in front of the server that its tests share.
pub(crate) async fn pooler() -> Option<&'static PgBouncer> {
    static POOLER: OnceCell<Option<PgBouncer>> = OnceCell::const_new();
    let start = || async { PgBouncer::start(&servers::postgres()?.url()).await };
    POOLER.get_or_init(start).await.as_ref()
}

/// Opens stores whose transactions go through it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PoolerHarness;

#[async_trait]
impl Harness for PoolerHarness {
    async fn open(&self) -> Arc<dyn World> {
        let pooler = pooler().await.expect("a pooler");
        Arc::new(PostgresWorld::stopped_behind(pooler).await)
    }

    async fn why_absent(&self) -> Option<String> {
        if servers::postgres().is_none() {
            return Some("there is no Postgres server".to_owned());
        }
        pooler().await.is_none().then(|| "there is no pgbouncer".to_owned())
    }
}
