//! Beats, by which workers say that they are there, and learn what they are to do.

use std::time::{Duration, Instant};

use axum::extract::State;
use queuekit::QueueName;
use queuekit::jobs::Kind;
use queuekit::store::limits::{BEAT_JOBS, BEAT_TEXT_BYTES, BEAT_UNDECODABLE, QUIET};
use queuekit::workers::{About, Beat, Orders, Served, WorkerId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ttl;
use super::workers::{names_all, need_worker};
use crate::api::app::App;
use crate::api::store_call::in_store;
use crate::web::store_calls::CallSort;
use crate::web::{Caller, Json, Problem, WorkScope};
use crate::wire::{OrdersBody, RunningBody, Time, UndecodableKindBody, bounded};

/// More slots than any worker has; stores need not count further.
pub(super) const MOST: u32 = 1_000_000;
/// Higher than any number of an order, and exact in every JSON reader.
const OBEYED: u64 = (1 << 53) - 1;

/// A beat, which announces a worker.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Beat)]
pub(crate) struct BeatBody {
    /// Id of this process or incarnation: the `worker` of its reserve calls.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$")]
    id: String,
    /// Name for people; several workers may share it.
    #[schema(max_length = 128)]
    name: String,
    #[schema(max_items = 100)]
    #[serde(deserialize_with = "bounded")]
    queues: Vec<String>,
    /// Whether it serves more queues than it names.
    #[serde(default)]
    more_queues: bool,
    /// The kinds it has handlers for.
    #[schema(max_items = 100)]
    #[serde(alias = "types", deserialize_with = "bounded")]
    kinds: Vec<String>,
    /// It has handlers for more kinds than it names.
    #[serde(default, alias = "more_types")]
    more_kinds: bool,
    /// Jobs that it can run at once.
    #[schema(maximum = 1000000)]
    slots: u32,
    /// Jobs that it runs.
    #[schema(maximum = 1000000)]
    running: u32,
    /// The worker is listed for three times this long; more than 10 minutes counts as 10 minutes.
    #[schema(minimum = 1000, maximum = 43200000)]
    ttl_ms: u64,
    /// It makes no call for this long, and is listed for this much longer; at most an hour.
    #[schema(maximum = 3600000)]
    #[serde(default)]
    quiet_ms: u64,
    /// The machine.
    #[schema(max_length = 255)]
    #[serde(default)]
    host: String,
    /// The number of its process.
    #[schema(format = Int64, maximum = 4_294_967_295_u64)]
    pid: Option<u32>,
    /// The version of the worker's library.
    #[schema(max_length = 255)]
    #[serde(default)]
    version: String,
    /// When it was started.
    started_at: Option<Time>,
    /// Jobs that it runs; those that run the longest are enough.
    #[schema(max_items = 100)]
    #[serde(default, deserialize_with = "bounded")]
    jobs: Vec<RunningBody>,
    /// Kinds of which it could not read every payload in the last two hours; those of the latest
    /// such payloads are enough.
    #[schema(max_items = 10)]
    #[serde(default, deserialize_with = "bounded")]
    undecodable: Vec<UndecodableKindBody>,
    /// The number of the last order that it has obeyed.
    #[schema(maximum = 9007199254740991i64)]
    #[serde(default)]
    obeyed: u64,
}

/// The answer to a beat.
#[derive(Serialize, ToSchema)]
#[schema(as = BeatAnswer)]
pub(crate) struct BeatAnswer {
    /// What the worker is to do; null if there is nothing.
    #[schema(required)]
    orders: Option<OrdersBody>,
}

/// Announces a worker, so that it is listed, and answers what it is to do. Nothing else depends on
/// it.
#[utoipa::path(
    post, path = "/v1/beat", tag = "work", security(("key" = [])),
    request_body(content = BeatBody, content_type = "application/json"),
    responses((status = 200, description = "The worker is listed.", body = BeatAnswer))
)]
pub(crate) async fn beat(
    State(app): State<App>,
    caller: Caller,
    Json(body, budget, _): Json<WorkScope, BeatBody>,
) -> Result<axum::Json<BeatAnswer>, Problem> {
    let beat = body.build()?;
    for queue in beat.queues.names() {
        caller.need_queue(queue.as_str())?;
    }
    let running = beat.about.jobs().iter().map(|job| &job.kind);
    let undecodable = beat.about.undecodable().iter().map(|said| &said.kind);
    for kind in beat.kinds.names().iter().chain(running).chain(undecodable) {
        caller.need_kind(kind.as_str())?;
    }
    if caller.is_bound() && !names_all(&beat.queues) {
        return Err(Problem::forbidden("the key is restricted: name all queues of the worker"));
    }
    if caller.is_bound_to_kinds() && !names_all(&beat.kinds) {
        return Err(Problem::forbidden("the key is restricted: name all kinds of the worker"));
    }
    // To its end, even if the client disconnects: a worker that is not counted might be listed a
    // moment later.
    let announcing = announce(app.clone(), caller.clone(), beat);
    let orders = in_store(&app, &caller, (CallSort::Extend, 1), budget, announcing).await?;
    Ok(axum::Json(BeatAnswer { orders: OrdersBody::of(orders) }))
}

