//! Whatever reply of Postgres is lost, repeating the call is safe (contract R0.1, R10.1).

use std::time::Duration;

use crate::common::lost_replies::{LossyStage, lost_replies};
use crate::common::store_fixture::Stage;
use queuekit_integration_tests::servers::Proxy;
use queuekit_postgres::PostgresStore;

impl LossyStage for Stage {
    type Store = PostgresStore;

    async fn open(test: &str) -> Option<Self> {
        Self::open(test).await
    }

    fn store(&self) -> &PostgresStore {
        &self.store
    }

    fn server(&self) -> String {
        self.database.url()
    }

    async fn through(&self, proxy: &Proxy, op_timeout: Duration) -> PostgresStore {
        let settings = format!("pool_size=2&listen=off&op_timeout_ms={}", op_timeout.as_millis());
        let url = proxy.url(&self.url(&settings));
        PostgresStore::connect_url(&url).await.expect("it opens by way of the proxy")
    }

    async fn assert_exact(&self) {
        self.assert_exact().await;
    }

    async fn end(self) {
        self.end().await;
    }
}

lost_replies!(Stage);
