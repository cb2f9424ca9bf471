//! Why a job is not running (contract R6.9).

use queuekit_core::capability::Why;
use queuekit_core::{Job, JobId, Result, Status};

use super::view::Shown;
use super::workers;
use crate::RedisStore;
use crate::call::Call;
use crate::codec::{array_of, bytes_of, job_id};
use crate::error::unreadable;
use crate::scripts::Lua;

/// Jobs that are counted before one, at most.
const EXAMINED: u64 = 10_000;

impl RedisStore {
    pub(crate) async fn why_shown(&self, id: JobId) -> Result<Option<Why>> {
        let shown = self.job_at(id).await.map_err(|error| error.during("why"))?;
        let Some(Shown { now, job, overdue }) = shown else {
            return Ok(None);
        };
        let queue = job.queue.clone();
        let in_ = job.scheduled_at.since(now);
        Ok(Some(match (job.status, job.worker.clone()) {
            (Status::Running, Some(worker)) => {
                let lease_expires_in = job.lease_expires_in.unwrap_or_default();
                Why::Running { worker, lease_expires_in }
            }
            (Status::Expired | Status::Ready, _) if self.settings_of(&queue).await?.paused => {
                Why::Paused { queue }
            }
            (Status::Expired, Some(worker)) => Why::Expired { worker, ago: overdue },
            (Status::Scheduled, _) => Why::Scheduled { in_ },
            (Status::Failed, _) => {
                Why::WaitingForRetry { in_, attempts: job.attempts, max_attempts: job.max_attempts }
            }
            (Status::Blocked, _) => match job.partition_key.clone() {
                Some(key) => {
                    let (behind, _) = self.standing(&job).await?;
                    Why::Blocked { key, behind: behind.filter(|behind| *behind != job.id) }
                }
                None => return Ok(None),
            },
            (Status::Ready, _) if !self.is_served(&job).await? => {
                Why::NoLiveWorker { queue, kind: job.kind }
            }
            (Status::Ready, _) => Why::Ready { jobs_before: self.standing(&job).await?.1 },
            _ => Why::Ended {
                state: job.state,
                reason: job.reason.as_ref().map(|reason| reason.as_str().to_owned()),
            },
        }))
    }

    async fn is_served(&self, job: &Job) -> Result<bool> {
        let workers = workers(self, "why").await?;
        let mut beats = workers.iter().map(|worker| &worker.beat);
        Ok(beats.any(|beat| beat.serves(&job.queue, &job.kind)))
    }

    /// The job it waits for, and how many stand before it; none if that takes too long to count.
    async fn standing(&self, job: &Job) -> Result<(Option<JobId>, Option<u64>)> {
        let id = [job.id.as_bytes().to_vec()];
        let answer = self.on_queue("why", Call::Read, Lua::Why, &job.queue, id).await?;
        let parts = array_of(answer).ok_or_else(|| unreadable("what a job waits for"))?;
        let mut parts = parts.into_iter().map(bytes_of);
        let behind = parts.next().flatten().and_then(|id| job_id(&id));
        let before = parts.next().flatten();
        let before = before.and_then(|count| String::from_utf8(count).ok()?.parse().ok());
        Ok((behind, before.filter(|before| *before < EXAMINED)))
    }
}