pub(super) async fn announce(app: App, caller: Caller, mut beat: Beat) -> Result<Orders, Problem> {
    let _turn = app.worker_limit().turns.of(&beat.id).await;
    need_worker(&app, &caller, &beat.id).await?;
    app.worker_limit().admit(&caller, &mut beat, app.limits().workers_of_key(), Instant::now())?;
    Ok(app.leases()?.beat(&beat).await?)
}

impl BeatBody {
    fn build(self) -> Result<Beat, Problem> {
        if self.name.len() > 128 {
            return Err(Problem::invalid("name", "name must be at most 128 bytes"));
        }
        if self.slots > MOST || self.running > MOST {
            let detail = format!("slots and running are at most {MOST}");
            return Err(Problem::invalid("slots", detail));
        }
        for (field, text) in [("host", &self.host), ("version", &self.version)] {
            if text.len() > BEAT_TEXT_BYTES {
                let detail = format!("{field} must be at most {BEAT_TEXT_BYTES} bytes");
                return Err(Problem::invalid(field, detail));
            }
        }
        if self.jobs.len() > BEAT_JOBS {
            return Err(Problem::invalid("jobs", format!("jobs: at most {BEAT_JOBS} are named")));
        }
        if self.undecodable.len() > BEAT_UNDECODABLE {
            let detail = format!("undecodable: at most {BEAT_UNDECODABLE} are named");
            return Err(Problem::invalid("undecodable", detail));
        }
        if u128::from(self.quiet_ms) > QUIET.as_millis() {
            let detail = format!("quiet_ms must be at most {}", QUIET.as_millis());
            return Err(Problem::invalid("quiet_ms", detail));
        }
        if self.obeyed > OBEYED {
            return Err(Problem::invalid("obeyed", format!("obeyed must be at most {OBEYED}")));
        }
        let about = self.about()?;
        let queues: queuekit::Result<_> = self.queues.into_iter().map(QueueName::new).collect();
        let kinds: queuekit::Result<_> = self.kinds.into_iter().map(Kind::new).collect();
        let queues = queues.and_then(|queues| Served::new(queues, self.more_queues));
        let kinds = kinds.and_then(|kinds| Served::new(kinds, self.more_kinds));
        let wrong = |field| move |error| Problem::from(error).in_field(field);
        let id = WorkerId::new(self.id).map_err(wrong("id"))?;
        let queues = queues.map_err(wrong("queues"))?;
        let kinds = kinds.map_err(wrong("kinds"))?;
        let mut beat = Beat::new(id, queues, kinds, ttl("ttl_ms", self.ttl_ms)?);
        beat.name = self.name;
        beat.slots = self.slots;
        beat.running = self.running;
        beat.quiet_for = Duration::from_millis(self.quiet_ms);
        beat.obeyed = self.obeyed;
        beat.about = about;
        Ok(beat)
    }

    fn about(&self) -> Result<About, Problem> {
        let jobs = self.jobs.iter().map(RunningBody::build).collect::<Result<Vec<_>, _>>()?;
        let undecodable = self.undecodable.iter().map(UndecodableKindBody::build);
        let undecodable = undecodable.collect::<Result<Vec<_>, _>>()?;
        let mut about = About::default().with_host(&self.host).with_version(&self.version);
        if let Some(pid) = self.pid {
            about = about.with_pid(pid);
        }
        if let Some(Time(at)) = self.started_at {
            about = about.with_started_at(at);
        }
        Ok(about.with_jobs(jobs).with_undecodable(undecodable))
    }
}
