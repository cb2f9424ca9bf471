//! `POST /v1/reserve`: reserves jobs, and waits for them.

use std::fmt;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use queuekit::QueueName;
use queuekit::store::backend::AnswerBytes;
use queuekit::store::retry::{chance, jittered};
use queuekit::store::{Queues, Reserve, Reserved, WeightedQueues};
use queuekit::workers::WorkerId;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;
use utoipa::openapi::schema::{OneOfBuilder, Type};
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, Schema};

use super::ttl;
use super::undelivered::{self, UndeliveredLeases};
use crate::api::answer_memory::AnswerRoom;
use crate::api::app::App;
use crate::api::params::wait_time;
use crate::web::memory_budget::RequestBudget;
use crate::web::store_calls::{CallSort, StorePlace, of_queues};
use crate::web::{Caller, Json, Problem, WorkScope};
use crate::wire::{BATCH, LeasedBody, entries, items, millis};

/// How often a waiting call asks the store, because wake-ups may be lost: once in this time for
/// each hundred of its queues.
const POLL: Duration = Duration::from_secs(1);
const QUEUES_PER_POLL: usize = 100;
/// The pattern of names.
const NAME: &str = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$";

/// A request for work.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Reserve)]
pub(crate) struct ReserveBody {
    #[schema(schema_with = queues_schema)]
    queues: QueuesBody,
    #[serde(default = "one")]
    #[schema(minimum = 1, maximum = 1000, default = 1)]
    limit: usize,
    #[serde(default = "half_a_minute")]
    #[schema(minimum = 1000, maximum = 43200000, default = 30000)]
    lease_ms: u64,
    /// How long to wait if no job can run now.
    #[serde(default)]
    #[schema(maximum = 60000, default = 0)]
    wait_ms: u64,
    /// Id of the worker; shown with the jobs.
    #[schema(pattern = "^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$", example = "mailer-1")]
    worker: String,
}

/// Names in the order in which they are served, or weights of 1 to 100 by name.
enum QueuesBody {
    Strict(Vec<String>),
    Weighted(Vec<(String, u8)>),
}

/// The jobs that were leased.
#[derive(Serialize, ToSchema)]
#[schema(as = Reserved)]
pub(crate) struct ReservedBody<'a> {
    leases: Vec<LeasedBody<'a>>,
    /// Whether there may be more jobs that can run now: reserve again immediately.
    more: bool,
    /// When the next job becomes due, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_due_in_ms: Option<u64>,
}

/// Leases jobs that can run now, or waits for some.
///
/// If the client disconnects while waiting, nothing is leased.
#[utoipa::path(
    post, path = "/v1/reserve", tag = "work", security(("key" = [])),
    request_body(content = ReserveBody, content_type = "application/json"),
    responses((status = 200, description = "At most `limit` jobs, or none.", body = ReservedBody))
)]
pub(crate) async fn reserve(
    State(app): State<App>,
    caller: Caller,
    Json(body, budget, _): Json<WorkScope, ReserveBody>,
) -> Result<Response, Problem> {
    if caller.is_bound_to_kinds() {
        let detail = "the key is restricted to kinds, but jobs are reserved by queue; use a key \
                      that is restricted to queues";
        return Err(Problem::forbidden(detail));
    }
    let wait = wait_time(body.wait_ms)?;
    let ttl = ttl("lease_ms", body.lease_ms)?;
    let (worker, limit) = (WorkerId::new(body.worker)?, body.limit);
    let queues = body.queues.parse().map_err(|error| Problem::from(error).in_field("queues"))?;
    if !(1..=BATCH).contains(&queues.names().len()) {
        let detail = format!("queues must name 1 to {BATCH} queues");
        return Err(Problem::invalid("queues", detail));
    }
    if !(1..=BATCH).contains(&limit) {
        return Err(Problem::invalid("limit", format!("limit must be 1..={BATCH}")));
    }
    // Give back the memory of the body: the wait may take a minute.
    drop(budget);
    for queue in queues.names() {
        caller.need_queue(queue.as_str())?;
    }
    // Each call has its own nonce.
    let request = |answer: AnswerBytes| {
        let mut request = Reserve::new(queues.clone(), limit, ttl, worker.clone())?;
        request.answer = answer;
        Ok(request)
    };
    let (reserved, budget) = first(&app, &caller, queues.names(), limit, request, wait).await?;
    undelivered::respond(reserved, budget, |reserved| {
        let body = ReservedBody {
            leases: reserved.leases.iter().map(LeasedBody::of).collect(),
            more: reserved.more,
            next_due_in_ms: reserved.next_due_in.map(millis),
        };
        serde_json::to_vec(&body).unwrap_or_default()
    })
    .await
}

