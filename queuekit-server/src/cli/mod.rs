//! The command line: one file per command, and the code that commands share.

mod api;
mod audit;
mod bench;
mod bulk;
mod cells;
mod completions;
mod context;
mod cron;
mod dev;
mod dlq;
mod doctor;
mod enqueue;
mod errors;
mod event;
mod event_retention;
mod exit;
mod format;
mod hardening;
mod history;
mod init;
mod job;
mod key;
mod logs;
mod migrate;
mod one_of_flag;
mod output;
mod payload;
mod queue;
#[cfg(test)]
mod reference;
mod reload;
mod retry;
mod serve;
mod shutdown;
mod stats;
mod subscription;
mod systemd;
mod table;
mod top;
mod work;
mod worker;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::config::{Sources, nearest};
use crate::error::Usage;
use crate::monitor::traces::Traces;
use context::Context;
use exit::Exit;
use output::Output;

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
  queuekit dev                              try it: server, worker and demo jobs, without setup
  queuekit init shop                        write a small application with a job and its handler
  queuekit serve --url postgres://localhost/jobs   the HTTP API
  queuekit work --queues emails,default     run jobs with the built-in handlers
  queuekit enqueue echo --payload '{\"a\": 1}'
  queuekit job list status:dead older:1h    dead jobs, with their errors
  queuekit job retry status:dead error:timeout --server https://jobs.example.com
  queuekit doctor                           what is wrong with the store, and how to fix it

A flag overrides the environment (and .env), and the environment overrides queuekit.toml.
Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 unhealthy.";

#[derive(Args, Debug)]
#[command(next_help_heading = "Everywhere")]
struct GlobalFlags {
    /// URL of the store: sqlite://PATH, postgres://.., redis://.. or memory: [env: QUEUEKIT_URL]
    /// [default: sqlite://queuekit.db]
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// URL of a server to use instead of a store: http://.. or https://.. [env: QUEUEKIT_SERVER].
    /// The API key is read from QUEUEKIT_API_KEY
    #[arg(long, global = true, value_name = "URL", conflicts_with = "url")]
    server: Option<String>,
    /// Settings file [default: ./queuekit.toml if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    /// URL of an OpenTelemetry collector, for traces, such as http://localhost:4318
    /// [env: OTEL_EXPORTER_OTLP_ENDPOINT]. OTEL_SERVICE_NAME sets the service name in traces
    /// [default: queuekit]
    #[arg(long, global = true, value_name = "URL")]
    otlp_endpoint: Option<String>,
    /// Format of logs on stderr; RUST_LOG sets the level
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text")]
    log_format: logs::LogFormat,
}

#[derive(Subcommand, Debug)]
enum Command {
    Dev(dev::Dev),
    Init(init::Init),
    Serve(serve::Serve),
    Work(work::Work),
    Enqueue(Box<enqueue::Enqueue>),
    #[command(subcommand)]
    Job(job::Job),
    #[command(subcommand)]
    Queue(queue::Queue),
    #[command(subcommand)]
    Dlq(dlq::Dlq),
    #[command(subcommand)]
    Cron(cron::Cron),
    #[command(subcommand)]
    Event(event::Event),
    #[command(subcommand)]
    Subscription(subscription::Subscription),
    #[command(subcommand)]
    Worker(worker::Worker),
    #[command(subcommand)]
    Errors(errors::Errors),
    Audit(audit::Audit),
    Stats(stats::Stats),
    Top(top::Top),
    Doctor(doctor::Doctor),
    Bench(bench::Bench),
    #[command(subcommand)]
    Migrate(migrate::Migrate),
    #[command(subcommand)]
    Key(key::Key),
    Completions(completions::Completions),
    Man(completions::Man),
}

/// Runs the command that the arguments name; the first of them is the program.
pub(crate) fn run(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        // clap reports `--help` and `--version` as errors too. If nobody reads them, that is fine.
        Err(mut error) => {
            suggest(&mut error, &arguments);
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success }.into();
        }
    };
    let exit = execute(cli).unwrap_or_else(|error| {
        let exit = Exit::of(&error);
        if exit != Exit::Success {
            exit::complain(&error);
        }
        exit
    });
    exit.into()
}

