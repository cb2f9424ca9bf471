//! The handler takes no `Ctx`.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

async fn greet(_job: Greet) -> JobResult {
    Ok(())
}

fn work(client: Client) -> Worker {
    Worker::new(client).handle(greet)
}

fn main() {}
