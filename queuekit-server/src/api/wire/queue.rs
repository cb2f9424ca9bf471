//! A queue as it is shown.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use queuekit::Queue;
use queuekit::queue::Totals;
use serde::Serialize;
use utoipa::ToSchema;

use super::{SettingsBody, Time, millis};

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
            settings: SettingsBody(queue.settings.clone()),
            as_of: Time(queue.as_of),
        }
    }

    /// Another one when something has changed but time alone.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let Self { name, paused, counts, totals, health, workers, corrupt, settings, .. } = self;
        let settings = settings.0.to_json();
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
