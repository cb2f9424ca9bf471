//! Fails, so that retries and dead letters can be looked at.

use std::time::Duration;

use queuekit::{Bytes, Ctx, JobError, JobResult};

/// The type of jobs that succeed at their third attempt.
pub(crate) const FLAKY: &str = "demo.flaky";
/// The type of jobs that never succeed.
pub(crate) const FAIL: &str = "demo.fail";

/// Soon enough to watch.
const AGAIN_IN: Duration = Duration::from_secs(2);

pub(crate) async fn flaky(_: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
    if ctx.attempt() < 3 {
        return Err(JobError::retry_after("no luck yet: this one succeeds at the third", AGAIN_IN));
    }
    Ok(Some(Bytes::from_static(b"\"third time lucky\"")))
}

pub(crate) async fn fail(_: Bytes, _: Ctx) -> JobResult<Option<Bytes>> {
    Err(JobError::retry_after("this one never succeeds", AGAIN_IN))
}
