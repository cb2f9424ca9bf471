//! `GET /v1/stream`: what changes, as server-sent events.

use std::collections::HashMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream;
use queuekit::JobId;
use serde::Deserialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;

use super::app::App;
use super::params::Params;
use super::queues::figures;
use super::wire::{JobBody, QueueBody};
use crate::http::{Caller, Problem, Scope};

/// Between two looks at the figures of queues.
const QUEUES_EVERY: Duration = Duration::from_secs(1);
/// Between two looks at a job.
const JOB_EVERY: Duration = Duration::from_millis(500);

/// What to watch beside queues.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Watched {
    /// Tell also whenever this job has changed.
    #[param(value_type = Option<String>, format = Uuid)]
    job: Option<JobId>,
}

/// Figures of queues, whenever they have changed, and a job.
///
/// `queue` is the figures of a queue, at most once a second; `job` a job as it stands then; `gone`
/// is the id of a job that is no longer stored.
#[utoipa::path(
    get, path = "/v1/stream", tag = "watching", security(("key" = [])), params(Watched),
    responses((status = 200, description = "Events, until somebody hangs up.", body = String,
        content_type = "text/event-stream"))
)]
pub(super) async fn stream(
    State(app): State<App>,
    caller: Caller,
    Params(watched): Params<Watched>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    caller.need(Scope::Read)?;
    if let Some(id) = watched.job {
        app.job(&caller, id).await?;
    }
    let watch = Watch::new(&app, caller, watched.job, app.wait()?);
    let events = stream::unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((Ok(event), watch))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

struct Watch {
    app: App,
    caller: Caller,
    job: Option<JobId>,
    /// As they were last told.
    queues: HashMap<String, QueueBody>,
    told: String,
    waiting: Vec<Event>,
    queues_at: Instant,
    job_at: Instant,
    _place: OwnedSemaphorePermit,
}

impl Watch {
    fn new(app: &App, caller: Caller, job: Option<JobId>, place: OwnedSemaphorePermit) -> Self {
        let now = Instant::now();
        Self {
            app: app.clone(),
            caller,
            job,
            queues: HashMap::new(),
            told: String::new(),
            waiting: Vec::new(),
            queues_at: now,
            job_at: now,
            _place: place,
        }
    }

    /// The next change; none when the server stops.
    async fn next(&mut self) -> Option<Event> {
        let stopping = self.app.stopping().clone();
        loop {
            if let Some(event) = self.waiting.pop() {
                return Some(event);
            }
            let next =
                if self.job.is_some() { self.job_at.min(self.queues_at) } else { self.queues_at };
            tokio::select! {
                () = sleep_until(next) => {}
                () = stopping.cancelled() => return None,
            }
            if next == self.queues_at {
                self.look_at_queues().await;
                self.queues_at = Instant::now() + QUEUES_EVERY;
            } else if let Some(id) = self.job {
                self.look_at_job(id).await;
                self.job_at = Instant::now() + JOB_EVERY;
            }
        }
    }

    /// An outage is waited out: nothing has changed that could be told.
    async fn look_at_queues(&mut self) {
        let Ok(figures) = figures(&self.app, &self.caller).await else { return };
        for queue in figures {
            let still = queue.still();
            if self.queues.get(&queue.name) == Some(&still) {
                continue;
            }
            self.queues.insert(queue.name.clone(), still);
            self.waiting.extend(Event::default().event("queue").json_data(&queue));
        }
    }

    async fn look_at_job(&mut self, id: JobId) {
        let Ok(found) = self.app.client().get_job(id).await else { return };
        let Some(job) = found.filter(|job| self.caller.sees(job)) else {
            self.job = None;
            self.waiting.push(Event::default().event("gone").data(id.to_string()));
            return;
        };
        // The time that is left of its lease and its deadline changes by itself.
        let mut still = job.clone();
        (still.lease_expires_in, still.deadline_in) = (None, None);
        let still = format!("{still:?}");
        if still != self.told {
            self.told = still;
            self.waiting.extend(Event::default().event("job").json_data(JobBody::of(&job)));
        }
    }
}
