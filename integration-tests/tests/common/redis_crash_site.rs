//! The Redis store in crash tests.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use queuekit_conformance::skip;
use queuekit_core::Backend;
use queuekit_integration_tests::crash::{Role, Server, Site};
use queuekit_integration_tests::servers::{self, OwnRedis};
use queuekit_redis::RedisStore;
use redis::cmd;

use super::redis_store_fixture::{assert_exact, command, remove, url};

/// This many jobs are looked at in a fraction of a lease TTL.
const FEW: u64 = 3000;

/// Prefixes of the server that tests share, or of one of its own.
#[derive(Debug, Default)]
pub(crate) struct RedisSite {
    /// The URL of the server of its own, in the process that runs it.
    own: Option<String>,
}

impl RedisSite {
    /// A site in the server that tests share; none where there is no server, and a line on stderr
    /// says so.
    pub(crate) fn shared(test: &str) -> Option<Self> {
        // A process that was started to play a role gets the place of the store.
        if Role::of_this_process().is_none() && servers::redis().is_none() {
            skip(test, "there is no Redis server");
            return None;
        }
        Some(Self::default())
    }

    /// In this server, where it is known.
    pub(crate) fn of(server: Option<&KilledRedis>) -> Self {
        Self { own: server.map(|server| server.0.url()) }
    }
}

/// Server and prefix of a place.
fn parts(place: &str) -> (&str, &str) {
    let (server, prefix) = place.split_once("/0?prefix=").expect("a place of this site");
    (server, prefix.trim_end_matches('&'))
}

#[async_trait]
impl Site for RedisSite {
    async fn create(&self, _: &Path) -> String {
        match &self.own {
            Some(own) => url(own, "crash", ""),
            None => {
                let server = servers::redis().expect("a server");
                url(server.url(), &server.prefix(), "")
            }
        }
    }

    async fn open(&self, place: &str) -> Arc<dyn Backend> {
        Arc::new(RedisStore::connect_url(place).await.expect("the store opens"))
    }

    /// Asserts that derived data agrees with the jobs. The check is one script that takes 50 us per
    /// job: it runs beside the load while there are few jobs, and again when all have ended.
    async fn check(&self, place: &str) {
        let (server, prefix) = parts(place);
        let count = async |part: &str| -> u64 {
            command(server, cmd("ZCARD").arg(format!("{prefix}:{{crash}}:crash:{part}"))).await
        };
        let busy = count("ready").await + count("leased").await > 0;
        if !busy || count("completed").await < FEW {
            assert_exact(server, prefix).await;
        }
    }

    async fn dispose(&self, place: &str) {
        let (server, prefix) = parts(place);
        remove(server, prefix).await;
    }
}

/// A Redis server that is killed.
#[derive(Debug)]
pub(crate) struct KilledRedis(pub(crate) OwnRedis);

#[async_trait]
impl Server for KilledRedis {
    fn kill(&mut self) {
        self.0.kill();
    }

    async fn restart(&mut self) {
        self.0.restart().await;
    }
}
