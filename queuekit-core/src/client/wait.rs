//! Waiting for jobs to end (contract R13.11).

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use tokio::time::error::Elapsed;
use tokio::time::{sleep, sleep_until, timeout};

use super::calls::Calls;
use super::jobs::not_found;
use crate::backend::only;
use crate::error::{Error, Result};
use crate::job::{Job, JobId, State};
use crate::job_ends::EndAwaited;

/// The pauses between two looks of a wait: the first one, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

impl Calls {
    /// The job, once it has ended.
    pub(super) async fn wait(&self, id: JobId) -> Result<Job> {
        self.ended_job(id, &mut None).await
    }

    /// The same; none if it has not ended by then.
    pub(super) async fn wait_for(&self, id: JobId, time: Duration) -> Result<Option<Job>> {
        let mut failed = None;
        let ended = timeout(time, self.ended_job(id, &mut failed)).await;
        within(ended, failed)
    }

    /// Whether the job ends in this time.
    pub(super) async fn ends_within(&self, id: JobId, time: Duration) -> Result<bool> {
        let mut failed = None;
        let ended = timeout(time, self.until_ended(id, &mut failed)).await;
        within(ended, failed).map(|ended| ended.is_some())
    }

    /// `failed` is the error of the last look, if it failed.
    async fn ended_job(&self, id: JobId, failed: &mut Option<Error>) -> Result<Job> {
        loop {
            self.until_ended(id, failed).await?;
            match self.backend.get_job(id).await {
                Ok(Some(job)) if job.state.is_terminal() => return Ok(job),
                // It was retried in between.
                Ok(Some(_)) => {}
                Ok(None) => return Err(not_found(id)),
                Err(error) if error.is_retryable() => {
                    *failed = Some(error);
                    sleep(PAUSE.1).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn until_ended(&self, id: JobId, failed: &mut Option<Error>) -> Result<()> {
        let end = self.ends.wait_for(id);
        let (mut pause, longest) = PAUSE;
        let mut looked = self.state(id).await;
        loop {
            match looked {
                Ok(state) if state.is_terminal() => return Ok(()),
                Ok(_) => *failed = None,
                Err(error) if error.is_retryable() => *failed = Some(error),
                Err(error) => return Err(error),
            }
            looked = self.state_after(pause, id, &end).await;
            pause = (pause * 2).min(longest);
        }
    }

    /// The state after this pause, or as soon as a call of this client may have ended the job.
    ///
    /// Waits share their looks. They agree on the instant: it is a multiple of the pause, counted
    /// from when the client was made.
    async fn state_after(&self, pause: Duration, id: JobId, end: &EndAwaited) -> Result<State> {
        let pauses = self.made_at.elapsed().as_micros() / pause.as_micros() + 1;
        let at = self.made_at + pause * u32::try_from(pauses).unwrap_or(u32::MAX);
        let look = self.looks.at(at, id);
        if let Either::Left(_) = select(pin!(end.rung()), pin!(sleep_until(at))).await {
            return self.state(id).await;
        }
        look.await?.get(&id).copied().ok_or_else(|| not_found(id))
    }

    async fn state(&self, id: JobId) -> Result<State> {
        let states = self.backend.job_states(&[id]).await?;
        only(states, "wait")?.ok_or_else(|| not_found(id))
    }
}

/// None at the end of the time. If the last look failed, nobody knows whether the job has ended.
fn within<T>(
    ended: std::result::Result<Result<T>, Elapsed>,
    failed: Option<Error>,
) -> Result<Option<T>> {
    match ended {
        Ok(ended) => ended.map(Some),
        Err(_) => failed.map_or(Ok(None), Err),
    }
}
