//! Waits until a job has ended.

use std::time::{Duration, Instant};

use anyhow::Result;
use queuekit::{Job, JobId, Status};

use super::route::path;
use crate::cli::api::Api;
use crate::cli::exit::Exit;
use crate::cli::format::{on_a_line, span};
use crate::cli::output::{Output, remark};
use crate::cli::retry::Retry;

/// The wait of one call: short enough for proxies between here and the server.
const ONE_CALL: Duration = Duration::from_secs(20);

/// Prints the job once it has ended. Fails if it is not completed by then, or within `time`.
pub(crate) async fn wait(
    api: &Api,
    id: JobId,
    time: Option<Duration>,
    output: Output,
) -> Result<Exit> {
    let begun = Instant::now();
    loop {
        let left = time.map(|time| time.saturating_sub(begun.elapsed()));
        let wait = left.unwrap_or(ONE_CALL).min(ONE_CALL);
        let path = format!("{}?wait_ms={}", path(id), wait.as_millis());
        // A server that is restarted does not end the wait: the job continues meanwhile.
        let answer = Retry::LONG.ask(async || api.get(&path).await).await?;
        let job: Job = answer.read()?;
        let end = match job.status {
            Status::Completed => Some(Exit::Success),
            Status::Dead | Status::Cancelled => Some(Exit::Failed),
            _ => None,
        };
        if let Some(exit) = end {
            output.forward(answer.json(), || Ok(told(&job)))?;
            return Ok(exit);
        }
        if left.is_some_and(|left| left <= wait) {
            let waited = span(time.unwrap_or_default());
            remark(format_args!(
                "the job is {} after {waited}; `queuekit job watch {id}` follows it",
                job.status
            ));
            return Ok(Exit::Failed);
        }
    }
}

/// Its status, and its result or why it is dead.
fn told(job: &Job) -> String {
    let result = job.result.as_ref().map(|result| String::from_utf8_lossy(result).into_owned());
    let reason = job.reason.as_ref().map(ToString::to_string);
    match result.or(reason) {
        Some(more) => format!("{}  {}", job.status, on_a_line(&more)),
        None => job.status.to_string(),
    }
}
