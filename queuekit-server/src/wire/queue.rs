//! The schema of a queue in answers: the core serializes it, and commands read the core's type.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use queuekit::Timestamp;
use queuekit::queues::Queue;
use utoipa::ToSchema;

use super::{SettingsBody, Time};

/// A queue with its figures and settings.
#[derive(ToSchema)]
#[schema(as = Queue)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct QueueForm {
    name: String,
    paused: bool,
    /// Number of jobs by status.
    counts: BTreeMap<String, CountForm>,
    totals: TotalsForm,
    /// Age of the oldest job that could run now.
    oldest_ready_age_ms: Option<u64>,
    health: HealthForm,
    /// Live workers that serve the queue.
    workers: u64,
    /// Unreadable records that were met.
    corrupt: u64,
    settings: SettingsBody,
    /// When the store counted.
    #[schema(value_type = String, format = DateTime)]
    as_of: Time,
}

/// A number of jobs; above 10,000 it may be an estimate.
#[derive(ToSchema)]
#[schema(as = Count)]
#[expect(dead_code, reason = "only its schema is used")]
struct CountForm {
    value: u64,
    exact: bool,
}

/// What has happened in a queue since it was created, including to jobs removed since.
#[derive(ToSchema)]
#[schema(as = Totals)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct TotalsForm {
    completed: u64,
    dead: u64,
    cancelled: u64,
    /// Jobs that were enqueued.
    enqueued: u64,
    /// Attempts that failed.
    failed: u64,
}

/// The health of a queue.
#[derive(ToSchema)]
#[schema(as = Health)]
#[expect(dead_code, reason = "only its schema is used")]
struct HealthForm {
    /// 0 to 100.
    score: u8,
    /// Why points are missing.
    reasons: Vec<String>,
}

/// A number that changes when something of a queue other than time has changed.
pub(crate) fn fingerprint(queue: &Queue) -> u64 {
    let mut still = queue.clone();
    (still.oldest_ready_age, still.as_of) = (None, Timestamp::default());
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(&still).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
