//! `GET /v1/stream`: what changes, as server-sent events.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream;
use queuekit::JobId;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;

use super::app::{App, Figure};
use super::params::Params;
use super::wire::JobBody;
use crate::http::bound::Place;
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
    let place = app.watch(&caller)?;
    let watch = Watch::new(&app, caller, watched.job, place);
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
    /// Fingerprints of queues as they were last told.
    queues: HashMap<String, u64>,
    /// Of the job as it was last told.
    told: u64,
    /// Figures of which those from this place on are still to be looked at.
    figures: Option<(Arc<Vec<Figure>>, usize)>,
    waiting: Option<Event>,
    queues_at: Instant,
    job_at: Instant,
    _place: Place,
}

impl Watch {
    fn new(app: &App, caller: Caller, job: Option<JobId>, place: Place) -> Self {
        let now = Instant::now();
        Self {
            app: app.clone(),
            caller,
            job,
            queues: HashMap::new(),
            told: 0,
            figures: None,
            waiting: None,
            queues_at: now,
            job_at: now,
            _place: place,
        }
    }

    /// The next change; none when the server stops, or the key opens nothing any more.
    async fn next(&mut self) -> Option<Event> {
        let stopping = self.app.stopping().clone();
        loop {
            if let Some(event) = self.waiting.take().or_else(|| self.next_queue()) {
                return Some(event);
            }
            let next =
                if self.job.is_some() { self.job_at.min(self.queues_at) } else { self.queues_at };
            tokio::select! {
                () = sleep_until(next) => {}
                () = stopping.cancelled() => return None,
                () = self.caller.ended() => return None,
            }
            if next == self.queues_at {
                // An outage is waited out: nothing has changed that could be told.
                self.figures = self.app.figures().await.ok().map(|figures| (figures, 0));
                self.queues_at = Instant::now() + QUEUES_EVERY;
            } else if let Some(id) = self.job {
                self.look_at_job(id).await;
                self.job_at = Instant::now() + JOB_EVERY;
            }
        }
    }

    /// The next queue that has changed, written when it is its turn.
    fn next_queue(&mut self) -> Option<Event> {
        let (figures, at) = self.figures.as_mut()?;
        while let Some(Figure { fingerprint, queue }) = figures.get(*at) {
            *at += 1;
            let known = self.queues.get(&queue.name) == Some(fingerprint);
            if known || !self.caller.sees_queue(&queue.name) {
                continue;
            }
            self.queues.insert(queue.name.clone(), *fingerprint);
            return Event::default().event("queue").json_data(queue).ok();
        }
        self.figures = None;
        None
    }

    async fn look_at_job(&mut self, id: JobId) {
        let Ok(found) = self.app.client().jobs().get(id).await else { return };
        let Some(job) = found.filter(|job| self.caller.sees(job)) else {
            self.job = None;
            self.waiting = Some(Event::default().event("gone").data(id.to_string()));
            return;
        };
        // The time that is left of its lease and its deadline changes by itself.
        let mut still = job.clone();
        (still.lease_expires_in, still.deadline_in) = (None, None);
        let mut hasher = DefaultHasher::new();
        format!("{still:?}").hash(&mut hasher);
        if self.told != hasher.finish() {
            self.told = hasher.finish();
            self.waiting = Event::default().event("job").json_data(JobBody::of(&job)).ok();
        }
    }
}
