//! Harnesses of the stores that have servers or files.
#![allow(dead_code, reason = "each test target uses what it needs of it")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

pub(crate) mod authority;
pub(crate) mod files;
pub(crate) mod gated;
#[cfg(unix)]
pub(crate) mod key_load;
pub(crate) mod lost_replies;
pub(crate) mod pooler;
pub(crate) mod postgres;
#[cfg(unix)]
pub(crate) mod postgres_site;
pub(crate) mod psql;
pub(crate) mod redis;
#[cfg(unix)]
pub(crate) mod redis_load;
#[cfg(unix)]
pub(crate) mod redis_nodes;
#[cfg(unix)]
pub(crate) mod redis_site;
pub(crate) mod redis_stage;
#[cfg(unix)]
pub(crate) mod site;
pub(crate) mod sqlite;
pub(crate) mod stage;
pub(crate) mod system;

/// Says that a test was skipped: straight to standard error, which nobody captures.
pub(crate) fn skip(test: &str, why: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("SKIPPED {test}: {why}\n").as_bytes());
}
