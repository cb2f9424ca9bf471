//! One job for each way in which a job can end.

use std::time::Duration;

use anyhow::Result;
use queuekit::{Client, JobDraft};

/// Their queue.
pub(super) const QUEUE: &str = "demo";

/// Enqueues them. Their idempotency keys keep them unique.
pub(super) async fn enqueue(client: &Client) -> Result<()> {
    let job = |kind: &str, payload: &'static str| JobDraft::new(kind, payload).queue(QUEUE);
    let mut jobs = vec![
        ("succeeds", job("echo", r#"{"hello": "world"}"#)),
        ("retries", job("demo.flaky", "null")),
        ("dies", job("demo.fail", "null").max_attempts(2)),
        ("waits", job("echo", r#"{"waited": true}"#).delay(Duration::from_secs(60))),
    ];
    for key in ["first", "second", "third"] {
        jobs.push((key, job("sleep", r#"{"ms": 1000}"#).partition_key("customer-42")));
    }
    let keyed = |(key, job): (&str, JobDraft)| job.idempotency_key(format!("demo-{key}"));
    client.enqueue_all(jobs.into_iter().map(keyed)).await?.ids()?;
    Ok(())
}
