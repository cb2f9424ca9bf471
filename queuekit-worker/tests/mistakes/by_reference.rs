//! A payload is passed by reference.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

async fn enqueue(client: Client) -> queuekit::Result<JobId> {
    let greet = Greet { name: "Ada".to_owned() };
    client.enqueue(&greet).await
}

fn main() {}
