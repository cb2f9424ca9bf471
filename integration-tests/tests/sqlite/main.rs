//! The tests of the SQLite store: the suite, the model, the worker, and what only this store has.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

#[path = "../common/mod.rs"]
mod common;

mod boundary_cases;
mod checkpoints;
mod close;
mod damage;
mod due_together;
mod fence;
mod foreign_database;
mod handles;
mod kill;
mod limits;
mod locks;
mod many_queues;
mod merging;
mod model;
mod moved_file;
mod moving;
mod opening;
mod outbox;
#[cfg(target_os = "linux")]
mod power_loss;
#[cfg(target_os = "linux")]
mod power_loss_shim;
mod storage_full;
mod transactions;
mod upkeep;

use common::sqlite::{LiveSqliteHarness, SqliteHarness};
use queuekit_conformance::{conformance, worker_suite};

conformance!(conformance, SqliteHarness);
worker_suite!(worker, LiveSqliteHarness);
