//! Working jobs from any language.

pub(super) mod beating;
pub(super) mod leases;
pub(super) mod reserve;
pub(super) mod settle;
mod unsent;
pub(super) mod workers;

use std::time::Duration;

use queuekit::{Error, LeaseToken, LeaseTtl};
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::{Caller, Problem};

/// An outcome per item, in the order of the batch.
#[derive(Serialize, ToSchema)]
#[schema(as = Outcomes)]
pub(super) struct OutcomesBody {
    outcomes: Vec<OutcomeBody>,
}

/// What became of one item.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[schema(as = Outcome)]
pub(super) struct OutcomeBody {
    outcome: &'static str,
    /// When it runs again.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_ms: Option<u64>,
    /// How long the lease holds from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u64>,
    /// Somebody asked for the run to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel_requested: Option<bool>,
}

impl From<&'static str> for OutcomeBody {
    fn from(outcome: &'static str) -> Self {
        Self { outcome, ..Self::default() }
    }
}

/// The lease of the item at this place.
///
/// # Errors
/// 422 if it is none; 403 if it is of a queue that the key is not for.
fn token(caller: &Caller, item: usize, text: &str) -> Result<LeaseToken, Problem> {
    let parsed: Result<LeaseToken, Error> = text.parse();
    let token = parsed.map_err(|error| Problem::from(error.at_item(item)))?;
    caller.need_queue(token.queue.as_str()).map_err(|problem| problem.at_item(item))?;
    Ok(token)
}

/// How long a lease or a beat holds, as this field says.
///
/// # Errors
/// 422 if it is too short or too long.
fn ttl(field: &'static str, millis: u64) -> Result<LeaseTtl, Problem> {
    let ttl = LeaseTtl::new(Duration::from_millis(millis));
    ttl.map_err(|error| Problem::from(error).in_field(field))
}
