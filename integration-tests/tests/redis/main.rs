//! The tests of the Redis store: the suite, the model, the worker, and what only this store has.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

#[path = "../common/mod.rs"]
mod common;

mod acl;
mod calls;
mod close;
mod cluster;
mod cluster_contract;
mod cut_replies;
mod damage;
mod due_together;
mod faults;
mod heartbeats;
mod idempotency;
mod keys;
mod kill;
mod large_jobs;
mod layout;
mod limits;
mod listing;
mod lossy;
mod lossy_failover;
mod lost_replies;
mod model;
mod nack;
mod opening;
mod outbox;
mod partition;
mod plain_enqueue;
mod queue_of_job;
mod quiet;
mod replicas;
mod scale;
mod schedules;
mod sentinel;
mod storage_full;
mod tls;
mod wakeups;

use common::redis::{LiveRedisHarness, RedisHarness};
use queuekit_conformance::{conformance, worker_suite};

conformance!(conformance, RedisHarness);
worker_suite!(worker, LiveRedisHarness);
