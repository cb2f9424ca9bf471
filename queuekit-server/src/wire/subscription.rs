//! Subscriptions and replays, in requests and answers.

use queuekit::events::EventId;
use queuekit::queues::Totals;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Time;

/// All subscriptions.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Subscriptions, bound = "")]
pub(crate) struct SubscriptionsBody<T = SubscriptionBody> {
    #[schema(value_type = Vec<SubscriptionBody>)]
    pub(crate) subscriptions: Vec<T>,
}

/// A subscription.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = Subscription)]
pub(crate) struct SubscriptionBody {
    pub(crate) consumer: String,
    /// Queue of its deliveries.
    pub(crate) queue: String,
    pub(crate) events: String,
    pub(crate) ordered: bool,
    pub(crate) fair: bool,
    pub(crate) enabled: bool,
    pub(crate) max_attempts: u32,
    pub(crate) timeout_ms: u64,
    pub(crate) delay_ms: u64,
    /// Retry policy of failed deliveries; missing if it is left to the worker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stats: Option<ConsumerStatsBody>,
}

/// The figures of a consumer.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = ConsumerStats)]
pub(crate) struct ConsumerStatsBody {
    pub(crate) depth: u64,
    pub(crate) in_flight: u64,
    pub(crate) dead: u64,
    pub(crate) totals: Totals,
    /// Share of failures among the last 100 that ended, 0 to 1.
    pub(crate) failure_rate: f64,
    /// Median time from emit to completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency_p50_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency_p95_ms: Option<u64>,
}

/// A subscription to store.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewSubscription)]
pub(crate) struct NewSubscriptionBody {
    /// One event type, all types below a prefix (`order.*`), or `*`.
    #[schema(example = "order.*")]
    pub(crate) events: String,
    /// Deliveries of one partition key run one after the other.
    #[serde(default)]
    pub(crate) ordered: bool,
    /// Partition keys take turns; deliveries of one key may run at the same time.
    #[serde(default)]
    pub(crate) fair: bool,
    /// While false, events make no deliveries; a replay can deliver them later. If left out, it
    /// stays as it is, and a new subscription is enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    #[schema(minimum = 1, maximum = 1000, default = 3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_attempts: Option<u32>,
    #[schema(minimum = 1, maximum = 31622400000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_ms: Option<u64>,
    #[schema(maximum = 31622400000_u64)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay_ms: Option<u64>,
    /// `exponential BASE_MS CAP_MS JITTER`, `fixed MS` or `list MS MS ..`.
    #[schema(example = "fixed 5000")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry: Option<String>,
}

/// One step of a replay.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Replay)]
pub(crate) struct ReplayBody {
    /// Identifies the replay: a step that is repeated delivers nothing twice.
    #[schema(min_length = 1)]
    pub(crate) name: String,
    /// Events stored at this time or later. Default: the beginning of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Time>,
    /// Events stored after this one, instead of `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<EventId>,
    /// `to` of the first step.
    #[schema(pattern = "^[0-9]{1,18}$")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<String>,
    /// `cursor` of the previous step.
    #[schema(pattern = "^[0-9]{1,18}$")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
}

/// What a step did.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = ReplayReport)]
pub(crate) struct ReplayedBody {
    pub(crate) matched: usize,
    pub(crate) delivered: usize,
    /// Where the replay ends: the end of the log when it began.
    pub(crate) to: String,
    /// Send it and `to` with the next step; missing after the last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<String>,
}
