//! The handler holds a value across an await that cannot move to another thread.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

async fn pause() {}

async fn greet(job: Greet, _ctx: Ctx) -> JobResult {
    let name = std::rc::Rc::new(job.name);
    pause().await;
    println!("Hello, {name}!");
    Ok(())
}

fn work(client: Client) -> Worker {
    Worker::new(client).handle(greet)
}

fn main() {}
