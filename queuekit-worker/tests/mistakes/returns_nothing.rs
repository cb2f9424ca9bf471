//! The handler returns no `JobResult`.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

async fn greet(job: Greet, _ctx: Ctx) {
    println!("Hello, {}!", job.name);
}

fn work(client: Client) -> Worker {
    Worker::new(client).handle(greet)
}

fn main() {}
