//! Takes its time.

use std::time::Duration;

use queuekit::{Ctx, JobResult, Payload};
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

/// Answers how long it has slept; stops when it is asked to.
pub(crate) async fn sleep(job: Sleep, ctx: Ctx) -> JobResult<Sleep> {
    let begun = Instant::now();
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(job.ms)) => Ok(job),
        () = ctx.cancelled() => Err(format!("woken after {:?}", begun.elapsed()).into()),
    }
}

#[cfg(test)]
mod tests {
    use queuekit::capability::CancelOutcome;
    use queuekit::memory::MemoryStore;
    use queuekit::{Client, LeaseTtl, State, Worker};

    use super::*;

    #[tokio::test]
    async fn who_is_cancelled_wakes_up() {
        let client = Client::new(MemoryStore::new());
        let id = client.enqueue(Sleep { ms: 3_600_000 }).await.unwrap();
        // It hears of it at a third of its lease.
        let ttl = LeaseTtl::new(Duration::from_secs(3)).unwrap();
        let worker = Worker::new(client.clone()).handle(sleep).lease_ttl(ttl);
        let worker = worker.start().await.unwrap();
        let job = async || client.get_job(id).await.unwrap().unwrap();
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
