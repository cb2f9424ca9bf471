//! A payload type that changes while jobs of its old form are stored.
//!
//! An old worker and a new one serve the same queue, as they do while a program is deployed. The
//! example moves the store's clock by hand, so it need not wait.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use queuekit::memory::{ManualClock, MemoryStore};
use queuekit::prelude::*;

/// The program as it was.
mod before {
    use queuekit::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, Payload)]
    #[payload(kind = "send-email")]
    pub(crate) struct SendEmail {
        pub(crate) to: String,
    }

    pub(crate) async fn send(job: SendEmail, _ctx: Ctx) -> JobResult {
        println!("  the old worker sends to {}", job.to);
        Ok(())
    }
}

/// The program as it is now: a mail may have several recipients.
mod now {
    use queuekit::prelude::*;
    use serde::{Deserialize, Serialize};
    use serde_json::{Value, json};

    #[derive(Serialize, Deserialize, Payload)]
    #[payload(kind = "send-email", version = 2, upgrade = upgrade)]
    pub(crate) struct SendEmail {
        pub(crate) to: Vec<String>,
    }

    fn upgrade(version: u32, mut value: Value) -> Result<Value, String> {
        if version < 2 {
            value["to"] = json!([value["to"].take()]);
        }
        Ok(value)
    }

    pub(crate) async fn send(job: SendEmail, _ctx: Ctx) -> JobResult {
        println!("  the new worker sends to {}", job.to.join(" and "));
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let clock = ManualClock::default();
    let client = Client::new(MemoryStore::with_clock(clock.clone()));
    let old_worker = || Worker::new(client.clone()).handle(before::send);
    let new_worker = || Worker::new(client.clone()).handle(now::send);

    println!("a job of the old program, run by the new one:");
    client.enqueue(before::SendEmail { to: "ada@example.org".into() }).await?;
    let summary = new_worker().run_until_idle().await?;
    assert_eq!(summary.completed, 1);

    println!("a job of the new program, met by an old worker:");
    let to = ["ada@example.org", "bob@example.org"].map(String::from).to_vec();
    let id = client.enqueue(now::SendEmail { to }).await?;
    let summary = old_worker().run_until_idle().await?;
    assert_eq!(summary.released, 1);
    let job = client.jobs().get(id).await?.ok_or("the job is stored")?;
    let mark = job.undecodable().ok_or("the job is marked")?;
    println!("  {} after {} attempts: {}", job.status, job.attempts, mark.error);

    println!("a second later, met by a new worker:");
    clock.advance(Duration::from_secs(1));
    let summary = new_worker().run_until_idle().await?;
    assert_eq!(summary.completed, 1);
    Ok(())
}
