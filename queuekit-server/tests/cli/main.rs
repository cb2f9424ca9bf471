//! The binary, as people and scripts use it.
// They send signals.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

mod dev;
mod doctor;
mod enqueue;
mod key;
mod migrate;
mod sandbox;
mod secrets;
mod serve;
mod settings;
mod work;
