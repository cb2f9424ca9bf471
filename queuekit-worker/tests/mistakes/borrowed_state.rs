//! A handler borrows its state, which may be gone when a job runs.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

struct Pool;

fn work(client: Client) -> Worker {
    let pool = Pool;
    Worker::new(client).handle(async |job: Greet, _ctx: Ctx| {
        let Pool = &pool;
        println!("Hello, {}!", job.name);
        JobResult::Ok(())
    })
}

fn main() {}
