//! Harnesses of the stores that have servers or files.
#![allow(dead_code, reason = "each test target uses what it needs of it")]

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
pub(crate) mod redis_clock;
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
