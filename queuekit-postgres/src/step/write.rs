//! Writes what core decided, with one statement per kind of change.

use queuekit_core::{JobId, Timestamp};
use uuid::Uuid;

use super::change::{Change, Write};
use crate::error::{Failure, Outcome};
use crate::params::params;
use crate::row::{KEPT, Record, job_id, job_uuid, millis, to_small};
use crate::statements::Sql;

impl Change<'_> {
    /// Writes all changes in the order of ids, so that no two calls wait for each other.
    pub(super) async fn flush(&mut self) -> Outcome<()> {
        let mut writes = std::mem::take(&mut self.writes);
        writes.sort_unstable_by_key(|(id, _)| *id);
        self.write_pending(&writes).await?;
        self.write_ends(&writes).await?;
        let of = |wanted: fn(&Write) -> bool| {
            let chosen = writes.iter().filter(|(_, write)| wanted(write));
            chosen.map(|(id, _)| job_uuid(*id)).collect::<Vec<Uuid>>()
        };
        let removed = of(|write| *write == Write::Remove);
        if !removed.is_empty() {
            self.session.query(Sql::ToNothing, params![removed]).await?;
        }
        let asked = of(|write| *write == Write::RequestCancel);
        if !asked.is_empty() {
            self.session.query(Sql::RequestCancel, params![asked]).await?;
        }
        let returned = of(|write| matches!(write, Write::Return { .. }));
        if !returned.is_empty() {
            let keeps = |(_, write): &(JobId, Write)| match write {
                Write::Return { keeps_place } => Some(*keeps_place),
                _ => None,
            };
            let keeps: Vec<bool> = writes.iter().filter_map(keeps).collect();
            let of = |id: &Uuid| self.records.get(&job_id(*id));
            let delay = |id| of(id).map_or(0, |job| millis(job.scheduled_at.since(self.now)));
            let delays: Vec<i64> = returned.iter().map(delay).collect();
            let params = params![returned, keeps, delays];
            let back = self.session.query(Sql::ToWaiting, params).await?;
            if back.len() < returned.len() {
                return Err(Failure::transient("events of cancelled deliveries were just removed"));
            }
        }
        self.write_keys().await
    }

    async fn write_pending(&self, writes: &[(JobId, Write)]) -> Outcome<()> {
        let chosen = writes.iter().filter(|(_, write)| *write == Write::Pending);
        let records: Vec<&Record> = chosen.filter_map(|(id, _)| self.records.get(id)).collect();
        if records.is_empty() {
            return Ok(());
        }
        let ids: Vec<Uuid> = records.iter().map(|record| job_uuid(record.id)).collect();
        let ats: Vec<i64> = records.iter().map(|record| record.scheduled_at.as_millis()).collect();
        let attempts: Vec<i16> = records.iter().map(|record| to_small(record.attempts)).collect();
        let releases: Vec<i32> = records
            .iter()
            .map(|record| i32::try_from(record.releases).unwrap_or(i32::MAX))
            .collect();
        let added: Vec<Option<String>> = records.iter().map(|record| record.added()).collect();
        let (failures, released) = KEPT;
        let params = params![ids, ats, attempts, releases, added, failures, released];
        self.session.query(Sql::ToPending, params).await.map(drop)
    }

    async fn write_ends(&self, writes: &[(JobId, Write)]) -> Outcome<()> {
        let mut ends = Ends::default();
        for (id, write) in writes {
            let (ran, corrupt) = match write {
                Write::EndWaiting { corrupt } => (false, *corrupt),
                Write::EndRunning { corrupt } => (true, *corrupt),
                _ => continue,
            };
            if let Some(record) = self.records.get(id) {
                ends.push(record, ran, corrupt);
            }
        }
        if ends.ids.is_empty() {
            return Ok(());
        }
        let (failures, releases) = KEPT;
        let params = params![
            ends.ids,
            ends.ran,
            ends.states,
            ends.attempts,
            ends.lease_seqs,
            ends.nonces,
            ends.started,
            ends.workers,
            ends.cancels,
            ends.holds,
            ends.reasons,
            ends.added,
            ends.corrupt,
            failures,
            releases,
        ];
        self.session.query(Sql::ToEnded, params).await.map(drop)
    }

    async fn write_keys(&mut self) -> Outcome<()> {
        let mut writes = std::mem::take(&mut self.keys);
        if writes.is_empty() {
            return Ok(());
        }
        writes
            .sort_unstable_by(|one, other| (&one.queue, &one.key).cmp(&(&other.queue, &other.key)));
        let queues: Vec<&str> = writes.iter().map(|write| write.queue.as_str()).collect();
        let keys: Vec<&str> = writes.iter().map(|write| write.key.as_str()).collect();
        let jobs: Vec<Uuid> = writes.iter().map(|write| job_uuid(write.job)).collect();
        let windows: Vec<Option<i64>> = writes.iter().map(|write| write.window_ms).collect();
        self.session.query(Sql::KeysSettle, params![queues, keys, jobs, windows]).await.map(drop)
    }
}

/// Ended jobs in the form that the statement takes.
#[derive(Default)]
struct Ends<'r> {
    ids: Vec<Uuid>,
    ran: Vec<bool>,
    states: Vec<i16>,
    attempts: Vec<i16>,
    lease_seqs: Vec<i64>,
    nonces: Vec<Option<Uuid>>,
    started: Vec<Option<i64>>,
    workers: Vec<Option<&'r str>>,
    cancels: Vec<bool>,
    holds: Vec<bool>,
    reasons: Vec<Option<&'r str>>,
    added: Vec<Option<String>>,
    corrupt: Vec<bool>,
}

impl<'r> Ends<'r> {
    fn push(&mut self, record: &'r Record, ran: bool, corrupt: bool) {
        self.ids.push(job_uuid(record.id));
        self.ran.push(ran);
        self.states.push(record.state as i16);
        self.attempts.push(to_small(record.attempts));
        self.lease_seqs.push(record.lease_seq);
        self.nonces.push(record.nonce);
        self.started.push(record.started_at.map(Timestamp::as_millis));
        self.workers.push(record.worker.as_deref());
        self.cancels.push(record.cancel_requested);
        self.holds.push(record.holds);
        self.reasons.push(record.reason.as_deref());
        self.added.push(record.added());
        self.corrupt.push(corrupt);
    }
}
