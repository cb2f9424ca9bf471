//! The handlers that are built in, through the binary: what becomes of jobs, and of workers that
//! are killed.
// They send signals and make pipes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail")]

#[allow(dead_code, reason = "shared with tests of other things")]
#[path = "../../../integration-tests/tests/common/authority.rs"]
mod authority;
mod email;
mod exec;
mod http;
mod http_guard;
mod kill;
mod mail_server;
mod place;
mod receiver;
#[allow(dead_code, reason = "shared with tests of other things")]
#[path = "../cli/sandbox.rs"]
mod sandbox;
mod settings;
mod wire;
