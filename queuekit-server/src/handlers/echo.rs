//! The handler `echo`, which returns its payload.

use queuekit::{Bytes, Ctx, JobResult};

/// The payload becomes the job's result, byte for byte.
pub(crate) async fn echo(payload: Bytes, _ctx: Ctx) -> JobResult<Option<Bytes>> {
    Ok(Some(payload))
}
