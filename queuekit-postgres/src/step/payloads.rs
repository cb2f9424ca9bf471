//! Payloads of deliveries that stand once, with their event (contract R14.6).

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

/// What was found.
#[derive(Default)]
struct Payloads {
    of_events: HashMap<i64, Bytes>,
    /// Of deliveries that were given a copy.
    of_jobs: HashMap<JobId, Bytes>,
}

impl PostgresStore {
    /// Leases with the payloads of their events. One whose payload cannot be had is not told of:
    /// it runs out, and the job is met again.
    pub(super) async fn with_payloads(&self, granted: Vec<Granted>) -> Vec<Lease> {
        if granted.iter().all(|granted| granted.event.is_none()) {
            return granted.into_iter().map(|granted| granted.lease).collect();
        }
        let payloads = self.payloads(&granted).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "deliveries whose data was not had stay leased for a ttl");
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

/// Of each event once. One that went meanwhile has left copies, in the same instant.
async fn read(session: &Session<'_>, wanted: &[(i64, JobId)]) -> Outcome<Payloads> {
    let places: BTreeSet<i64> = wanted.iter().map(|(event, _)| *event).collect();
    let places: Vec<i64> = places.into_iter().collect();
    let mut payloads = Payloads::default();
    for row in session.query(Sql::EventData, params![places]).await? {
        payloads.of_events.insert(row.try_get(0)?, Bytes::copy_from_slice(row.try_get(1)?));
    }
    let is_gone = |(event, _): &&(i64, JobId)| !payloads.of_events.contains_key(event);
    let gone: Vec<Uuid> = wanted.iter().filter(is_gone).map(|(_, id)| job_uuid(*id)).collect();
    if !gone.is_empty() {
        for row in session.query(Sql::EventCopies, params![gone]).await? {
            let id = job_id(row.try_get(0)?);
            payloads.of_jobs.insert(id, Bytes::copy_from_slice(row.try_get(1)?));
        }
    }
    Ok(payloads)
}
