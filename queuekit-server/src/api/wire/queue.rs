//! A queue as it is shown, and how its settings are changed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use queuekit::queue::{Keep, KeyOnDead, KeyOnWait, Order, Retention, Totals};
use queuekit::{Error, Queue, QueuePatch, QueueSettings, Result};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Time, given, millis};

/// The figures of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Queue)]
pub(crate) struct QueueBody {
    pub(crate) name: String,
    pub(crate) paused: bool,
    /// Jobs by status.
    counts: BTreeMap<&'static str, CountBody>,
    totals: TotalsBody,
    /// Age of the oldest job that could run now.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_ready_age_ms: Option<u64>,
    health: HealthBody,
    /// Live workers that serve it.
    workers: u64,
    /// Unreadable records met.
    corrupt: u64,
    settings: SettingsBody,
    /// When the store counted.
    #[schema(value_type = String, format = DateTime)]
    as_of: Time,
}

/// A number of jobs; above 10,000 it may be an estimate.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Serialize, ToSchema)]
#[schema(as = Count)]
struct CountBody {
    value: u64,
    exact: bool,
}

/// How jobs have ended since the queue came to exist, those that are gone included.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Serialize, ToSchema)]
#[schema(as = Totals)]
pub(crate) struct TotalsBody {
    completed: u64,
    dead: u64,
    cancelled: u64,
}

/// How well a queue does.
#[derive(Clone, Debug, Hash, PartialEq, Serialize, ToSchema)]
#[schema(as = Health)]
struct HealthBody {
    /// 0 to 100.
    score: u8,
    /// Why each point went.
    reasons: Vec<String>,
}

/// Settings as they hold.
#[derive(Clone, Debug, Hash, PartialEq, Serialize, ToSchema)]
#[schema(as = QueueSettings)]
pub(crate) struct SettingsBody {
    paused: bool,
    max_pending: Option<u64>,
    per_key: u32,
    key_on_wait: KeyOnWaitBody,
    key_on_dead: KeyOnDeadBody,
    order: OrderBody,
    dedup_window_ms: u64,
    retention: RetentionBody,
}

/// What is changed; what is absent stays.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = QueuePatch)]
pub(crate) struct PatchBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
    /// Null lifts the limit.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>)]
    max_pending: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10000)]
    per_key: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_on_wait: Option<KeyOnWaitBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_on_dead: Option<KeyOnDeadBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<OrderBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dedup_window_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retention: Option<RetentionBody>,
}

/// What a waiting job does to the later ones of its key.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = KeyOnWait)]
enum KeyOnWaitBody {
    Block,
    Skip,
}

/// What a dead job does to the later ones of its key.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = KeyOnDead)]
enum KeyOnDeadBody {
    Continue,
    Hold,
}

/// By priority, or keys in turn.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Order)]
enum OrderBody {
    Strict,
    Fair,
}

/// How long ended jobs are kept.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Retention)]
struct RetentionBody {
    /// Completed and cancelled ones.
    done: KeepBody,
    /// Dead ones.
    dead: KeepBody,
}

/// Bounds; null is no bound.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Keep)]
struct KeepBody {
    #[schema(minimum = 600000)]
    age_ms: Option<u64>,
    jobs: Option<u64>,
    bytes: Option<u64>,
}

impl QueueBody {
    pub(crate) fn of(queue: &Queue) -> Self {
        let count =
            |count: queuekit::queue::Count| CountBody { value: count.value, exact: count.exact };
        let health = HealthBody {
            score: queue.health.score,
            reasons: queue.health.reasons.iter().map(ToString::to_string).collect(),
        };
        Self {
            name: queue.name.to_string(),
            paused: queue.settings.paused,
            counts: queue.counts.iter().map(|(at, of)| (at.as_str(), count(of))).collect(),
            totals: TotalsBody::of(queue.totals),
            oldest_ready_age_ms: queue.oldest_ready_age.map(millis),
            health,
            workers: queue.workers,
            corrupt: queue.corrupt,
            settings: SettingsBody::of(&queue.settings),
            as_of: Time(queue.as_of),
        }
    }

