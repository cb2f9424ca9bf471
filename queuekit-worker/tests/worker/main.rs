//! A worker over the store in memory, whose clock stands still.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

mod common;
mod drain;
mod kind_limits;
mod leases;
mod outcomes;
#[cfg(feature = "tower")]
mod tower;
mod traces;
