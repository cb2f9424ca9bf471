//! Helpers of queuekit's own tests, beside the conformance suite: servers to use, to kill and to
//! cut off, and processes that are killed or lose their power while they use a store.
//!
//! `tests/` has a program per store. The suite itself, which needs none of this, is the crate
//! `queuekit-conformance`.

#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

pub mod crash;
pub mod raw_dump;
pub mod servers;