    /// Another one when something has changed but time alone.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let Self { name, paused, counts, totals, health, workers, corrupt, settings, .. } = self;
        (name, paused, counts, totals, health, workers, corrupt, settings).hash(&mut hasher);
        hasher.finish()
    }
}

impl TotalsBody {
    pub(crate) fn of(totals: Totals) -> Self {
        let Totals { completed, dead, cancelled } = totals;
        Self { completed, dead, cancelled }
    }
}

impl SettingsBody {
    pub(crate) fn of(settings: &QueueSettings) -> Self {
        Self {
            paused: settings.paused,
            max_pending: settings.max_pending,
            per_key: settings.per_key,
            key_on_wait: match settings.key_on_wait {
                KeyOnWait::Block => KeyOnWaitBody::Block,
                KeyOnWait::Skip => KeyOnWaitBody::Skip,
            },
            key_on_dead: match settings.key_on_dead {
                KeyOnDead::Continue => KeyOnDeadBody::Continue,
                KeyOnDead::Hold => KeyOnDeadBody::Hold,
            },
            order: match settings.order {
                Order::Strict => OrderBody::Strict,
                Order::Fair => OrderBody::Fair,
            },
            dedup_window_ms: millis(settings.dedup_window),
            retention: RetentionBody {
                done: KeepBody::of(settings.retention.done),
                dead: KeepBody::of(settings.retention.dead),
            },
        }
    }
}

impl PatchBody {
    /// A pause begins or ends.
    pub(crate) fn paused(paused: bool) -> Self {
        Self { paused: Some(paused), ..Self::default() }
    }

    /// The change, checked.
    ///
    /// # Errors
    /// `Invalid`, naming the field that breaks its limit.
    pub(crate) fn patch(self) -> Result<QueuePatch> {
        let mut patch = QueuePatch::default();
        if let Some(paused) = self.paused {
            patch = patch.paused(paused);
        }
        if let Some(max_pending) = self.max_pending {
            countable("max_pending", max_pending)?;
            patch = patch.max_pending(max_pending);
        }
        if let Some(per_key) = self.per_key {
            patch = patch.per_key(per_key)?;
        }
        if let Some(policy) = self.key_on_wait {
            patch = patch.key_on_wait(match policy {
                KeyOnWaitBody::Block => KeyOnWait::Block,
                KeyOnWaitBody::Skip => KeyOnWait::Skip,
            });
        }
        if let Some(policy) = self.key_on_dead {
            patch = patch.key_on_dead(match policy {
                KeyOnDeadBody::Continue => KeyOnDead::Continue,
                KeyOnDeadBody::Hold => KeyOnDead::Hold,
            });
        }
        if let Some(order) = self.order {
            patch = patch.order(match order {
                OrderBody::Strict => Order::Strict,
                OrderBody::Fair => Order::Fair,
            });
        }
        if let Some(window_ms) = self.dedup_window_ms {
            countable("dedup_window_ms", Some(window_ms))?;
            patch = patch.dedup_window(Duration::from_millis(window_ms));
        }
        if let Some(retention) = self.retention {
            let (done, dead) = (retention.done.keep()?, retention.dead.keep()?);
            patch = patch.retention(Retention { done, dead });
        }
        Ok(patch)
    }
}

impl KeepBody {
    fn of(keep: Keep) -> Self {
        Self { age_ms: keep.age().map(millis), jobs: keep.jobs(), bytes: keep.bytes() }
    }

    fn keep(self) -> Result<Keep> {
        countable("retention age", self.age_ms)?;
        countable("retention jobs", self.jobs)?;
        countable("retention bytes", self.bytes)?;
        Keep::new(self.age_ms.map(Duration::from_millis), self.jobs, self.bytes)
    }
}

/// Stores count with a sign.
pub(crate) fn countable(field: &'static str, number: Option<u64>) -> Result<()> {
    match number.filter(|number| i64::try_from(*number).is_err()) {
        Some(number) => Err(Error::invalid(field, "at most 9223372036854775807", number)),
        None => Ok(()),
    }
}
