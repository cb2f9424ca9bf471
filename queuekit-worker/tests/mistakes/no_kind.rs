//! The kind of the payload is not stated, or not as a text.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
struct Greet {
    name: String,
}

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = greet)]
struct Welcome {
    name: String,
}

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "farewell", time_out = "30s")]
struct Farewell {
    name: String,
}

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "wave", timeout = 30)]
struct Wave {
    name: String,
}

fn main() {}
