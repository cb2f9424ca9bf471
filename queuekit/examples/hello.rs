//! Ten lines from nothing to a job that has run.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Greet {
    name: String,
}

impl Payload for Greet {
    const KIND: &'static str = "greet";
}

async fn greet(job: Greet, _ctx: Ctx) -> JobResult {
    println!("Hello, {}!", job.name);
    Ok(())
}

#[tokio::main]
async fn main() -> queuekit::Result<()> {
    let client = queuekit::connect("memory:").await?;
    client.enqueue(Greet { name: "Ada".into() }).await?;
    Worker::new(client).handle(greet).run_until_idle().await?;
    Ok(())
}
