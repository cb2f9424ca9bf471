//! `GET /v1/stream`: changes of queues and a job, as server-sent events.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream;
use queuekit::queues::Queue;
use queuekit::{Job, JobId, QueueName};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use utoipa::IntoParams;

use super::app::App;
use super::figures::Figures;
use super::params::Params;
use crate::web::fair_share::SharePermit;
use crate::web::memory_budget::RequestBudget;
use crate::web::{Caller, Problem, Scope};

/// How often the figures of queues are read.
const QUEUES_EVERY: Duration = Duration::from_secs(1);
/// How often the job is read.
const JOB_EVERY: Duration = Duration::from_millis(500);

/// What to watch besides queues.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Watched {
    /// Also watch this job.
    #[param(value_type = Option<String>, format = Uuid)]
    job: Option<JobId>,
}

/// Watches changes of queues and of a job.
///
/// The event `queue` has a queue with its figures, whenever they have changed, at most once a
/// second. `job` has the job, whenever it has changed. `gone` has the id of the job when it is no
/// longer stored.
#[utoipa::path(
    get, path = "/v1/stream", tag = "watching", security(("key" = [])), params(Watched),
    responses((status = 200, description = "Events, until the client disconnects.", body = String,
        content_type = "text/event-stream"))
)]
pub(super) async fn stream(
    State(app): State<App>,
    caller: Caller,
    Params(watched): Params<Watched>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    caller.need(Scope::Read)?;
    let place = app.watch(&caller)?;
    if let Some(id) = watched.job {
        let _budget = app.budget(&caller).await?;
        app.job(&caller, id).await?;
    }
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
    /// Fingerprints of queues as they were last sent.
    queues: HashMap<String, u64>,
    /// Hash of the job as it was last sent.
    told: Option<u64>,
    /// The last queue that was sent, while others may follow. No figures are kept meanwhile: a
    /// client that reads slowly would have many of them kept.
    behind: Option<QueueName>,
    waiting: Option<Event>,
    /// Memory for the job, until the connection asks for the next event.
    budget: Option<RequestBudget>,
    queues_at: Instant,
    job_at: Instant,
    _place: SharePermit,
}

impl Watch {
    fn new(app: &App, caller: Caller, job: Option<JobId>, place: SharePermit) -> Self {
        let now = Instant::now();
        Self {
            app: app.clone(),
            caller,
            job,
            queues: HashMap::new(),
            told: None,
            behind: None,
            waiting: None,
            budget: None,
            queues_at: now,
            job_at: now,
            _place: place,
        }
    }

    /// The next change; `None` when the server stops, or the key is no longer valid.
    async fn next(&mut self) -> Option<Event> {
        self.budget = None;
        let (stopping, caller) = (self.app.stopping().clone(), self.caller.clone());
        loop {
            if let Some(event) = self.waiting.take() {
                return Some(event);
            }
            tokio::select! {
                () = self.look() => {}
                () = stopping.cancelled() => return None,
                () = caller.ended() => return None,
            }
        }
    }

    /// Reads what is due next, when it is due.
    async fn look(&mut self) {
        match self.job {
            Some(id) if self.job_at < self.queues_at => {
                sleep_until(self.job_at).await;
                self.look_at_job(id).await;
                self.job_at = Instant::now() + JOB_EVERY;
            }
            _ => {
                sleep_until(self.queues_at).await;
                self.look_at_queues().await;
            }
        }
    }

    /// Finds the next queue that has changed. If there is none, the next look is due later.
    async fn look_at_queues(&mut self) {
        // During an outage the stream waits: it has no change to report.
        let figures = self.app.figures().await.ok();
        self.waiting = figures.as_deref().and_then(|figures| self.next_queue(figures));
        if self.waiting.is_none() {
            figures.iter().for_each(|figures| self.forget_removed(figures));
            self.behind = None;
            self.queues_at = Instant::now() + QUEUES_EVERY;
        }
    }

    fn next_queue(&mut self, figures: &Figures) -> Option<Event> {
        let is_before = |queue: &Queue| Some(&queue.name) <= self.behind.as_ref();
        let from = figures.queues.partition_point(is_before);
        for (queue, fingerprint) in figures.queues.iter().zip(figures.fingerprints()).skip(from) {
            let name = queue.name.as_str();
            let known = self.queues.get(name) == Some(fingerprint);
            if known || !self.caller.sees_queue(name) {
                continue;
            }
            self.queues.insert(name.to_owned(), *fingerprint);
            self.behind = Some(queue.name.clone());
            return Event::default().event("queue").json_data(queue).ok();
        }
        None
    }

    /// Keeps nothing of queues that are gone, however many come and go.
    fn forget_removed(&mut self, figures: &Figures) {
        let is_there = |name: &str| {
            figures.queues.binary_search_by(|queue| queue.name.as_str().cmp(name)).is_ok()
        };
        self.queues.retain(|name, _| is_there(name));
    }

