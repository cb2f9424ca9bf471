//! Harnesses of the stores that have servers or files.
#![allow(dead_code, reason = "each test target uses what it needs of it")]

pub(crate) mod files;
pub(crate) mod sqlite;
