//! Handlers that fail, to show retries and dead letters in `queuekit dev`.

use std::time::Duration;

use queuekit::{Bytes, Ctx, JobError, JobResult};

/// Kind of jobs that succeed at their third attempt.
pub(crate) const FLAKY: &str = "demo.flaky";
/// Kind of jobs that never succeed.
pub(crate) const FAIL: &str = "demo.fail";

/// A short delay, so that one can watch the retries.
const AGAIN_IN: Duration = Duration::from_secs(2);

pub(crate) async fn flaky(_: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
    if ctx.attempt() < 3 {
        return Err(JobError::retry_after("this job succeeds at its third attempt", AGAIN_IN));
    }
    Ok(Some(Bytes::from_static(b"\"third time lucky\"")))
}

pub(crate) async fn fail(_: Bytes, _: Ctx) -> JobResult<Option<Bytes>> {
    Err(JobError::retry_after("this job never succeeds", AGAIN_IN))
}
