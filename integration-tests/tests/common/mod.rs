//! Harnesses of the stores that have servers or files.
#![allow(dead_code, reason = "each test target uses what it needs of it")]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

pub(crate) mod files;
#[cfg(unix)]
pub(crate) mod site;
pub(crate) mod postgres;
pub(crate) mod sqlite;
pub(crate) mod system;
