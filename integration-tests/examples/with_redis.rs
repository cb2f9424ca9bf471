//! Runs a program that needs a Redis server: `with_redis PROGRAM ARGUMENTS..`. It finds its URL in
//! `QUEUEKIT_EXAMPLE_REDIS_URL`, with a prefix that is there for it alone.
//!
//! Where the server comes from: see `queuekit_integration_tests::servers`.
#![expect(clippy::print_stderr, reason = "a program says why it fails")]

use std::env;
use std::process::{Command, ExitCode};

use queuekit_integration_tests::servers;

fn main() -> ExitCode {
    let mut words = env::args_os().skip(1);
    let Some(program) = words.next() else {
        eprintln!("with_redis: say which program to run: with_redis PROGRAM ARGUMENTS..");
        return ExitCode::from(2);
    };
    let Some(server) = servers::redis() else { return ExitCode::FAILURE };
    let url = format!("{}?prefix={}", server.url(), server.prefix());
    match Command::new(&program).args(words).env("QUEUEKIT_EXAMPLE_REDIS_URL", url).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("with_redis: cannot run {}: {error}", program.display());
            ExitCode::FAILURE
        }
    }
}
