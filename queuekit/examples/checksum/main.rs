//! Checksums a directory: a job per file. A worker hashes the file, and stores the digest as the
//! result.
//!
//! ```text
//! cargo run --release --example checksum -- [--url URL] [--workers N] [--print] [DIR]
//! ```
//!
//! The program runs on every store: only the URL differs. Its jobs outlive it. If it is killed at
//! any moment and started again, it continues where it was, and ends with the same digests.
//!
//! In reading order: `options` (the command line), `directory` (where the files are), `queue`
//! (finds an unfinished run), `run` (a whole run), `walk` (finds the files), `hash` (the job and
//! its handler), `progress` (how far the work is, by the store's counts), `report` (prints the
//! results).
#![expect(clippy::print_stderr, reason = "it is a program")]

mod directory;
mod hash;
mod options;
mod progress;
mod queue;
mod report;
mod run;
mod walk;

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use directory::Directory;
use indicatif::HumanCount;
use options::{DEFAULT_FILE, DEFAULT_URL, HELP, Options, Request, USAGE};
use queue::RunQueue;
use queuekit::{Client, ErrorKind};

/// An error of any library.
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
    let directory = match Directory::find(&options.directory) {
        Ok(directory) => directory,
        Err(wrong) => return misused(wrong),
    };
    match queuekit::connect(&options.url).await {
        Ok(client) => checksum(&client, &directory, &options).await.unwrap_or_else(failed),
        Err(error) => match error.kind() {
            ErrorKind::Invalid { .. } | ErrorKind::Unsupported => misused(error),
            _ => failed(error),
        },
    }
}

async fn checksum(client: &Client, directory: &Directory, options: &Options) -> Result<ExitCode> {
    let queue = RunQueue::open(client, &directory.root).await?;
    if let Some(ended) = queue.resumed {
        let ended = HumanCount(ended);
        eprintln!("checksum: going on with a run that did not end; {ended} files are done");
    } else if options.url == DEFAULT_URL {
        eprintln!("checksum: the jobs are in {DEFAULT_FILE}; if stopped, start it again to go on");
    }
    let report = run::run(client, &queue, directory, options).await?;
    let code = ExitCode::from(u8::from(!report.failures.is_empty()));
    report.print(directory, options.print)?;
    // Marks the run as over only now, so that a run killed before this is printed again.
    queue.close(client).await?;
    client.close().await?;
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
