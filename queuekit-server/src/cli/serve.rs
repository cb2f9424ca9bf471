//! `queuekit serve`

use anyhow::{Result, bail};
use clap::Args;
use queuekit::{Caretaker, Client, RunningWorker};

use super::context::Context;
use super::exit::Exit;
use super::stop::{Hangups, Stop};
use super::{reload, systemd, work};
use crate::cli::Usage;
use crate::config::{HttpFlags, WorkFlags, WorkSettings};
use crate::http::Server;

/// Offer the store to other programs by HTTP
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Serve {
    #[command(flatten)]
    http: HttpFlags,
    /// Run jobs too, with the handlers that are built in
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

The server also enqueues what schedules say is due, and removes what is past its retention.
SIGTERM or Ctrl-C ends it: requests that are under way are answered first, within 10 s; a second
signal ends it at once. SIGHUP makes it read its keys, its certificate and `[limits]` again.
`queuekit key new` makes keys.";

impl Serve {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        if !self.work && !self.flags.is_empty() {
            let message = "--queues and --concurrency are of the worker: add --work to run one";
            return Err(Usage::error(message));
        }
        let options = self.http.clone().resolve(&context.sources)?;
        // Without a worker there is nobody for the handlers that the file turns on.
        let settings = self.work.then(|| WorkSettings::resolve(self.flags, &context.sources));
        let settings = settings.transpose()?;
        let client = context.connect().await?;
        let (stop, hangups) = (Stop::listen()?, Hangups::listen()?);
        let server = Server::bind(client.clone(), options).await?;
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

/// Says where the server listens; nobody need read it.
pub(crate) fn announce(context: &Context, url: &str, text: impl std::fmt::Display) {
    let told = context.output.answer(&serde_json::json!({ "url": url }), text);
    if let Err(error) = told {
        tracing::debug!(%error, "nobody was told where the server listens");
    }
}

/// Serves, beside the worker if one runs, until both are asked to stop; closes the store.
pub(crate) async fn serve(
    server: Server,
    worker: Option<RunningWorker>,
    client: &Client,
    stop: &Stop,
) -> Result<()> {
    // A worker takes care of the store itself.
    let caretaker = if worker.is_none() { Some(Caretaker::start(client)?) } else { None };
    systemd::ready();
    let working = async {
        let Some(worker) = &worker else { return Ok(()) };
        let ended = stop.run_until(worker).await;
        // Whatever ended the worker, the server alone is not what was asked for.
        stop.asked.cancel();
        ended.map(drop)
    };
    let serving = async {
        tokio::select! {
            served = server.run(stop.asked.clone()) => {
                stop.asked.cancel();
                served
            }
            () = stop.forced.cancelled() => bail!("ended by the second signal, with requests open"),
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
