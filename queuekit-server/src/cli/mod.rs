//! The command line: one file per command, and what they share.

mod context;
mod dev;
mod doctor;
mod enqueue;
mod exit;
mod key;
mod logs;
mod migrate;
mod output;
mod quantity;
mod serve;
mod stop;
mod systemd;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand};

use crate::config::Sources;
use context::Context;
use exit::Exit;
use output::Output;

pub(crate) use exit::Usage;

/// Durable background jobs: a server, workers and tools over SQLite, Postgres or Redis.
#[derive(Parser, Debug)]
#[command(name = "queuekit", version, arg_required_else_help = true, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    global: GlobalFlags,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  queuekit dev                              look around: server, worker and demo jobs, no set-up
  queuekit serve --url postgres://localhost/jobs   the HTTP API
  queuekit work --queues emails,default     run jobs with the handlers that are built in
  queuekit enqueue echo --payload '{\"a\": 1}'
  queuekit doctor                           what is wrong with the store, and what to do

Settings: a flag goes before the environment (and .env), that before queuekit.toml.
Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 unhealthy.";

#[derive(Args, Debug)]
#[command(next_help_heading = "Everywhere")]
struct GlobalFlags {
    /// The store: sqlite://PATH, postgres://.., redis://.. or memory: [env: QUEUEKIT_URL] [default:
    /// sqlite://queuekit.db]
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// The file of settings [default: ./queuekit.toml if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long, global = true)]
    json: bool,
    /// How to log, to stderr; RUST_LOG says how much
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    log_format: logs::LogFormat,
}

#[derive(Subcommand, Debug)]
enum Command {
    Dev(dev::Dev),
    Serve(serve::Serve),
    Work(work::Work),
    Enqueue(Box<enqueue::Enqueue>),
    #[command(subcommand)]
    Migrate(migrate::Migrate),
    Doctor(doctor::Doctor),
    #[command(subcommand)]
    Key(key::Key),
}

/// Runs the command that the arguments name.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and version are told this way too. A reader that has gone away misses nothing.
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success }.into();
        }
    };
    let exit = run(cli).unwrap_or_else(|error| {
        let exit = Exit::of(&error);
        if exit != Exit::Success {
            output::complain(&error);
        }
        exit
    });
    exit.into()
}

fn run(cli: Cli) -> Result<Exit> {
    let Cli { global, command } = cli;
    let sources = Sources::read(global.config.as_deref())?;
    logs::init(global.log_format, sources.environment.get("RUST_LOG"))?;
    let context = Context { url: global.url, sources, output: Output { json: global.json } };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("the system gave no threads")?;
    runtime.block_on(command.run(context))
}

impl Command {
    async fn run(self, context: Context) -> Result<Exit> {
        match self {
            Self::Dev(dev) => dev.run(context).await,
            Self::Serve(serve) => serve.run(context).await,
            Self::Work(work) => work.run(context).await,
            Self::Enqueue(enqueue) => enqueue.run(context).await,
            Self::Migrate(migrate) => migrate.run(context).await,
            Self::Doctor(doctor) => doctor.run(context).await,
            Self::Key(key) => key.run(&context),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_flag_is_described_and_its_lines_fit() {
        fn check(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
