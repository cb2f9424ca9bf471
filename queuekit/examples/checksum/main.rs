//! Checksums a directory: one job per file, hashed by a worker, the digest stored as its result.
//!
//! ```text
//! cargo run --release --example checksum -- [--url URL] [--workers N] [--print] [DIR]
//! ```
//!
//! The same program runs on every store: only the URL differs. In reading order: `options` (the
//! command line), `run` (the whole of it), `walk` (finds the files), `hash` (the job and its
//! handler), `progress` (what has ended, by the store's counts), `report` (results, and how they
//! are printed).
#![expect(clippy::print_stderr, reason = "it is a program")]

mod hash;
mod options;
mod progress;
mod report;
mod run;
mod walk;

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use options::{HELP, Options, Request, USAGE};
use queuekit::{Client, ErrorKind};

/// What can go wrong on the way, from whichever library.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    let options = match Request::parse(std::env::args_os().skip(1)) {
        Ok(Request::Run(options)) => options,
        Ok(Request::Help) => {
            let printed = writeln!(io::stdout(), "{HELP}");
            return printed.map_or_else(failed, |()| ExitCode::SUCCESS);
        }
        Err(wrong) => return misused(wrong),
    };
    if let Err(wrong) = options.check_directory() {
        return misused(wrong);
    }
    match queuekit::connect(&options.url).await {
        Ok(client) => checksum(&client, &options).await.unwrap_or_else(failed),
        Err(error) => match error.kind() {
            ErrorKind::Invalid { .. } | ErrorKind::Unsupported => misused(error),
            _ => failed(error),
        },
    }
}

async fn checksum(client: &Client, options: &Options) -> Result<ExitCode> {
    let report = run::run(client, options).await?;
    let code = ExitCode::from(u8::from(!report.failures.is_empty()));
    report.print(options.print)?;
    Ok(code)
}

fn misused(wrong: impl Display) -> ExitCode {
    eprintln!("checksum: {wrong}\n{USAGE}");
    ExitCode::from(2)
}

fn failed(error: impl Display) -> ExitCode {
    eprintln!("checksum: {error}");
    ExitCode::from(1)
}
