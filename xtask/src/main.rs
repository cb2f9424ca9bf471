//! Everything a person or CI runs: `cargo xtask test | ci | tidy | mutants | ..`.
//!
//! It is a program of this workspace and not a shell script, so that a laptop and CI run the same
//! steps on every system, and so that the rules it enforces have tests of their own.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool talks to a person through its standard streams"
)]

mod axe;
mod bench;
mod beside;
mod book;
mod ci;
mod client_types;
mod command_line;
mod cpu;
mod error;
mod examples;
mod mutants;
mod pairs;
mod peers;
mod registries;
mod rustdoc;
mod sbom;
mod schemathesis;
mod servers;
mod steps;
mod system;
mod test;
mod tidy;
mod tools;
mod usage;
mod versions;
mod workspace;

use std::process::ExitCode;

use error::{Error, Result};
use usage::{Request, USAGE};

fn main() -> ExitCode {
    if let Some(ended) = rustdoc::in_its_place() {
        return ended;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    match Request::parse(&args).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ Error::Usage(_)) => {
            eprintln!("error: {error}\n\n{USAGE}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(request: Request) -> Result<()> {
    match request {
        Request::Test(options) => test::run(&options),
        Request::Ci(options) => ci::run(&options),
        Request::Tidy => tidy::run(),
        Request::Beside => beside::run(),
        Request::Book => book::run(),
        Request::BookSupports => Ok(()),
        Request::Bench { args } => bench::run(&args),
        Request::Mutants(options) => mutants::run(options).map(drop),
        Request::Pairs(options) => pairs::run(&options),
        Request::Peers(options) => peers::run(&options),
        Request::Sbom(options) => sbom::run(&options),
        Request::Versions(options) => versions::command(&options),
        Request::Help => {
            println!("{USAGE}");
            Ok(())
        }
    }
}
