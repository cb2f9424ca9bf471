//! A job as it is shown.

use std::time::Duration;

use queuekit_core::{Job, JobId, QueueName, Result, Timestamp};

use crate::RedisStore;
use crate::call::Call;
use crate::codec::{View, array_of, number_of};
use crate::error::unreadable;
use crate::scripts::Lua;

/// A job, the instant at which it was so, and for how long its lease has run out.
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
            let ids = [id.as_bytes().to_vec()];
            let answer = self.on_queue("get_job", Call::Read, Lua::Get, &queue, ids).await?;
            let mut parts = array_of(answer).ok_or_else(|| unreadable("a job"))?.into_iter();
            let now = parts.next().and_then(number_of).ok_or_else(|| unreadable("a job"))?;
            let now = Timestamp::from_millis(now);
            let shown = View::read(&mut parts).and_then(|view| {
                let overdue = view.overdue();
                Some(Shown { now, job: view.job(queue, now)?, overdue })
            });
            Ok(vec![shown])
        };
        let found = self.for_jobs(&[id], ask).await.map_err(|error| error.during("get_job"))?;
        Ok(found.into_iter().next().flatten())
    }
}
