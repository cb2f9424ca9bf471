//! The steps of a run.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};

use super::failure::Failure;
use super::run::{Run, State, Task};
use super::viewer::Viewer;
use crate::wire::{BulkBody, BulkReportBody, ReplayBody, ReplayedBody};

/// Jobs that a step looks at: as many as fit into a part of the memory for answers.
const STEP: usize = 500;
/// The pause before a step is repeated that the store or a limit has refused.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a step is repeated, with longer and longer pauses: for about ten minutes in all.
const REPEATS: u32 = 30;

/// Does step after step, until no job is left.
pub(super) async fn all_steps(run: Arc<Run>, viewer: Viewer) {
    let stopping = viewer.app().stopping().clone();
    let (state, error) = tokio::select! {
        ended = steps(&run, &viewer) => ended,
        () = run.stopped() => (State::Stopped, None),
        () = stopping.cancelled() => (State::Stopped, Some("the server stops".to_owned())),
        () = viewer.caller().ended() => {
            (State::Failed, Some("the key has expired, or was removed or changed".to_owned()))
        }
    };
    let now = viewer.app().now();
    run.update(|progress| {
        progress.state = state;
        progress.error = error;
        progress.ended = Some(now);
    });
}

async fn steps(run: &Run, viewer: &Viewer) -> (State, Option<String>) {
    let mut next = Step::first_of(&run.task);
    let mut refused = 0;
    loop {
        match next.done(viewer).await {
            Ok(did) => {
                refused = 0;
                run.update(|progress| {
                    progress.matched += did.matched;
                    progress.changed += did.changed;
                    progress.skipped += did.skipped;
                    progress.error = None;
                });
                if did.is_last {
                    return (State::Completed, None);
                }
            }
            // A repeated step changes only jobs that still match, and delivers nothing twice.
            Err(failure) if may_repeat(&failure) && refused < REPEATS => {
                refused += 1;
                run.update(|progress| progress.error = Some(failure.detail));
                tokio::time::sleep(PAUSE * refused.min(30)).await;
            }
            Err(failure) => return (State::Failed, Some(failure.detail)),
        }
    }
}

/// The next call of a route.
enum Step {
    Bulk(Box<BulkBody>),
    Replay(String, ReplayBody),
}

/// What a step did.
struct Did {
    matched: u64,
    changed: u64,
    skipped: u64,
    is_last: bool,
}

impl Step {
    fn first_of(task: &Task) -> Self {
        match task {
            Task::Bulk { body, .. } => {
                Self::Bulk(Box::new(BulkBody { limit: Some(STEP), ..BulkBody::clone(body) }))
            }
            Task::Replay { consumer, name, from } => {
                let path = format!("/v1/subscriptions/{consumer}/replay");
                let (name, from) = (name.clone(), *from);
                let body = ReplayBody { name, from, after: None, to: None, cursor: None };
                Self::Replay(path, body)
            }
        }
    }

    /// Does it; what is left is the step after it.
    async fn done(&mut self, viewer: &Viewer) -> Result<Did, Failure> {
        match self {
            Self::Bulk(body) => {
                let answer = viewer.call(Method::POST, "/v1/jobs/bulk", &*body).await?;
                let report: BulkReportBody = answer.read()?;
                let BulkReportBody { matched, changed, skipped, .. } = report;
                (body.cursor, body.since) = (report.cursor, report.since);
                Ok(Did { matched, changed, skipped, is_last: body.cursor.is_none() })
            }
            Self::Replay(path, body) => {
                let answer = viewer.call(Method::POST, path, &*body).await?;
                let report: ReplayedBody = answer.read()?;
                let (matched, changed) = (report.matched as u64, report.delivered as u64);
                (body.to, body.cursor) = (Some(report.to), report.cursor);
                let skipped = matched.saturating_sub(changed);
                Ok(Did { matched, changed, skipped, is_last: body.cursor.is_none() })
            }
        }
    }
}

fn may_repeat(failure: &Failure) -> bool {
    matches!(failure.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
}
