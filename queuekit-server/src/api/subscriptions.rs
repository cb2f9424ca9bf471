//! Who wants which events.

use std::iter::once;
use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use queuekit::event::{ConsumerStats, Consumers, Replay, ReplayFrom};
use queuekit::{ConsumerName, EventId, RetryPolicy, Subscription, SubscriptionDraft};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::app::App;
use super::audit::audited;
use super::creating::{Counted, Creating, creating, to_its_end};
use super::params::Named;
use super::wire::{Time, TotalsBody, millis};
use crate::http::{Caller, Json, Problem, Scope, ToManage};

/// All subscriptions.
#[derive(Serialize, ToSchema)]
#[schema(as = Subscriptions)]
pub(super) struct SubscriptionsBody {
    subscriptions: Vec<SubscriptionBody>,
}

/// A subscription.
#[derive(Serialize, ToSchema)]
#[schema(as = Subscription)]
pub(super) struct SubscriptionBody {
    consumer: String,
    /// Where its deliveries are worked.
    queue: String,
    events: String,
    ordered: bool,
    fair: bool,
    enabled: bool,
    max_attempts: u32,
    timeout_ms: u64,
    delay_ms: u64,
    /// When a failed delivery is tried again, where it is not left to the worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stats: Option<StatsBody>,
}

/// How a consumer does.
#[derive(Serialize, ToSchema)]
#[schema(as = ConsumerStats)]
struct StatsBody {
    depth: u64,
    in_flight: u64,
    dead: u64,
    totals: TotalsBody,
    /// Of the last 100 that ended.
    failure_rate: f64,
    /// From emit to completion: the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_p50_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_p95_ms: Option<u64>,
}

/// What a subscription is to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = SubscriptionGiven)]
pub(super) struct GivenBody {
    /// A type, what begins with some parts (`order.*`), or `*`.
    #[schema(example = "order.*")]
    events: String,
    /// Deliveries of one partition key run one after the other.
    #[serde(default)]
    ordered: bool,
    /// Partition keys are served in turn; those of one still run beside each other.
    #[serde(default)]
    fair: bool,
    /// While it is not, events make no deliveries for it; a replay fills the gap. Without it a
    /// subscription stays as it is, and a new one is enabled.
    enabled: Option<bool>,
    #[schema(minimum = 1, maximum = 1000, default = 3)]
    max_attempts: Option<u32>,
    #[schema(minimum = 1, maximum = 31622400000_u64)]
    timeout_ms: Option<u64>,
    #[schema(maximum = 31622400000_u64)]
    delay_ms: Option<u64>,
    /// `exponential BASE_MS CAP_MS JITTER`, `fixed MS` or `list MS MS ..`.
    #[schema(example = "fixed 5000")]
    retry: Option<String>,
}

/// One step of a replay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Replay)]
pub(super) struct ReplayBody {
    /// Tells one replay from another: a step that is repeated delivers nothing twice.
    #[schema(min_length = 1)]
    name: String,
    /// Events stored at this instant or later; without it and `after`, all.
    #[schema(value_type = Option<String>, format = DateTime)]
    from: Option<Time>,
    /// Events behind this one.
    #[schema(value_type = Option<String>, format = Uuid)]
    after: Option<EventId>,
    /// What the first step answered.
    #[schema(pattern = "^[0-9]{1,18}$")]
    to: Option<String>,
    /// What the last step answered.
    #[schema(pattern = "^[0-9]{1,18}$")]
    cursor: Option<String>,
}

/// What a step did.
#[derive(Serialize, ToSchema)]
#[schema(as = ReplayReport)]
pub(super) struct ReplayedBody {
    matched: usize,
    delivered: usize,
    /// Where the replay ends: the end of the log when it began.
    to: String,
    /// Call again with it and `to`; without one this was the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// All subscriptions.
#[utoipa::path(
    get, path = "/v1/subscriptions", tag = "events", security(("key" = [])),
    responses((status = 200, description = "By consumer.", body = SubscriptionsBody))
)]
pub(super) async fn list_subscriptions(
    State(app): State<App>,
    caller: Caller,
) -> Result<Answer<SubscriptionsBody>, Problem> {
    caller.need(Scope::Read)?;
    let all = app.client().consumers().list().await?;
    let seen = all.iter().filter(|one| caller.sees_queue(&queue_of(one.consumer())));
    let subscriptions = seen.map(|one| SubscriptionBody::of(one, None)).collect();
    Ok(Answer(SubscriptionsBody { subscriptions }))
}

