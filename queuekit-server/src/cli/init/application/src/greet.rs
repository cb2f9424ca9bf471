//! A job and its handler.

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

/// The payload of a job. The kind is stored with each job, and selects the handler.
#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "greet", max_attempts = 5, timeout = "30s")]
pub(crate) struct Greet {
    pub(crate) name: String,
}

/// A handler may run twice for one job, for example if the process is killed before the outcome is
/// stored. Write it so that the second run does no harm.
pub(crate) async fn greet(job: Greet, ctx: Ctx) -> JobResult<String> {
    if job.name.is_empty() {
        // A retry cannot help: the job is dead-lettered now. Other errors are retried.
        return Err(JobError::fatal("the name is empty"));
    }
    let greeting = format!("Hello, {}!", job.name);
    tracing::info!(attempt = ctx.attempt(), "{greeting}");
    // Stored as the result of the job.
    Ok(greeting)
}

#[cfg(test)]
mod tests {
    use queuekit::Job;
    use queuekit::memory::MemoryStore;

    use super::*;

    /// Runs one job in memory, and returns how it ended.
    async fn run(job: Greet) -> queuekit::Result<Job> {
        let client = Client::new(MemoryStore::new());
        let id = client.enqueue(job).await?;
        Worker::new(client.clone()).handle(greet).run_until_idle().await?;
        Ok(client.jobs().get(id).await?.expect("the job is stored"))
    }

    #[tokio::test]
    async fn a_job_greets_by_name() -> queuekit::Result<()> {
        let job = run(Greet { name: "Ada".to_owned() }).await?;
        assert_eq!(job.result::<String>()?, "Hello, Ada!");
        Ok(())
    }

    #[tokio::test]
    async fn a_job_without_a_name_is_dead_lettered() -> queuekit::Result<()> {
        let job = run(Greet { name: String::new() }).await?;
        assert_eq!((job.state, job.attempts), (State::Dead, 1));
        Ok(())
    }
}
