//! The payload lacks `#[derive(Payload)]`.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Greet {
    name: String,
}

async fn greet(_job: Greet, _ctx: Ctx) -> JobResult {
    Ok(())
}

async fn enqueue(client: Client) -> queuekit::Result<JobId> {
    client.enqueue(Greet { name: "Ada".to_owned() }).await
}

fn work(client: Client) -> Worker {
    Worker::new(client).handle(greet)
}

fn main() {}
