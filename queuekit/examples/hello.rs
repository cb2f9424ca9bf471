//! The smallest program: it enqueues a job and runs it.
//!
//! The jobs are in the file `jobs.db` in the current directory. Each run adds one completed job.
//! Retention removes completed jobs after a day.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

async fn greet(job: Greet, _ctx: Ctx) -> JobResult {
    println!("Hello, {}!", job.name);
    Ok(())
}

#[tokio::main]
async fn main() -> queuekit::Result<()> {
    let client = queuekit::connect("sqlite://jobs.db").await?;
    client.enqueue(Greet { name: "Ada".into() }).await?;
    Worker::new(client.clone()).handle(greet).run_until_idle().await?;
    // All jobs are in the one file again, without the log beside it.
    client.close().await
}
