//! The error of the handler does not convert into a `JobError`.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

#[derive(Debug)]
struct Refused;

async fn greet(_job: Greet, _ctx: Ctx) -> Result<(), Refused> {
    Err(Refused)
}

fn work(client: Client) -> Worker {
    Worker::new(client).handle(greet)
}

fn main() {}
