//! Harnesses of the stores that have servers or files.
#![allow(dead_code, reason = "each test target uses what it needs of it")]

pub(crate) mod authority;
pub(crate) mod files;
pub(crate) mod gated_handler;
#[cfg(unix)]
pub(crate) mod key_load;
pub(crate) mod lost_replies;
#[cfg(unix)]
pub(crate) mod partition;
pub(crate) mod pooler;
pub(crate) mod postgres;
#[cfg(unix)]
pub(crate) mod postgres_crash_site;
pub(crate) mod psql;
pub(crate) mod quiet;
pub(crate) mod redis;
pub(crate) mod redis_clock;
#[cfg(unix)]
pub(crate) mod redis_crash_site;
#[cfg(unix)]
pub(crate) mod redis_load;
#[cfg(unix)]
pub(crate) mod redis_nodes;
pub(crate) mod redis_store_fixture;
pub(crate) mod sqlite;
#[cfg(unix)]
pub(crate) mod sqlite_crash_site;
pub(crate) mod store_fixture;
pub(crate) mod system;
pub(crate) mod taken_ids;
pub(crate) mod upgrade;
