//! The binary `queuekit`, as people, scripts and other programs use it.

#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and says what it has found"
)]

#[allow(dead_code, reason = "shared with tests of other things")]
#[path = "../../../integration-tests/tests/common/authority.rs"]
mod authority;
mod browser;
mod cli;
mod commands;
mod common;
mod deploy;
mod handlers;
mod http;
mod sandbox;
#[cfg(feature = "otlp")]
mod traces;
mod ui;
