//! `queuekit serve`

use anyhow::{Result, bail};
use clap::Args;
use queuekit::workers::Caretaker;
use queuekit::{Client, RunningWorker};

use super::context::Context;
use super::exit::Exit;
use super::shutdown::{Hangups, Stop};
use super::{reload, systemd, work};
use crate::config::{HttpFlags, WorkFlags, WorkSettings};
use crate::error::Usage;
use crate::listen::Server;

/// Serve the HTTP API in front of a store
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    #[command(flatten)]
    http: HttpFlags,
    /// Also run jobs, with the built-in handlers
    #[arg(long)]
    work: bool,
    #[command(flatten)]
    flags: WorkFlags,
}

const EXAMPLES: &str = "\
Examples:
  queuekit serve                                        on this machine, without keys
  QUEUEKIT_API_KEY=.. queuekit serve --listen 0.0.0.0:8080
  queuekit serve --url postgres://localhost/jobs --tls-cert cert.pem --tls-key key.pem

The server also enqueues the jobs of schedules, and removes jobs and events whose retention is over.
SIGTERM or Ctrl-C stops it: requests in progress have 10 s to finish. A second signal stops it
immediately. On SIGHUP it reads its keys, its certificate and `[limits]` again. `queuekit key new`
creates a key.";

impl Serve {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        if !self.work && !self.flags.is_empty() {
            let message =
                "--queues, --concurrency and --quiet need --work: they are settings of the worker";
            return Err(Usage::error(message));
        }
        let options = self.http.clone().resolve(&context.sources)?;
        // Without a worker, nothing runs the handlers that the file enables.
        let settings = self.work.then(|| WorkSettings::resolve(self.flags, &context.sources));
        let settings = settings.transpose()?;
        let client = context.connect().await?;
        let (stop, hangups) = (Stop::listen()?, Hangups::listen()?);
        let server = Server::bind(client.clone(), &context.address(), options).await?;
        reload::on_hangup(hangups, server.reloader(), self.http, &context.sources);
        let worker = match settings {
            Some(settings) => Some(work::worker(client.clone(), settings).start().await?),
            None => None,
        };
        let (url, address) = (server.url(), context.address());
        announce(&context, &url, format_args!("{url} serves {address}"));
        serve(server, worker, &client, &stop).await?;
        Ok(Exit::Success)
    }
}

/// Prints where the server listens; a closed output is not an error.
pub(crate) fn announce(context: &Context, url: &str, text: impl std::fmt::Display) {
    let told = context.output.answer(&serde_json::json!({ "url": url }), text);
    if let Err(error) = told {
        tracing::debug!(%error, "cannot print where the server listens");
    }
}

/// Serves, next to the worker if one runs, until both are asked to stop; then closes the store.
pub(crate) async fn serve(
    server: Server,
    worker: Option<RunningWorker>,
    client: &Client,
    stop: &Stop,
) -> Result<()> {
    // A worker does the upkeep of the store itself.
    let caretaker = if worker.is_none() { Some(Caretaker::start(client)?) } else { None };
    systemd::ready();
    let working = async {
        let Some(worker) = &worker else { return Ok(()) };
        let ended = stop.run_until(worker).await;
        // If the worker ends, the server stops too: both were asked for.
        stop.asked.cancel();
        ended.map(drop)
    };
    let serving = async {
        tokio::select! {
            served = server.run(stop.asked.clone()) => {
                stop.asked.cancel();
                served
            }
            () = stop.forced.cancelled() => bail!("stopped by a second signal, with open requests"),
        }
    };
    let (served, worked) = tokio::join!(serving, working);
    drop(caretaker);
    let closed = client.close().await;
    served?;
    worked?;
    closed?;
    tracing::info!("stopped");
    Ok(())
}
