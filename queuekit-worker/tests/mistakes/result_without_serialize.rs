//! The result of the handler cannot be stored.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

struct Greeting(String);

async fn greet(job: Greet, _ctx: Ctx) -> JobResult<Greeting> {
    Ok(Greeting(job.name))
}

fn work(client: Client) -> Worker {
    Worker::new(client).handle(greet)
}

fn main() {}
