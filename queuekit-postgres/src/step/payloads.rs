//! Payloads of deliveries that are stored once, with their event (contract R14.6).

use std::collections::{BTreeSet, HashMap};

use queuekit_core::{Bytes, JobId, Lease, Result};
use uuid::Uuid;

use super::lease::Granted;
use crate::PostgresStore;
use crate::call::Call;
use crate::error::Outcome;
use crate::params::params;
use crate::row::{job_id, job_uuid};
use crate::session::Session;
use crate::statements::Sql;

/// The payloads that were found.
#[derive(Default)]
struct Payloads {
    of_events: HashMap<i64, Bytes>,
    /// By delivery, where it has a copy.
    of_jobs: HashMap<JobId, Bytes>,
}

impl PostgresStore {
    /// Adds to leases the payloads of their events. A lease whose payload cannot be read is not
    /// returned: it runs out, and the job is leased again later.
    pub(super) async fn with_payloads(&self, granted: Vec<Granted>) -> Vec<Lease> {
        if granted.iter().all(|granted| granted.event.is_none()) {
            return granted.into_iter().map(|granted| granted.lease).collect();
        }
        let payloads = self.payloads(&granted).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "unread deliveries stay leased until their leases expire");
            Payloads::default()
        });
        let complete = |granted: Granted| {
            let Granted { mut lease, event } = granted;
            if let Some(event) = event {
                let copy = || payloads.of_jobs.get(&lease.token.id);
                lease.payload = payloads.of_events.get(&event).or_else(copy)?.clone();
            }
            Some(lease)
        };
        granted.into_iter().filter_map(complete).collect()
    }

    async fn payloads(&self, granted: &[Granted]) -> Result<Payloads> {
        let wanted: Vec<(i64, JobId)> = granted
            .iter()
            .filter_map(|granted| Some((granted.event?, granted.lease.token.id)))
            .collect();
        let read = self.call("reserve", Call::Repeatable, wanted, |wanted, session| {
            Box::pin(read(session, wanted))
        });
        read.await
    }
}

/// Reads the data of each event once. An event that was removed meanwhile has left copies with its
/// deliveries.
async fn read(session: &Session<'_>, wanted: &[(i64, JobId)]) -> Outcome<Payloads> {
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
