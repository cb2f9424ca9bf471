//! The handler is not async.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

fn greet(_job: Greet, _ctx: Ctx) -> JobResult {
    Ok(())
}

fn work(client: Client) -> Worker {
    Worker::new(client).handle(greet)
}

fn main() {}