/// Suggests a command where clap finds none, for example if two letters changed places.
fn suggest(error: &mut clap::Error, arguments: &[OsString]) {
    let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return;
    }
    let mut command = &Cli::command();
    let arguments = arguments.iter().skip(1).map_while(|argument| argument.to_str());
    for argument in arguments.take_while(|argument| argument != written) {
        command = command.find_subcommand(argument).unwrap_or(command);
    }
    let names = command.get_subcommands().map(clap::Command::get_name);
    if let Some(name) = nearest(written, names) {
        let meant = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
}

fn execute(cli: Cli) -> Result<Exit> {
    let Cli { global, command } = cli;
    let sources = Sources::read(global.config.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("cannot start threads")?;
    let (flag, environment) = (global.otlp_endpoint.as_deref(), &sources.environment);
    let mut traces = match command.is_traced() {
        true => Traces::start(flag, environment, runtime.handle())?,
        false => Traces::default(),
    };
    // Logs would be written across the dashboard.
    let is_quiet = matches!(command, Command::Top(_));
    let filter = environment.get("RUST_LOG").or(is_quiet.then_some("off"));
    logs::init(global.log_format, filter, command.runs_on(), traces.layer())?;
    // Other commands end soon and start no processes.
    if command.runs_on() {
        hardening::forbid_memory_reads();
        sources.announce();
        traces.announce();
    }
    let GlobalFlags { url, server, json, .. } = global;
    if server.is_some() && command.needs_store() {
        let told = "this command needs a store: pass --url instead of --server";
        return Err(Usage::error(told));
    }
    let context = Context { url, server, sources, output: Output { json } };
    let exit = runtime.block_on(command.run(context));
    traces.finish();
    // A look-up of a name or a read of a file may hang, and dropping the runtime would wait for it.
    runtime.shutdown_timeout(Duration::from_secs(1));
    exit
}

impl Command {
    async fn run(self, context: Context) -> Result<Exit> {
        match self {
            Self::Dev(dev) => dev.run(context).await,
            Self::Init(init) => init.run(&context),
            Self::Serve(serve) => serve.run(context).await,
            Self::Work(work) => work.run(context).await,
            Self::Enqueue(enqueue) => enqueue.run(context).await,
            Self::Job(job) => job.run(context).await,
            Self::Queue(queue) => queue.run(context).await,
            Self::Dlq(dlq) => dlq.run(context).await,
            Self::Cron(cron) => cron.run(context).await,
            Self::Event(event) => event.run(context).await,
            Self::Subscription(subscription) => subscription.run(context).await,
            Self::Worker(worker) => worker.run(context).await,
            Self::Errors(errors) => errors.run(context).await,
            Self::Audit(audit) => audit.run(context).await,
            Self::Stats(stats) => stats.run(context).await,
            Self::Top(top) => top.run(context).await,
            Self::Doctor(doctor) => doctor.run(context).await,
            Self::Bench(bench) => bench.run(context).await,
            Self::Migrate(migrate) => migrate.run(context).await,
            Self::Key(key) => key.run(&context),
            Self::Completions(completions) => completions.run(&context, Cli::command()),
            Self::Man(man) => man.run(&context, Cli::command()),
        }
    }

    fn needs_store(&self) -> bool {
        self.runs_on() || matches!(self, Self::Doctor(_) | Self::Bench(_) | Self::Migrate(_))
    }

    /// Whether the command stores or runs jobs; others have no spans.
    fn is_traced(&self) -> bool {
        self.runs_on() || matches!(self, Self::Enqueue(_) | Self::Event(_))
    }

    /// Whether the command runs until it is stopped. It then logs what it does, while other
    /// commands print their answer.
    fn runs_on(&self) -> bool {
        matches!(self, Self::Dev(_) | Self::Serve(_) | Self::Work(_))
    }
}

#[cfg(test)]
mod tests {
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
