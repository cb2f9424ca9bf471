//! A type handles two payloads, and `handle` does not say which.

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

#[derive(Clone)]
struct App;

impl Handler<Greet> for App {
    type Output = ();

    async fn call(&self, _job: Greet, _ctx: Ctx) -> JobResult {
        Ok(())
    }
}

impl Handler<Wave> for App {
    type Output = ();

    async fn call(&self, _job: Wave, _ctx: Ctx) -> JobResult {
        Ok(())
    }
}

fn work(client: Client) -> Worker {
    Worker::new(client).handle(App)
}

fn main() {}