/// The subscription of a consumer, and how it does.
#[utoipa::path(
    get, path = "/v1/subscriptions/{consumer}", tag = "events", security(("key" = [])),
    params(("consumer" = String, Path)),
    responses(
        (status = 200, description = "The subscription.", body = SubscriptionBody),
        (status = 404, description = "It has none."),
    )
)]
pub(super) async fn get_subscription(
    State(app): State<App>,
    caller: Caller,
    Named(consumer): Named<ConsumerName>,
) -> Result<Answer<SubscriptionBody>, Problem> {
    let consumers = admitted(&app, &caller, Scope::Read, &consumer)?;
    let found = consumers.get(&consumer).await?;
    let found = found.ok_or_else(|| Problem::not_found("subscription"))?;
    let stats = consumers.stats(&consumer).await?;
    Ok(Answer(SubscriptionBody::of(&found, Some(stats))))
}

/// Creates the subscription of a consumer, or replaces it.
#[utoipa::path(
    put, path = "/v1/subscriptions/{consumer}", tag = "events", security(("key" = [])),
    params(("consumer" = String, Path)),
    request_body(content = GivenBody, content_type = "application/json"),
    responses(
        (status = 201, description = "There was none.", body = SubscriptionBody),
        (status = 200, description = "It was replaced.", body = SubscriptionBody),
        (status = 409, description = "The key has created as many as it may, or the key or the \
            store has as many queues."),
    )
)]
pub(super) async fn put_subscription(
    State(app): State<App>,
    caller: Caller,
    Named(consumer): Named<ConsumerName>,
    Json(body, ..): Json<ToManage, GivenBody>,
) -> Result<(StatusCode, Answer<SubscriptionBody>), Problem> {
    admitted(&app, &caller, Scope::Manage, &consumer)?;
    let keeps_enabled = body.enabled.is_none();
    let target = format!("subscription {consumer}");
    let given = body.build(consumer)?;
    let putting = async move {
        let put = put(app, &caller, given, keeps_enabled).await;
        audited(&caller, "put", target, put)
    };
    let (stored, is_new) = to_its_end(putting).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(SubscriptionBody::of(&stored, None))))
}

/// What is stored then, and whether it is new.
async fn put(
    app: App,
    caller: &Caller,
    given: Subscription,
    keeps_enabled: bool,
) -> Result<(Subscription, bool), Problem> {
    let queue = given.consumer().queue()?;
    let new = Creating::admit(&app, caller, once(given.consumer())).await?;
    let new_queue = Creating::admit(&app, caller, once(&queue)).await?;
    let putting = async move {
        let consumers = app.client().consumers();
        if keeps_enabled {
            return Ok(consumers.put_keeping_enabled(&given).await?);
        }
        let is_new = consumers.put(&given).await?;
        Ok((given, is_new))
    };
    creating(new, creating(new_queue, putting)).await
}

/// Events make no more deliveries for this consumer; those there are stay.
#[utoipa::path(
    delete, path = "/v1/subscriptions/{consumer}", tag = "events", security(("key" = [])),
    params(("consumer" = String, Path)),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "It has none."),
    )
)]
pub(super) async fn delete_subscription(
    State(app): State<App>,
    caller: Caller,
    Named(consumer): Named<ConsumerName>,
) -> Result<StatusCode, Problem> {
    let consumers = admitted(&app, &caller, Scope::Manage, &consumer)?;
    let removing = async {
        let removed = consumers.remove(&consumer).await?;
        if removed { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found("subscription")) }
    };
    let removed = removing.await;
    consumer.removed_if(&app, &removed);
    audited(&caller, "delete", format_args!("subscription {consumer}"), removed)
}

/// Delivers events of the log once more: one step.
#[utoipa::path(
    post, path = "/v1/subscriptions/{consumer}/replay", tag = "events", security(("key" = [])),
    params(("consumer" = String, Path)),
    request_body(content = ReplayBody, content_type = "application/json"),
    responses(
        (status = 200, description = "What it did.", body = ReplayedBody),
        (status = 404, description = "No subscription, or no such event."),
    )
)]
pub(super) async fn replay(
    State(app): State<App>,
    caller: Caller,
    Named(consumer): Named<ConsumerName>,
    Json(body, ..): Json<ToManage, ReplayBody>,
) -> Result<Answer<ReplayedBody>, Problem> {
    admitted(&app, &caller, Scope::Manage, &consumer)?;
    let replay = body.build(consumer)?;
    let replaying = async move {
        let report = app.client().consumers().replay(&replay).await.map_err(Problem::from);
        let target = format_args!("subscription {}", replay.consumer);
        let report = audited(&caller, "replay", target, report)?;
        caller.owe(report.delivered);
        Ok(report)
    };
    let report = to_its_end(replaying).await?;
    Ok(Answer(ReplayedBody {
        matched: report.matched,
        delivered: report.delivered,
        to: report.to.to_string(),
        cursor: report.cursor.map(|cursor| cursor.to_string()),
    }))
}

