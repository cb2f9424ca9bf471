//! The steps of an action on all jobs of a filter.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, StatusCode};

use super::failure::Failure;
use super::run::{Run, State};
use super::viewer::Viewer;
use crate::wire::BulkReportBody;

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
    let mut body = run.body.clone();
    body.limit = Some(STEP);
    let mut refused = 0;
    loop {
        let step = viewer.call(Method::POST, "/v1/jobs/bulk", &body).await;
        let report = step.and_then(|answer| answer.read::<BulkReportBody>());
        match report {
            Ok(report) => {
                refused = 0;
                run.update(|progress| {
                    progress.matched += report.matched;
                    progress.changed += report.changed;
                    progress.skipped += report.skipped;
                    progress.error = None;
                });
                (body.cursor, body.since) = (report.cursor, report.since);
                if body.cursor.is_none() {
                    return (State::Completed, None);
                }
            }
            // A repeated step changes only jobs that still match.
            Err(failure) if may_repeat(&failure) && refused < REPEATS => {
                refused += 1;
                run.update(|progress| progress.error = Some(failure.detail));
                tokio::time::sleep(PAUSE * refused.min(30)).await;
            }
            Err(failure) => return (State::Failed, Some(failure.detail)),
        }
    }
}

fn may_repeat(failure: &Failure) -> bool {
    matches!(failure.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
}
