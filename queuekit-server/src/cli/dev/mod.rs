//! `queuekit dev`

mod first_jobs;
mod shop;

use anyhow::Result;
use clap::Args;
use queuekit::QueueName;
use tokio::task::JoinSet;

use super::context::Context;
use super::exit::Exit;
use super::output::remark;
use super::serve::{announce, serve};
use super::shutdown::{Hangups, Stop};
use super::{reload, work};
use crate::config::{HttpFlags, WorkFlags, WorkSettings};
use crate::handlers::add_demo;
use crate::listen::Server;

/// Neither the environment nor a file sets the store, so that demo jobs never reach one in use.
const DEFAULT: &str = "sqlite://queuekit-dev.db";

/// Try queuekit: store, server, worker and demo jobs in one process, without setup
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct Dev {
    #[command(flatten)]
    http: HttpFlags,
}

const AFTER: &str = "\
The store is ./queuekit-dev.db, or the one of --url; QUEUEKIT_URL and queuekit.toml do not set it.
The demo jobs succeed, fail and are retried, die, wait for their time, and run in the order of a
partition key. They are enqueued once, however often you start the command. A demo shop enqueues
more jobs while the command runs. Delete the file to start over.";

impl Dev {
    pub(crate) async fn run(self, mut context: Context) -> Result<Exit> {
        context.url.get_or_insert_with(|| DEFAULT.to_owned());
        let options = self.http.clone().resolve(&context.sources)?;
        let (has_keys, has_dashboard) = (!options.keys.is_empty(), options.dashboard.is_some());
        let settings = WorkSettings {
            queues: queues()?,
            ..WorkSettings::resolve(WorkFlags::default(), &context.sources)?
        };
        let client = context.connect().await?;
        // Before the server answers: a signal that comes now must stop it in order.
        let (stop, hangups) = (Stop::listen()?, Hangups::listen()?);
        let server = Server::bind(client.clone(), &context.address(), options).await?;
        reload::on_hangup(hangups, server.reloader(), self.http, &context.sources);
        first_jobs::enqueue(&client).await?;
        shop::open(&client).await?;
        let worker = add_demo(work::worker(client.clone(), settings).name("dev"));
        let worker = shop::add_handlers(worker).start().await?;
        // The shop closes when this is dropped.
        let mut selling = JoinSet::new();
        selling.spawn(shop::sell(client.clone()));
        let url = server.url();
        announce(&context, &url, format_args!("{url} serves {}", context.address()));
        remark(invitation(&url, has_keys, has_dashboard));
        serve(server, Some(worker), &client, &stop).await?;
        Ok(Exit::Success)
    }
}

fn queues() -> Result<Vec<QueueName>> {
    let named = std::iter::once(first_jobs::QUEUE).chain(shop::queues()).map(QueueName::new);
    Ok(std::iter::once(Ok(QueueName::default())).chain(named).collect::<Result<_, _>>()?)
}

fn invitation(url: &str, has_keys: bool, has_dashboard: bool) -> String {
    let dashboard = match has_dashboard {
        true => format!("Open {url}/ui in a browser to see what happens.\n\n"),
        false => String::new(),
    };
    let key = if has_keys { " -H \"Authorization: Bearer $QUEUEKIT_API_KEY\"" } else { "" };
    format!(
        "
{dashboard}Seven demo jobs are in the queue `demo`, and a demo shop enqueues more in `orders`,
`emails`, `images` and `reports` until you stop it. Try, in another terminal:

  curl -s '{url}/v1/jobs?queue=demo'{key}
  curl -s {url}/v1/jobs{key} -H 'Content-Type: application/json' \\
    -d '{{\"kind\": \"echo\", \"payload\": {{\"hello\": \"you\"}}}}'
  curl -s {url}/v1/queues/demo{key}

{url}/docs describes the whole API. Press Ctrl-C to stop."
    )
}
