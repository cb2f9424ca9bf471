//! The handler `sleep`. Its time is bounded, because callers decide how long it holds a slot.

use std::time::Duration;

use queuekit::{Ctx, JobError, JobResult, Payload};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// `{"ms": 1000}`
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sleep {
    ms: u64,
}

impl Payload for Sleep {
    const KIND: &'static str = "sleep";
}

const MOST: Duration = Duration::from_secs(60);

/// Sleeps, and returns for how long; stops when the run is cancelled.
pub(crate) async fn sleep(job: Sleep, ctx: Ctx) -> JobResult<Sleep> {
    let time = Duration::from_millis(job.ms);
    if time > MOST {
        let most = MOST.as_millis();
        return Err(JobError::fatal(format!(
            "`ms` must be at most {most}, because a sleep holds a slot"
        )));
    }
    let begun = Instant::now();
    tokio::select! {
        () = tokio::time::sleep(time) => Ok(job),
        () = ctx.cancelled() => Err(format!("cancelled after {:?}", begun.elapsed()).into()),
    }
}

#[cfg(test)]
mod tests {
    use queuekit::jobs::CancelOutcome;
    use queuekit::memory::MemoryStore;
    use queuekit::{Client, State, Worker};

    use super::*;

    #[tokio::test]
    async fn s6_a_job_that_would_hold_its_slot_for_long_is_dead_at_once() {
        let client = Client::new(MemoryStore::new());
        let jobs = [60_001, 31_622_400_000, u64::MAX].map(|ms| Sleep { ms });
        let ids = client.enqueue_all(jobs).await.unwrap().ids().unwrap();
        Worker::new(client.clone()).handle(sleep).run_until_idle().await.unwrap();
        for id in ids {
            let job = client.jobs().get(id).await.unwrap().unwrap();
            assert_eq!(job.state, State::Dead, "{job:?}");
        }
    }

    #[tokio::test]
    async fn who_is_cancelled_wakes_up() {
        let client = Client::new(MemoryStore::new());
        let id = client.enqueue(Sleep { ms: 60_000 }).await.unwrap();
        // The worker learns of the cancellation at a third of its lease.
        let worker = Worker::new(client.clone()).handle(sleep).lease_ttl(Duration::from_secs(3));
        let worker = worker.start().await.unwrap();
        let job = async || client.jobs().get(id).await.unwrap().unwrap();
        while job().await.state != State::Running {
            tokio::task::yield_now().await;
        }
        let admin = client.backend().capabilities().admin.unwrap();
        assert_eq!(admin.cancel(&[id]).await.unwrap(), [CancelOutcome::Requested]);
        while job().await.state == State::Running {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(job().await.state, State::Cancelled);
        worker.stop().await;
    }
}
