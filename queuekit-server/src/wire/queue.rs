//! A queue in answers, written by the server and read by commands.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use queuekit::Status;
use queuekit::queues::{Queue, Totals};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{SettingsBody, Time, millis};

/// A queue with its figures and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Queue)]
pub(crate) struct QueueBody {
    pub(crate) name: String,
    pub(crate) paused: bool,
    /// Number of jobs by status.
    #[schema(value_type = BTreeMap<String, CountBody>)]
    pub(crate) counts: BTreeMap<Status, CountBody>,
    pub(crate) totals: TotalsBody,
    /// Age of the oldest job that could run now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oldest_ready_age_ms: Option<u64>,
    pub(crate) health: HealthBody,
    /// Live workers that serve the queue.
    pub(crate) workers: u64,
    /// Unreadable records that were met.
    pub(crate) corrupt: u64,
    pub(crate) settings: SettingsBody,
    /// When the store counted.
    #[schema(value_type = String, format = DateTime)]
    pub(crate) as_of: Time,
}

/// A number of jobs; above 10,000 it may be an estimate.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Count)]
pub(crate) struct CountBody {
    pub(crate) value: u64,
    pub(crate) exact: bool,
}

/// How many jobs have ended since the queue was created, including those removed since.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Totals)]
pub(crate) struct TotalsBody {
    pub(crate) completed: u64,
    pub(crate) dead: u64,
    pub(crate) cancelled: u64,
}

/// The health of a queue.
#[derive(Clone, Debug, Hash, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Health)]
pub(crate) struct HealthBody {
    /// 0 to 100.
    pub(crate) score: u8,
    /// Why points are missing.
    pub(crate) reasons: Vec<String>,
}

impl QueueBody {
    pub(crate) fn of(queue: &Queue) -> Self {
        let count =
            |count: queuekit::queues::Count| CountBody { value: count.value, exact: count.exact };
        let health = HealthBody {
            score: queue.health.score,
            reasons: queue.health.reasons.iter().map(ToString::to_string).collect(),
        };
        Self {
            name: queue.name.to_string(),
            paused: queue.settings.paused,
            counts: queue.counts.iter().map(|(at, of)| (at, count(of))).collect(),
            totals: TotalsBody::of(queue.totals),
            oldest_ready_age_ms: queue.oldest_ready_age.map(millis),
            health,
            workers: queue.workers,
            corrupt: queue.corrupt,
            settings: SettingsBody(queue.settings.clone()),
            as_of: Time(queue.as_of),
        }
    }

    /// A number that changes when something other than time has changed.
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
