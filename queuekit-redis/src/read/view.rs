//! A job as it is shown.

use std::time::Duration;

use queuekit_core::{Job, JobId, QueueName, Result, Timestamp};

use crate::RedisStore;
use crate::codec::{View, array_of, number_of};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;

/// A job, the instant of the reading, and how long ago its lease ran out.
pub(super) struct Shown {
    pub(super) now: Timestamp,
    pub(super) job: Job,
    pub(super) overdue: Duration,
}

impl RedisStore {
    pub(crate) async fn job_shown(&self, id: JobId) -> Result<Option<Job>> {
        Ok(self.job_at(id).await?.map(|shown| shown.job))
    }

    pub(super) async fn job_at(&self, id: JobId) -> Result<Option<Shown>> {
        let ask = |queue: QueueName, _| async move {
            let shown = self.jobs_at(self.time_left(), "get_job", &queue, &[id]).await?;
            Ok(vec![shown.into_iter().next()])
        };
        let found = self.for_jobs(&[id], ask).await.map_err(|error| error.during("get_job"))?;
        Ok(found.into_iter().next().flatten())
    }

    /// Those of these jobs of a queue that are stored and can be shown.
    pub(super) async fn jobs_at(
        &self,
        time: Duration,
        operation: &'static str,
        queue: &QueueName,
        mut ids: &[JobId],
    ) -> Result<Vec<Shown>> {
        let mut shown = Vec::with_capacity(ids.len());
        while !ids.is_empty() {
            let (next, looked_at) = self.some_jobs_at(time, operation, queue, ids).await?;
            shown.extend(next);
            ids = &ids[looked_at..];
        }
        Ok(shown)
    }

    /// The same of some of the first of these jobs, as one script reads them, and of how many.
    pub(super) async fn some_jobs_at(
        &self,
        time: Duration,
        operation: &'static str,
        queue: &QueueName,
        ids: &[JobId],
    ) -> Result<(Vec<Shown>, usize)> {
        let args = ids.iter().map(|id| id.as_bytes().to_vec());
        let read = self.on_queue_within(time, operation, Call::Read, Lua::Get, queue, args);
        let answer = read.await?;
        let broken = || unreadable("a job");
        let mut parts = array_of(answer).ok_or_else(broken)?.into_iter();
        let now = parts.next().and_then(number_of).ok_or_else(broken)?;
        let now = Timestamp::from_millis(now);
        let looked_at = parts.next().and_then(number_of).ok_or_else(broken)?;
        let looked_at = usize::try_from(looked_at).map_err(|_| broken())?;
        if !(1..=ids.len()).contains(&looked_at) {
            return Err(broken());
        }
        let mut shown = Vec::with_capacity(looked_at);
        while parts.len() > 0 {
            let view = View::read(&mut parts).ok_or_else(broken)?;
            let overdue = view.overdue();
            shown.extend(view.job(queue.clone(), now).map(|job| Shown { now, job, overdue }));
        }
        Ok((shown, looked_at))
    }
}
