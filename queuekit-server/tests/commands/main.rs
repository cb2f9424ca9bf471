//! Commands of operators: on a store of each kind and through a server, with the same output.
// They send signals.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

#[path = "../common/mod.rs"]
mod common;
mod place;
#[allow(dead_code, reason = "it has more for others")]
#[path = "../cli/sandbox.rs"]
mod sandbox;

mod bench;
mod bulk;
mod cron;
mod doctor;
mod events;
mod jobs;
mod pages;
mod queues;
mod refusals;
mod stub;
mod watching;