/// The first jobs that can run before the wait is over.
async fn first(
    app: &App,
    caller: &Caller,
    queues: &[QueueName],
    limit: usize,
    request: impl Fn(AnswerBytes) -> queuekit::Result<Reserve>,
    wait: Duration,
) -> Result<(UndeliveredLeases, RequestBudget), Problem> {
    let _place = app.reserve(caller, queues.len(), !wait.is_zero())?;
    // Subscribe before the first look, so that no job is missed in between.
    let wakeups = app.store().capabilities().wakeups.filter(|_| !wait.is_zero());
    let wakeup = wakeups.map(|wakeups| wakeups.subscribe(queues)).transpose()?;
    let end = Instant::now() + wait;
    let mut room = app.recent_sizes().room(caller.key(), limit);
    loop {
        // A call that waits for jobs takes its place in the store only while it looks.
        let items = of_queues(limit, queues.iter());
        let place = app.limits().store_calls.place(CallSort::Reserve, caller, items).await?;
        // Memory first: the store answers at most what there is room for.
        let budget = app.room_for_leases(caller, room.bytes()).await?;
        let reserved = reserve_detached(app, place, request(room.answer(&budget))?).await?;
        app.recent_sizes().saw(caller.key(), reserved.sizes());
        if reserved.is_empty() && reserved.more() && room != AnswerRoom::most() {
            // The first job may be larger than jobs were lately.
            room = AnswerRoom::most();
            continue;
        }
        let left = end.saturating_duration_since(Instant::now());
        if !reserved.is_empty() || left.is_zero() || app.stopping().is_cancelled() {
            return Ok((reserved, budget));
        }
        if reserved.more() {
            continue;
        }
        let due = reserved.next_due_in().unwrap_or(Duration::MAX);
        let pause = jittered(poll_of(queues.len()), chance()).min(due).min(left);
        // Hold no memory while waiting.
        drop((reserved, budget));
        room = app.recent_sizes().room(caller.key(), limit);
        let rung = async {
            match &wakeup {
                Some(wakeup) => wakeup.rung().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            // It must lease nothing for a key that is no longer valid.
            () = caller.ended() => return Err(Problem::key_ended()),
            () = rung => {}
            () = tokio::time::sleep(pause.max(Duration::from_millis(1))) => {}
            () = app.stopping().cancelled() => {}
        }
    }
}

/// How long a call that names this number of queues waits before it asks again. However many it
/// names, it looks at no more than 100 queues a second.
fn poll_of(queues: usize) -> Duration {
    POLL * u32::try_from(queues.div_ceil(QUEUES_PER_POLL)).unwrap_or(u32::MAX)
}

/// Reserves in its own task: if the client disconnects meanwhile, the leases are released.
async fn reserve_detached(
    app: &App,
    place: StorePlace,
    request: Reserve,
) -> Result<UndeliveredLeases, Problem> {
    let own = app.clone();
    let reserving = tokio::spawn(async move {
        let _place = place;
        let reserved: queuekit::Result<Reserved> = own.store().reserve(&request).await;
        reserved.map(|reserved| UndeliveredLeases::new(&own, reserved))
    });
    // The task is not aborted and does not panic; if it did, the leases would expire.
    let reserved = reserving.await.map_err(|_| Problem::overloaded("calls of the store"))?;
    Ok(reserved?)
}

/// Written by hand, because `untagged` would first read any input into memory.
impl<'de> Deserialize<'de> for QueuesBody {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = QueuesBody;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of at most {BATCH} names, or weights from 1 to 100 by name")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, from: A) -> Result<QueuesBody, A::Error> {
                items(from).map(QueuesBody::Strict)
            }

            fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<QueuesBody, A::Error> {
                entries(from).map(QueuesBody::Weighted)
            }
        }

        from.deserialize_any(Either)
    }
}

impl QueuesBody {
    fn parse(self) -> queuekit::Result<Queues> {
        Ok(match self {
            Self::Strict(names) => {
                let names: queuekit::Result<Vec<_>> =
                    names.into_iter().map(QueueName::new).collect();
                Queues::Strict(names?)
            }
            Self::Weighted(weights) => {
                let weighted =
                    weights.into_iter().map(|(name, weight)| Ok((QueueName::new(name)?, weight)));
                let weighted: queuekit::Result<Vec<_>> = weighted.collect();
                Queues::Weighted(WeightedQueues::new(weighted?)?)
            }
        })
    }
}

/// The schema of both forms, with their bounds.
fn queues_schema() -> Schema {
    let name = || ObjectBuilder::new().schema_type(Type::String).pattern(Some(NAME));
    let list = ArrayBuilder::new().items(name()).min_items(Some(1)).max_items(Some(1000));
    let weight = ObjectBuilder::new().schema_type(Type::Integer);
    let weight = weight.minimum(Some(1)).maximum(Some(100));
    let names = ObjectBuilder::new().schema_type(Type::String).pattern(Some(NAME));
    let weights = ObjectBuilder::new().schema_type(Type::Object).min_properties(Some(1));
    let weights = weights.property_names(Some(names)).additional_properties(Some(weight));
    OneOfBuilder::new().item(list).item(weights).build().into()
}

fn one() -> usize {
    1
}

fn half_a_minute() -> u64 {
    30_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_a_call_that_waits_for_many_queues_asks_less_often() {
        for (queues, seconds) in [(1, 1), (100, 1), (101, 2), (960, 10), (1000, 10)] {
            assert_eq!(poll_of(queues), Duration::from_secs(seconds), "{queues}");
        }
    }
}
