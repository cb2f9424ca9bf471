//! The tests of the Postgres store: the suite, the model, the worker, and what only this store has.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

#[path = "../common/mod.rs"]
mod common;

mod by_sql;
mod checkpoints;
mod clock;
mod close;
mod counts;
mod deadlocks;
mod doctor;
mod event_log;
mod exchange;
mod faults;
mod fence;
mod keys;
mod kill;
mod limits;
mod lost_replies;
mod many_queues;
mod merging;
mod migrations;
mod model;
mod outbox;
mod partition;
mod plans;
mod pooler;
mod queue_locks;
mod quiet;
mod refusals;
mod removal;
mod scale;
mod search_hints;
mod settling;
mod shadowing;
mod sql;
mod sql_ack;
mod sql_checkpoint;
mod sql_emit;
mod sql_enqueue_many;
mod tls;
mod transactions;
mod upgrade;
mod views;

use common::postgres::{LivePostgresHarness, PostgresHarness};
use queuekit_conformance::{conformance, worker_suite};

conformance!(conformance, PostgresHarness);
worker_suite!(worker, LivePostgresHarness);
