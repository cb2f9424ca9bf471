//! `queuekit work`

use std::fmt;

use anyhow::Result;
use clap::Args;
use queuekit::{Client, RunSummary, Worker};
use serde::Serialize;

use super::context::Context;
use super::exit::Exit;
use super::stop::{Hangups, Stop};
use super::{reload, systemd};
use crate::config::{WorkFlags, WorkSettings};
use crate::handlers::Handler;

/// Run jobs with the handlers that are built in: echo, sleep, http, email, exec
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Work {
    #[command(flatten)]
    flags: WorkFlags,
    /// The name under which the worker is listed
    #[arg(long, default_value = "worker")]
    name: String,
    /// End when nothing is left that can run now, rather than wait for more
    #[arg(long)]
    until_idle: bool,
}

const EXAMPLES: &str = "\
Examples:
  queuekit work
  queuekit work --queues critical,default --concurrency 50 --name mailer-1
  queuekit work --until-idle --json          what there is now, then the figures

SIGTERM or Ctrl-C ends it: what runs may finish within 30 s, the rest is handed on to other workers
without counting an attempt. A second signal hands on at once.";

/// What a worker did: how many runs ended in which way.
#[derive(Serialize)]
struct Figures {
    completed: u64,
    failed: u64,
    dead: u64,
    released: u64,
    cancelled: u64,
    lease_lost: u64,
}

impl Work {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let settings = WorkSettings::resolve(self.flags, &context.sources)?;
        reload::ignore_hangups(Hangups::listen()?);
        let client = context.connect().await?;
        let queues: Vec<&str> = settings.queues.iter().map(AsRef::as_ref).collect();
        let queues = queues.join(", ");
        let worker = worker(client.clone(), settings).name(self.name);
        let summary = if self.until_idle {
            worker.run_until_idle().await?
        } else {
            let stop = Stop::listen()?;
            let running = worker.start().await?;
            let address = context.address();
            tracing::info!(worker = %running.id(), %queues, store = %address, "working");
            systemd::ready();
            stop.run_until(&running).await?
        };
        client.close().await?;
        let figures = Figures::from(summary);
        context.output.answer(&figures, &figures)?;
        Ok(Exit::Success)
    }
}

/// A worker with these handlers; says which they are.
pub(crate) fn worker(client: Client, settings: WorkSettings) -> Worker {
    let WorkSettings { queues, concurrency, lease, handlers } = settings;
    let kinds: Vec<&str> = handlers.iter().map(Handler::kind).collect();
    tracing::info!(handlers = kinds.join(", "), "handlers that are on");
    let worker = Worker::new(client).queues(queues).concurrency(concurrency).lease_ttl(lease);
    handlers.into_iter().fold(worker, |worker, handler| handler.add_to(worker))
}

impl From<RunSummary> for Figures {
    fn from(summary: RunSummary) -> Self {
        let RunSummary { completed, failed, dead, released, cancelled, lease_lost, .. } = summary;
        Self { completed, failed, dead, released, cancelled, lease_lost }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} completed", self.completed)?;
        let others = [
            (self.failed, "failed, to be tried again"),
            (self.dead, "dead"),
            (self.released, "handed on"),
            (self.cancelled, "cancelled"),
            (self.lease_lost, "taken over by others"),
        ];
        others
            .iter()
            .filter(|(count, _)| *count > 0)
            .try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}
