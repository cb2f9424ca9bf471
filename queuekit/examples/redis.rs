//! Jobs in a Redis server: a producer, and a worker that could be another process.
//!
//! Start a server that stores durably, `redis-server --appendonly yes`, and then `cargo run
//! --example redis --features redis -- redis://127.0.0.1`. The store refuses a server that would
//! lose jobs, and the error says what to set. Run the example in two terminals: each job runs once,
//! in one of them. Without the argument it uses `QUEUEKIT_EXAMPLE_REDIS_URL`, or
//! `redis://127.0.0.1`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "resize")]
struct Resize {
    picture: String,
}

async fn resize(job: Resize, ctx: Ctx) -> JobResult {
    println!("  {} (attempt {})", job.picture, ctx.attempt());
    Ok(())
}

#[tokio::main]
async fn main() -> queuekit::Result<()> {
    let given = std::env::args().nth(1);
    let url = given.or_else(|| std::env::var("QUEUEKIT_EXAMPLE_REDIS_URL").ok());
    let url = url.unwrap_or_else(|| "redis://127.0.0.1".to_owned());
    let client = queuekit::connect(&url).await?;

    let pictures = (1..=5).map(|n| Resize { picture: format!("cat-{n}.png") });
    // One call stores all jobs in one step. `ids` fails if the queue was full for any of them.
    client.enqueue_all(pictures).await?.ids()?;
    // Stores one job a day, however often this runs.
    let wall = Resize { picture: "the wall.png".to_owned() };
    println!("the wall: {:?}", client.enqueue(wall).idempotency_key("the wall").await?);

    println!("ran:");
    Worker::new(client.clone()).handle(resize).run_until_idle().await?;
    client.close().await
}
