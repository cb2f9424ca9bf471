//! The suite itself: on the store in memory, through wrappers, against stores that are broken on
//! purpose; and the servers that tests of other stores need.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

mod broken;
mod limits;
mod model;
mod proxy;
mod registry;
mod servers;
mod wrappers;

use queuekit_integration_tests::worker::LiveMemoryHarness;
use queuekit_integration_tests::{MemoryHarness, conformance, worker_suite};

conformance!(conformance, MemoryHarness, full);
worker_suite!(worker, LiveMemoryHarness);
