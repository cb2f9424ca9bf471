//! `queuekit work`

use std::fmt;

use anyhow::Result;
use clap::Args;
use queuekit::workers::RunSummary;
use queuekit::{Client, Worker};
use serde::Serialize;

use super::context::Context;
use super::exit::Exit;
use super::shutdown::{Hangups, Stop};
use super::{reload, systemd};
use crate::config::{Listen, WorkFlags, WorkSettings};
use crate::handlers::Handler;
use crate::monitor::listener::Listener;
use crate::monitor::traces;

/// Run jobs with the built-in handlers: echo, sleep, http, email, exec
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Work {
    #[command(flatten)]
    flags: WorkFlags,
    /// Name of the worker, shown in lists
    #[arg(long, default_value = "worker")]
    name: String,
    /// Stop when no job can run now, instead of waiting for more
    #[arg(long)]
    until_idle: bool,
    /// Serve /metrics, /healthz and /readyz here, without a key; port 0: any free port
    /// [env: QUEUEKIT_METRICS_LISTEN]
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "until_idle")]
    metrics_listen: Option<Listen>,
}

const EXAMPLES: &str = "\
Examples:
  queuekit work
  queuekit work --queues critical,default --concurrency 50 --name mailer-1
  queuekit work --metrics-listen 0.0.0.0:9090     metrics and health, for Prometheus and probes
  queuekit work --until-idle --json          run the jobs that are ready, then print a summary

SIGTERM or Ctrl-C stops it: running jobs have 30 s to finish. Jobs that still run then are released
to other workers, which spends no attempt. A second signal releases all jobs immediately.";

/// How many runs ended in which way.
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
        let listener = match self.until_idle {
            true => None,
            false => bind(self.metrics_listen, &context)?,
        };
        // Before the store is opened: the default action of SIGHUP would end the process.
        reload::ignore_hangups(Hangups::listen()?);
        let client = context.connect().await?;
        let queues: Vec<&str> = settings.queues.iter().map(AsRef::as_ref).collect();
        let queues = queues.join(", ");
        let worker = worker(client.clone(), settings).name(self.name);
        let summary = if self.until_idle {
            worker.run_until_idle().await?
        } else {
            // Before the worker starts: a signal that comes in between must drain it.
            let stop = Stop::listen()?;
            let running = worker.start().await?;
            if let Some(listener) = listener {
                let address = listener.address()?;
                listener.serve(running.probe())?;
                tracing::info!(%address, "serving metrics and health");
            }
            let address = context.address();
            tracing::info!(worker = %running.id(), %queues, store = %address, "working");
            // Last, because systemd starts what depends on this worker now.
            systemd::ready();
            stop.run_until(&running).await?
        };
        client.close().await?;
        let figures = Figures::from(summary);
        context.output.answer(&figures, &figures)?;
        Ok(Exit::Success)
    }
}

/// Where metrics and health are served, if anywhere.
fn bind(flag: Option<Listen>, context: &Context) -> Result<Option<Listener>> {
    let variable = || context.sources.environment.parse("QUEUEKIT_METRICS_LISTEN");
    let address = flag.map_or_else(variable, |flag| Ok(Some(flag)))?;
    address.map(|address: Listen| Listener::bind(address.address())).transpose()
}

/// A worker with these handlers; logs which they are.
pub(crate) fn worker(client: Client, settings: WorkSettings) -> Worker {
    let WorkSettings { queues, concurrency, quiet, lease, handlers } = settings;
    let kinds: Vec<&str> = handlers.iter().map(Handler::kind).collect();
    tracing::info!(handlers = kinds.join(", "), "handlers enabled");
    let worker = Worker::new(client).queues(queues).concurrency(concurrency);
    let worker = worker.lease_ttl(lease.get()).quiet_when_idle(quiet);
    handlers.into_iter().fold(traces::follow(worker), |worker, handler| handler.add_to(worker))
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
            (self.failed, "failed and will be retried"),
            (self.dead, "dead"),
            (self.released, "released"),
            (self.cancelled, "cancelled"),
            (self.lease_lost, "lost to other workers"),
        ];
        others
            .iter()
            .filter(|(count, _)| *count > 0)
            .try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}
