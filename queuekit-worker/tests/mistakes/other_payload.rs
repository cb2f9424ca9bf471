//! A handler is added for a payload that it does not take.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "wave")]
struct Wave;

async fn greet(_job: Greet, _ctx: Ctx) -> JobResult {
    Ok(())
}

fn work(client: Client) -> Worker {
    Worker::new(client).handle::<Wave, _>(greet)
}

fn main() {}
