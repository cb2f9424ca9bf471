//! `enqueue NAME` stores a job, and `work` runs jobs until Ctrl-C or SIGTERM.

mod greet;

use std::env;

use queuekit::prelude::*;

use greet::{Greet, greet};

/// The URL of the store, unless the environment variable `QUEUEKIT_URL` has another.
const DEFAULT_URL: &str = "sqlite://queuekit.db";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["enqueue", name] => enqueue(connect().await?, name).await?,
        ["work"] => work(connect().await?).await?,
        _ => anyhow::bail!("pass `enqueue NAME` or `work`"),
    }
    Ok(())
}

async fn connect() -> queuekit::Result<Client> {
    let url = env::var("QUEUEKIT_URL").unwrap_or_else(|_| DEFAULT_URL.to_owned());
    queuekit::connect(&url).await
}

async fn enqueue(client: Client, name: &str) -> queuekit::Result<()> {
    let id = client.enqueue(Greet { name: name.to_owned() }).await?;
    tracing::info!(job = %id, "enqueued");
    client.close().await
}

async fn work(client: Client) -> queuekit::Result<()> {
    let worker = Worker::new(client.clone()).handle(greet);
    let summary = worker.run_until_signal().await?;
    tracing::info!(completed = summary.completed, dead = summary.dead, "stopped");
    client.close().await
}
