//! Payloads of deliveries that are stored once, with their event (contract R14.6).

use std::collections::{BTreeSet, HashMap};

use queuekit_core::{Bytes, JobId, Lease};
use uuid::Uuid;

use super::lease::Granted;
use crate::error::Outcome;
use crate::params::params;
use crate::row::{job_id, job_uuid};
use crate::session::Session;
use crate::statements::Sql;

/// The payloads that were found.
#[derive(Default)]
pub(crate) struct Payloads {
    of_events: HashMap<i64, Bytes>,
    /// By delivery, where it has a copy.
    of_jobs: HashMap<JobId, Bytes>,
}

impl Payloads {
    /// The lease with its payload; none if that was not found.
    pub(crate) fn complete(&self, granted: Granted) -> Option<Lease> {
        let Granted { mut lease, event } = granted;
        if let Some(event) = event {
            let copy = || self.of_jobs.get(&lease.token.id);
            lease.payload = self.of_events.get(&event).or_else(copy)?.clone();
        }
        Some(lease)
    }
}

/// Reads the data of each event once. An event that was removed meanwhile has left copies with its
/// deliveries.
pub(crate) async fn payloads(session: &Session<'_>, wanted: &[(i64, JobId)]) -> Outcome<Payloads> {
    let places: BTreeSet<i64> = wanted.iter().map(|(event, _)| *event).collect();
    let places: Vec<i64> = places.into_iter().collect();
    let mut payloads = Payloads::default();
    for row in session.query(Sql::EventData, params![places]).await? {
        let data = Bytes::copy_from_slice(row.try_get("data")?);
        payloads.of_events.insert(row.try_get("seq")?, data);
    }
    let is_gone = |(event, _): &&(i64, JobId)| !payloads.of_events.contains_key(event);
    let gone: Vec<Uuid> = wanted.iter().filter(is_gone).map(|(_, id)| job_uuid(*id)).collect();
    if !gone.is_empty() {
        for row in session.query(Sql::EventCopies, params![gone]).await? {
            let id = job_id(row.try_get("id")?);
            payloads.of_jobs.insert(id, Bytes::copy_from_slice(row.try_get("payload")?));
        }
    }
    Ok(payloads)
}
