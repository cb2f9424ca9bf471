//! Ten lines from nothing to a job that has run.
//!
//! The jobs are in the file `jobs.db` of the current directory. It stays, and each run adds one
//! more job that has ended; those go after a day, or are gone with the file.
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
    Worker::new(client).handle(greet).run_until_idle().await?;
    Ok(())
}
