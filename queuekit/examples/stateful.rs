//! A handler with state: a struct holds what all its jobs share.
//!
//! A function suits a job that needs only its payload. If a handler needs more, such as a pool of
//! connections, a cache or an HTTP client, make it a field of the struct.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "count-words")]
struct CountWords {
    text: String,
}

/// Jobs run at the same time, so shared state needs a lock. Do not hold the lock across an
/// `.await`.
#[derive(Clone, Default)]
struct WordCounter {
    counts: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl Handler<CountWords> for WordCounter {
    /// Stored as the job's result.
    type Output = usize;

    async fn call(&self, job: CountWords, _ctx: Ctx) -> JobResult<usize> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for word in job.text.split_whitespace() {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
        Ok(job.text.split_whitespace().count())
    }
}

#[tokio::main]
async fn main() -> queuekit::Result<()> {
    let client = queuekit::connect("memory:").await?;
    let verses = ["the cat sat", "on the mat", "and the cat slept"];
    let jobs = verses.map(|text| CountWords { text: text.into() });
    client.enqueue_all(jobs).await?.ids()?;

    let counter = WordCounter::default();
    let worker = Worker::new(client).handle(counter.clone());
    let summary = worker.run_until_idle().await?;
    println!("{} verses counted by one handler:", summary.completed);

    let counts = counter.counts.lock().unwrap_or_else(PoisonError::into_inner);
    for (word, count) in counts.iter() {
        println!("{count} x {word}");
    }
    Ok(())
}
