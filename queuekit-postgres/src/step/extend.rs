//! Extending leases (contract R3.7).

use std::collections::HashMap;
use std::time::Duration;

use queuekit_core::capability::ExtendOutcome;
use queuekit_core::{JobId, LeaseToken, LeaseTtl};
use uuid::Uuid;

use super::Change;
use crate::error::Outcome;
use crate::params::{once, params};
use crate::row::{job_id, job_uuid, millis, nonce_uuid};
use crate::session::Session;
use crate::statements::Sql;

/// Extends leases without waiting for any: a lease that a transaction is settling is answered as
/// `Settling`.
pub(crate) async fn extend(
    session: &Session<'_>,
    leases: &[LeaseToken],
    ttl: LeaseTtl,
) -> Outcome<Vec<ExtendOutcome>> {
    let coherent = || leases.iter().filter(|lease| lease.is_coherent());
    let ids: Vec<Uuid> = coherent().map(|lease| job_uuid(lease.id)).collect();
    let seqs: Vec<i64> = coherent().map(|lease| lease.lease_seq.cast_signed()).collect();
    let nonces: Vec<Uuid> = coherent().map(|lease| nonce_uuid(lease.nonce)).collect();
    let queues: Vec<&str> = once(coherent().map(|lease| lease.queue.as_str()).collect());
    let ttl_ms = millis(ttl.get());
    let rows = session.settle(Sql::Extend, params![ids, seqs, nonces, ttl_ms, queues]).await?;
    let mut extended: HashMap<JobId, bool> = HashMap::new();
    for row in rows {
        extended.insert(job_id(row.try_get("id")?), row.try_get("cancel_requested")?);
    }
    // Of two leases of one job at most one can hold.
    let others = leases.iter().filter(|lease| !extended.contains_key(&lease.id));
    let others: Vec<Uuid> = others.map(|lease| job_uuid(lease.id)).collect();
    let change = match extended.len() == leases.len() {
        true => None,
        false => Some(Change::read(session, ids_of(leases, others)).await?),
    };
    leases.iter().map(|lease| outcome(lease, ttl.get(), &extended, change.as_ref())).collect()
}

fn ids_of(leases: &[LeaseToken], others: Vec<Uuid>) -> Vec<Uuid> {
    if others.is_empty() {
        // The call has an older lease of a job that another lease of the call has extended.
        return leases.iter().map(|lease| job_uuid(lease.id)).collect();
    }
    others.into_iter().chain(leases.iter().map(|lease| job_uuid(lease.id))).collect()
}

fn outcome(
    lease: &LeaseToken,
    ttl: Duration,
    extended: &HashMap<JobId, bool>,
    change: Option<&Change<'_>>,
) -> Outcome<ExtendOutcome> {
    let Some(change) = change else {
        let cancel_requested = extended.get(&lease.id).copied().unwrap_or_default();
        return Ok(ExtendOutcome::Extended { ttl, cancel_requested });
    };
    Ok(match change.job_of_lease(lease)? {
        None => ExtendOutcome::NotFound,
        Some((record, of_queue)) if !of_queue || !record.is_held_by(lease) => {
            ExtendOutcome::LeaseLost
        }
        Some(_) => match extended.get(&lease.id) {
            Some(cancel_requested) => {
                ExtendOutcome::Extended { ttl, cancel_requested: *cancel_requested }
            }
            None => ExtendOutcome::Settling,
        },
    })
}
