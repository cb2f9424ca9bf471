//! The retention of events, in requests and answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An event is removed when it is older than `age_ms`, or when more than `events` newer ones are in
/// the log, but not while a delivery needs it.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = EventRetention)]
pub(crate) struct RetentionBody {
    #[schema(minimum = 600000)]
    pub(crate) age_ms: u64,
    #[schema(minimum = 1)]
    pub(crate) events: u64,
}
