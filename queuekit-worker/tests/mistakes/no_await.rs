//! A call is not awaited, so no job is stored.
#![deny(unused_must_use)]

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet")]
struct Greet {
    name: String,
}

fn enqueue(client: &Client) {
    client.enqueue(Greet { name: "Ada".to_owned() });
}

fn main() {}
