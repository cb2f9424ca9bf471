//! Why a job is not running (contract R6.9).

use queuekit_core::capability::{Beat, Why, WhyFacts};
use queuekit_core::{Job, JobId, Result};

use super::any_worker;
use super::view::Shown;
use crate::RedisStore;
use crate::codec::{array_of, bytes_of, job_id};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most jobs that are counted before one.
const EXAMINED: u64 = 10_000;

impl RedisStore {
    pub(crate) async fn why_shown(&self, id: JobId) -> Result<Option<Why>> {
        let shown = self.job_at(id).await.map_err(|error| error.during("why"))?;
        let Some(Shown { now, job, overdue }) = shown else {
            return Ok(None);
        };
        let settings = &self.settings_of(&job.queue).await?;
        let serves = |beat: &Beat| beat.serves(&job.queue, &job.kind);
        let has_live_worker = any_worker(self, serves).await?;
        let mut why = Why::of(WhyFacts { job: &job, now, overdue, settings, has_live_worker });
        match &mut why {
            Why::Blocked { behind, .. } => {
                *behind = self.standing(&job).await?.0.filter(|behind| *behind != job.id);
            }
            Why::Ready { jobs_before } => *jobs_before = self.standing(&job).await?.1,
            _ => {}
        }
        Ok(Some(why))
    }

    /// The job that it waits for, and how many come before it; none if that takes too long to
    /// count.
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