/// A subscription writes to the queue of its consumer.
fn admitted<'a>(
    app: &'a App,
    caller: &Caller,
    scope: Scope,
    consumer: &ConsumerName,
) -> Result<Consumers<'a>, Problem> {
    caller.need(scope)?;
    caller.need_queue(&queue_of(consumer))?;
    if caller.is_bound_to_types() && scope != Scope::Read {
        return Err(Problem::forbidden("the key is bound to types, and a consumer is not"));
    }
    Ok(app.client().consumers())
}

fn queue_of(consumer: &ConsumerName) -> String {
    consumer.queue().map(String::from).unwrap_or_default()
}

impl SubscriptionBody {
    fn of(subscription: &Subscription, stats: Option<ConsumerStats>) -> Self {
        Self {
            consumer: subscription.consumer().to_string(),
            queue: queue_of(subscription.consumer()),
            events: subscription.events().to_string(),
            ordered: subscription.is_ordered(),
            fair: subscription.is_fair(),
            enabled: subscription.is_enabled(),
            max_attempts: subscription.max_attempts(),
            timeout_ms: millis(subscription.timeout()),
            delay_ms: millis(subscription.delay()),
            retry: subscription.retry().and_then(|policy| policy.written()),
            stats: stats.map(StatsBody::of),
        }
    }
}

impl StatsBody {
    fn of(stats: ConsumerStats) -> Self {
        Self {
            depth: stats.depth,
            in_flight: stats.in_flight,
            dead: stats.dead,
            totals: TotalsBody::of(stats.totals),
            failure_rate: stats.failure_rate,
            latency_p50_ms: stats.latency.map(|(median, _)| millis(median)),
            latency_p95_ms: stats.latency.map(|(_, late)| millis(late)),
        }
    }
}

impl GivenBody {
    fn build(self, consumer: ConsumerName) -> Result<Subscription, Problem> {
        let mut draft = SubscriptionDraft::new(consumer, &self.events);
        draft = draft.enabled(self.enabled.unwrap_or(true));
        if self.ordered {
            draft = draft.ordered();
        }
        if self.fair {
            draft = draft.fair();
        }
        if let Some(max_attempts) = self.max_attempts {
            draft = draft.max_attempts(max_attempts);
        }
        if let Some(timeout_ms) = self.timeout_ms {
            draft = draft.timeout(Duration::from_millis(timeout_ms));
        }
        if let Some(delay_ms) = self.delay_ms {
            draft = draft.delay(Duration::from_millis(delay_ms));
        }
        if let Some(text) = self.retry {
            let policy = RetryPolicy::read(&text).ok_or_else(|| {
                let detail = "retry must be `exponential BASE_MS CAP_MS JITTER`, `fixed MS` or \
                              `list MS MS ..`";
                Problem::invalid("retry", detail)
            })?;
            draft = draft.retry(&policy);
        }
        Ok(draft.build()?)
    }
}

impl ReplayBody {
    fn build(self, consumer: ConsumerName) -> Result<Replay, Problem> {
        let from = match (self.from, self.after) {
            (None, None) => ReplayFrom::Beginning,
            (Some(Time(at)), None) => ReplayFrom::Time(at),
            (None, Some(event)) => ReplayFrom::Event(event),
            (Some(_), Some(_)) => {
                return Err(Problem::invalid("after", "give from or after, not both"));
            }
        };
        let place = |name: &'static str, text: Option<String>| {
            let place = text.map(|text| text.parse()).transpose();
            let detail = format!("{name} must be one that a step answered");
            place.map_err(|_| Problem::invalid(name, detail))
        };
        Ok(Replay {
            to: place("to", self.to)?,
            cursor: place("cursor", self.cursor)?,
            ..Replay::new(consumer, self.name, from)
        })
    }
}