    async fn look_at_job(&mut self, id: JobId) {
        // Without memory the stream reports the change later.
        let Ok(budget) = self.app.budget(&self.caller).await else { return };
        let Ok(found) = self.app.client().jobs().get(id).await else { return };
        let Some(job) = found.filter(|job| self.caller.sees(job)) else {
            self.job = None;
            self.waiting = Some(Event::default().event("gone").data(id.to_string()));
            return;
        };
        let (job, hash) = hashed(job);
        if self.told != Some(hash) {
            self.told = Some(hash);
            self.waiting = Event::default().event("job").json_data(&job).ok();
            budget.begin_sending();
            self.budget = Some(budget);
        }
    }
}

/// The job, and a hash of what of it may have to be sent again: its payload, which may be large,
/// stays the same, and the time left of its lease and its deadline passes by itself.
fn hashed(mut job: Job) -> (Job, u64) {
    // The payload never changes, and the times that are left change with every look.
    let payload = std::mem::take(&mut job.payload);
    let times = (job.lease_expires_in.take(), job.deadline_in.take());
    let mut hashing = Hashing::default();
    // A hasher takes everything.
    let _ = serde_json::to_writer(&mut hashing, &job);
    job.payload = payload;
    (job.lease_expires_in, job.deadline_in) = times;
    (job, hashing.0.finish())
}

/// Hashes what is written.
#[derive(Default)]
struct Hashing(DefaultHasher);

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use queuekit::memory::MemoryStore;
    use queuekit::{Client, JobDraft};

    use super::*;
    use crate::api::test_app::app_of;
    use crate::web::auth::tests::caller_for;

    #[tokio::test(start_paused = true)]
    async fn s6_a_stream_reads_its_job_only_with_memory_and_keeps_that_until_it_is_sent() {
        let client = Client::new(MemoryStore::new());
        let id = client.enqueue(JobDraft::new("t", "1")).await.unwrap();
        let app = app_of(client);
        let caller = caller_for("*", Scope::Read);
        let place = app.watch(&caller).unwrap_or_else(|problem| panic!("{}", problem.kind()));
        let mut watch = Watch::new(&app, caller.clone(), Some(id), place);
        // Two pages are what one key may have.
        let fill = |pages| {
            let takes = (0..pages).map(|_| app.budget(&caller));
            futures_util::future::join_all(takes)
        };
        let held = fill(2).await;
        assert!(held.iter().all(Result::is_ok));
        watch.look_at_job(id).await;
        assert!(watch.waiting.is_none(), "the change is reported later");
        drop(held);
        watch.look_at_job(id).await;
        assert!(watch.waiting.is_some());
        assert!(fill(2).await.iter().any(Result::is_err), "the event has a page");
        watch.next().await;
        assert!(watch.next().await.is_some());
        assert!(fill(2).await.iter().all(Result::is_ok), "the event is sent");
    }

    /// Guard: clients that read slowly had the figures of each second kept.
    #[tokio::test(start_paused = true)]
    async fn s6_a_stream_keeps_no_figures_while_its_client_reads() {
        let client = Client::new(MemoryStore::new());
        for queue in ["a", "b"] {
            client.enqueue(JobDraft::new("t", "1").queue(queue)).await.unwrap();
        }
        let app = app_of(client);
        let caller = caller_for("*", Scope::Read);
        let place = app.watch(&caller).unwrap_or_else(|problem| panic!("{}", problem.kind()));
        let mut watch = Watch::new(&app, caller, None, place);
        let figures = Arc::downgrade(&app.figures().await.unwrap_or_else(|_| panic!("figures")));
        assert!(watch.next().await.is_some() && figures.upgrade().is_some());
        tokio::time::sleep(QUEUES_EVERY * 3).await;
        assert!(figures.upgrade().is_none(), "there are later ones");
        assert!(watch.next().await.is_some(), "the other queue");
        assert!(tokio::time::timeout(QUEUES_EVERY * 9, watch.next()).await.is_err());
    }

    #[tokio::test]
    async fn s6_a_large_payload_costs_a_stream_nothing_that_has_nothing_to_tell() {
        let client = Client::new(MemoryStore::new());
        let id = client.enqueue(JobDraft::new("t", "1").deadline(Duration::from_secs(9))).await;
        let job = client.jobs().get(id.unwrap()).await.unwrap().unwrap();
        let hash_if = |change: fn(&mut Job)| {
            let mut other = job.clone();
            change(&mut other);
            let (kept, hash) = hashed(other.clone());
            assert_eq!(kept, other);
            hash
        };
        let unchanged = hash_if(|_| {});
        assert_eq!(hash_if(|job| job.payload = "2".into()), unchanged, "it is not looked at");
        assert_eq!(hash_if(|job| job.deadline_in = None), unchanged, "it passes by itself");
        assert_ne!(hash_if(|job| job.attempts = 1), unchanged);
        assert_ne!(hash_if(|job| job.result = Some("1".into())), unchanged);
    }
}
