//! Several jobs in one call of a handler: one statement stores them all, and each job ends by
//! itself.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use queuekit::BatchOptions;
use queuekit::memory::MemoryStore;
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "reading")]
struct Reading {
    sensor: String,
    celsius: f32,
}

/// Stores what a hundred sensors have measured in one statement.
async fn store(readings: Vec<(Reading, Ctx)>) -> JobResult<Vec<JobResult<usize>>> {
    println!("one INSERT of {} rows", readings.len());
    let rows = readings.len();
    let outcome = |(reading, _): &(Reading, Ctx)| {
        if reading.celsius < -273.15 {
            // This job is dead, and the others are completed.
            return Err(JobError::fatal(format!("{} is broken", reading.sensor)));
        }
        Ok(rows)
    };
    Ok(readings.iter().map(outcome).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::new(MemoryStore::new());
    let readings = (0..250).map(|n| Reading {
        sensor: format!("sensor {n}"),
        celsius: if n == 7 { -1000.0 } else { 20.0 },
    });
    client.enqueue_all(readings).await?.ids()?;
    let batches = BatchOptions::new(100).linger(Duration::from_millis(50));
    let worker = Worker::new(client).concurrency(100).handle_batch(store, batches);
    let summary = worker.run_until_idle().await?;
    println!("{} completed, {} dead", summary.completed, summary.dead);
    assert_eq!((summary.completed, summary.dead), (249, 1));
    Ok(())
}
