//! The suite itself: on the store in memory, through wrappers, against stores that are broken on
//! purpose; and the servers that tests of other stores need.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

mod absent;
mod broken;
mod limits;
mod model;
mod proxy;
mod registry;
mod servers;
mod wrappers;

use queuekit_conformance::worker::LiveMemoryHarness;
use queuekit_conformance::{MemoryHarness, conformance, worker_suite};

conformance!(conformance, MemoryHarness);
// This clock advances by itself, and cases allow for it.
conformance!(slack, LiveMemoryHarness);
worker_suite!(worker, LiveMemoryHarness);
