//! Servers for the tests of stores that need one.
//!
//! ```no_run
//! # use queuekit_integration_tests::servers;
//! # async fn test() {
//! // None: there is no server here; a line on stderr says so.
//! let Some(server) = servers::postgres() else { return };
//! let database = server.database().await;
//! let url = database.url();
//! // ..
//! database.drop().await;
//! # }
//! ```
//!
//! [`postgres`] and [`redis`] look for a server once per process: at the URL in
//! `QUEUEKIT_TEST_POSTGRES_URL` or `QUEUEKIT_TEST_REDIS_URL`, then among the programs of this
//! machine, then in Docker. Tests that would disturb the users of a shared server start their own:
//! [`OwnServer`] and [`OwnRedis`], which can be killed, and [`RedisCluster`] and [`RedisSentinels`]
//! of several servers. [`PgBouncer`] and [`Proxy`] go between a store and its server. A
//! [`ChromeDriver`] starts browsers.
//!
//! | variable | what it does |
//! |---|---|
//! | `QUEUEKIT_TEST_POSTGRES_URL` | a server that runs already; unreachable is a failure |
//! | `QUEUEKIT_TEST_POSTGRES_VERSION` | the major version to look for, among programs and images |
//! | `QUEUEKIT_TEST_POSTGRES_IMAGE` | the image for Docker, instead of `postgres:17-alpine` |
//! | `QUEUEKIT_TEST_REDIS_URL` | the same for a Redis or Valkey |
//! | `QUEUEKIT_TEST_REDIS_VERSION` | what a program of this machine must say it is, as `7.0.15` |
//! | `QUEUEKIT_TEST_REDIS_IMAGE` | the image for Docker, instead of `redis:7-alpine` |
//! | `QUEUEKIT_TEST_SERVERS` | where to look, in which order: `url,local,docker` |
//! | `QUEUEKIT_TEST_REQUIRE` | what has to be found, separated by commas: the words below |
//!
//! `postgres` and `redis` are servers from anywhere; `postgres-local`, `pgbouncer` and
//! `redis-local` the programs of this machine.
//!
//! Servers that were started here end with this process, however it ends; their data is removed.

mod account;
mod address;
mod admin;
mod background;
mod binaries;
mod chromedriver;
mod container;
mod daemon;
mod database;
mod environment;
mod own;
mod pgbouncer;
mod place;
mod postgres;
mod postgres_container;
mod proxy;
mod redis;
mod redis_cluster;
mod redis_container;
mod redis_own;
mod redis_sentinel;
mod resp;
mod settings;
mod source;

pub use chromedriver::{ChromeDriver, chromedriver};
pub use database::Database;
pub use own::OwnServer;
pub use pgbouncer::PgBouncer;
pub use postgres::{Postgres, postgres};
pub use proxy::{Counts, Mode, Proxy};
pub use redis::{Redis, redis};
pub use redis_cluster::{RedisCluster, redis_cluster};
pub use redis_own::{OwnRedis, RedisSettings, RedisStored};
pub use redis_sentinel::RedisSentinels;
pub use settings::Settings;
pub use source::Source;

/// The error is a sentence that tells the developer why there is no server.
type Result<T> = std::result::Result<T, String>;
