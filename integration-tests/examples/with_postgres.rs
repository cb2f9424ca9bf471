//! Runs a program that needs a Postgres database, with one that is there for it alone:
//! `with_postgres PROGRAM ARGUMENTS..`. It finds its URL in `QUEUEKIT_EXAMPLE_POSTGRES_URL`.
//!
//! Where the server comes from: see `queuekit_integration_tests::servers`.
#![expect(clippy::print_stderr, reason = "a program says why it fails")]

use std::env;
use std::process::{Command, ExitCode};

use queuekit_integration_tests::servers;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut words = env::args_os().skip(1);
    let Some(program) = words.next() else {
        eprintln!("with_postgres: say which program to run: with_postgres PROGRAM ARGUMENTS..");
        return ExitCode::from(2);
    };
    let Some(server) = servers::postgres() else { return ExitCode::FAILURE };
    let database = server.database().await;
    // A server that is started for tests does not sync, and the store accepts that only with this
    // setting.
    let url = format!("{}?allow_volatile=on", database.url());
    let status =
        Command::new(&program).args(words).env("QUEUEKIT_EXAMPLE_POSTGRES_URL", url).status();
    database.drop().await;
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("with_postgres: cannot run {}: {error}", program.display());
            ExitCode::FAILURE
        }
    }
}
