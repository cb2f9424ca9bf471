//! Whatever reply of Redis is lost, repeating the call is safe (contract R0.1, R10.1).

use std::time::Duration;

use crate::common::lost_replies::{LossyStage, lost_replies};
use crate::common::redis_store_fixture::RedisStage;
use queuekit_integration_tests::servers::Proxy;
use queuekit_redis::RedisStore;

impl LossyStage for RedisStage {
    type Store = RedisStore;

    async fn open(test: &str) -> Option<Self> {
        Self::open(test).await
    }

    fn store(&self) -> &RedisStore {
        &self.store
    }

    fn server(&self) -> String {
        self.server.clone()
    }

    async fn through(&self, proxy: &Proxy, op_timeout: Duration) -> RedisStore {
        let settings = format!("op_timeout_ms={}", op_timeout.as_millis());
        let url = proxy.url(&self.url(&settings));
        RedisStore::connect_url(&url).await.expect("it opens by way of the proxy")
    }

    async fn assert_exact(&self) {
        self.assert_exact().await;
    }

    async fn end(self) {
        self.end().await;
    }
}

lost_replies!(RedisStage);
lost_replies!(RedisStage: r14_4_a_change_of_subscriptions_whose_reply_was_lost_is_repeated);
