//! Working jobs over HTTP, from any language.

pub(super) mod beat;
pub(super) mod checkpoints;
pub(super) mod control;
pub(super) mod leases;
pub(super) mod reserve;
pub(super) mod settle;
mod undelivered;
pub(super) mod worker_limit;
pub(super) mod workers;

use std::time::Duration;

use queuekit::jobs::LeaseToken;
use queuekit::store::LeaseTtl;
use serde::Serialize;
use utoipa::ToSchema;

use crate::web::{Caller, Problem};
use crate::wire::TokenBody;

/// The outcomes, one per item in the order of the batch.
#[derive(Serialize, ToSchema)]
#[schema(as = Outcomes)]
pub(super) struct OutcomesBody {
    outcomes: Vec<OutcomeBody>,
}

/// The outcome for one item.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[schema(as = Outcome)]
pub(super) struct OutcomeBody {
    outcome: &'static str,
    /// When the job runs again.
    #[serde(skip_serializing_if = "Option::is_none")]
    in_ms: Option<u64>,
    /// How long the lease lasts from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u64>,
    /// Whether the run was asked to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel_requested: Option<bool>,
}

impl From<&'static str> for OutcomeBody {
    fn from(outcome: &'static str) -> Self {
        Self { outcome, ..Self::default() }
    }
}

/// The lease of the item at this position.
///
/// # Errors
/// 422 if it is not a token; 403 if the key is not for its queue.
fn lease(caller: &Caller, item: usize, text: &str) -> Result<LeaseToken, Problem> {
    token(caller, item, text).map(|token| token.lease)
}

/// The same with what the delay of a retry depends on.
fn token(caller: &Caller, item: usize, text: &str) -> Result<TokenBody, Problem> {
    token_of(caller, text).map_err(|problem| problem.at_item(item))
}

/// The lease of a call about one.
///
/// # Errors
/// As of [`lease`].
fn lease_of(caller: &Caller, text: &str) -> Result<LeaseToken, Problem> {
    token_of(caller, text).map(|token| token.lease)
}

fn token_of(caller: &Caller, text: &str) -> Result<TokenBody, Problem> {
    let token = TokenBody::read(text)?;
    caller.need_queue(token.lease.queue.as_str())?;
    Ok(token)
}

/// The duration of a lease or a beat, in this field.
///
/// # Errors
/// 422 if it is too short or too long.
fn ttl(field: &'static str, millis: u64) -> Result<LeaseTtl, Problem> {
    let ttl = LeaseTtl::new(Duration::from_millis(millis));
    ttl.map_err(|error| Problem::from(error).in_field(field))
}
