//! A call is not awaited before its error is returned.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

async fn enqueue(client: Client) -> queuekit::Result<JobId> {
    let id = client.enqueue(Greet { name: "Ada".to_owned() })?;
    Ok(id)
}

fn main() {}
