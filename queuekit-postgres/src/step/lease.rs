//! The statement that leases jobs, and what it answers.

use std::time::Duration;

use bytes::Bytes;
use queuekit_core::backend::AnswerBytes;
use queuekit_core::{
    JobId, Kind, Lease, LeaseToken, Metadata, PartitionKey, Priority, QueueName, Reserve, Timestamp,
};
use tokio_postgres::Row;

use super::hints::{Hints, Places};
use super::reclaim::Refusal;
use crate::column_names::columns;
use crate::error::{Outcome, unreadable};
use crate::params::{Typed, typed};
use crate::row::{PLAIN, job_id, millis, nonce_uuid, small, unsigned};

/// The parameters of a reserve, in the form that the statement takes.
pub(super) struct LeaseCall<'a> {
    hints: &'a Hints,
    quotas: &'a [(QueueName, usize)],
    names: Vec<&'a str>,
    most: Vec<i32>,
    limit: i32,
    nonce: uuid::Uuid,
    ttl_ms: i64,
    worker: &'a str,
    /// The caller holds the queues' locks, and has taken back leases that ran out.
    locked: bool,
    places: Places,
    /// The bytes of the leases that the call has already.
    taken: i64,
    most_bytes: i64,
}

impl<'a> LeaseCall<'a> {
    pub(super) fn new(
        (request, hints): (&'a Reserve, &'a Hints),
        quotas: &'a [(QueueName, usize)],
        limit: usize,
        locked: bool,
        taken: AnswerBytes,
    ) -> Self {
        let small = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
        Self {
            hints,
            quotas,
            names: quotas.iter().map(|(name, _)| name.as_str()).collect(),
            most: quotas.iter().map(|(_, most)| small(*most)).collect(),
            limit: small(limit),
            nonce: nonce_uuid(request.nonce),
            ttl_ms: millis(request.ttl.get()),
            worker: request.worker.as_str(),
            locked,
            places: hints.places(quotas.iter().map(|(name, _)| name)),
            taken: bytes(taken.taken()),
            most_bytes: bytes(taken.most()),
        }
    }

    pub(super) fn params(&self) -> [Typed<'_>; 15] {
        [
            typed(&self.names),
            typed(&self.most),
            typed(&self.limit),
            typed(&self.nonce),
            typed(&self.ttl_ms),
            typed(&self.worker),
            typed(&self.locked),
            typed(&self.locked),
            typed(&self.places.queues),
            typed(&self.places.ranks),
            typed(&self.places.ats),
            typed(&self.places.seqs),
            typed(&self.places.expired),
            typed(&self.taken),
            typed(&self.most_bytes),
        ]
    }

    pub(super) fn answer(&self, rows: &[Row]) -> Outcome<Answer> {
        let names: Vec<QueueName> = self.quotas.iter().map(|(name, _)| name.clone()).collect();
        let answer = Answer::read(rows, &names)?;
        let places = answer.rows.iter().map(|row| row.place);
        self.hints.took(answer.dead_rows, places);
        // Otherwise the statement has not looked for expired leases, or has found one.
        if !self.locked && !answer.unfinished {
            self.hints.none_expired(names.iter(), answer.now);
        }
        Ok(answer)
    }
}

/// What a lease statement answered.
pub(super) struct Answer {
    pub(super) now: Timestamp,
    /// It leased nothing, because something has to be done first.
    pub(super) unfinished: bool,
    pub(super) dead_rows: i64,
    pub(super) next_due_in: Option<Duration>,
    /// The bytes of the leases; and whether a job did not fit.
    total: i64,
    is_full: bool,
    pub(super) rows: Vec<Leased>,
}

pub(super) struct Leased {
    pub(super) id: JobId,
    pub(super) keyed: bool,
    pub(super) refusal: Option<Refusal>,
    /// Its place in ready: queue, rank, time, sequence.
    pub(super) place: (i32, i16, i64, i64),
    pub(super) lease: Option<Lease>,
    pub(super) lease_seq: u64,
    /// The place of the event that has its payload.
    event: Option<i64>,
}

columns! {
    struct LeaseColumns {
        now,
        overdue,
        keyed,
        dead_rows,
        id,
        queue,
        served_rank,
        at,
        served_seq,
        rank,
        attempts,
        max_attempts,
        releases,
        lease_seq,
        scheduled_at,
        created_at,
        timeout_ms,
        deadline_at,
        kind,
        lane,
        metadata,
        payload,
        place,
        next_due_in,
        event,
        is_full,
        total,
    }
}

/// A lease that the answer returns.
pub(crate) struct Granted {
    pub(crate) lease: Lease,
    /// The place of the event that has its payload.
    pub(crate) event: Option<i64>,
}

impl Answer {
    pub(super) fn read(rows: &[Row], names: &[QueueName]) -> Outcome<Self> {
        let in_row = LeaseColumns::of(rows)?;
        let first = rows.first().ok_or_else(|| unreadable("the answer to a reserve"))?;
        let now = Timestamp::from_millis(first.try_get(in_row.now)?);
        let (overdue, keyed): (bool, bool) =
            (first.try_get(in_row.overdue)?, first.try_get(in_row.keyed)?);
        let mut leased = Vec::with_capacity(rows.len());
        for row in rows {
            if row.try_get::<_, Option<uuid::Uuid>>(in_row.id)?.is_some() {
                leased.push(Leased::read(row, &in_row, names, now)?);
            }
        }
        let next: Option<i64> = first.try_get(in_row.next_due_in)?;
        let last =
            rows.last().map(|row| row.try_get::<_, Option<i64>>(in_row.total)).transpose()?;
        Ok(Self {
            now,
            unfinished: overdue || keyed,
            dead_rows: first.try_get(in_row.dead_rows)?,
            total: last.flatten().unwrap_or_default(),
            is_full: first.try_get(in_row.is_full)?,
            next_due_in: next.map(|ms| Duration::from_millis(unsigned(ms))),
            rows: leased,
        })
    }

    /// Counts the bytes of the leases.
    pub(super) fn count(&self, bytes: &mut AnswerBytes) {
        let total = usize::try_from(self.total).unwrap_or_default();
        bytes.set(bytes.taken() + total, self.is_full);
    }

    pub(super) fn refused(&self) -> Vec<(JobId, Refusal)> {
        self.rows.iter().filter_map(|row| Some((row.id, row.refusal?))).collect()
    }

    /// The unbroken run of refused jobs from a place on, up to the first with a partition key, and
    /// at most `most`.
    pub(super) fn refused_run(&self, from: usize, most: usize) -> Vec<(JobId, Refusal)> {
        let mut refused = Vec::new();
        for row in &self.rows[from..] {
            let Some(refusal) = row.refusal.filter(|_| refused.len() < most) else {
                break;
            };
            refused.push((row.id, refusal));
            // The next job of its key may come before the rows that follow.
            if row.keyed {
                break;
            }
        }
        refused
    }

    pub(super) fn into_leases(self, request: &Reserve) -> Vec<Granted> {
        let granted = self.rows.into_iter().filter(|row| row.refusal.is_none());
        granted
            .filter_map(|row| {
                let mut lease = row.lease?;
                lease.token.nonce = request.nonce;
                lease.token.lease_seq = row.lease_seq;
                Some(Granted { lease, event: row.event })
            })
            .collect()
    }
}

/// A number of bytes as statements take it.
pub(super) fn bytes(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Leased {
    fn read(
        row: &Row,
        in_row: &LeaseColumns,
        names: &[QueueName],
        now: Timestamp,
    ) -> Outcome<Self> {
        let id = job_id(row.try_get(in_row.id)?);
        let place = (
            row.try_get(in_row.queue)?,
            row.try_get(in_row.served_rank)?,
            row.try_get(in_row.at)?,
            row.try_get(in_row.served_seq)?,
        );
        let lease_seq = unsigned(row.try_get(in_row.lease_seq)?) + 1;
        let deadline_at =
            row.try_get::<_, Option<i64>>(in_row.deadline_at)?.map(Timestamp::from_millis);
        let key: Option<&str> = row.try_get(in_row.lane)?;
        let key = key.filter(|key| *key != PLAIN);
        let at: i64 = row.try_get(in_row.place)?;
        let name = usize::try_from(at - 1).ok().and_then(|at| names.get(at)).or(names.first());
        let name = name.ok_or_else(|| unreadable("the queue of a lease"))?;
        let kind = Kind::new(row.try_get::<_, &str>(in_row.kind)?);
        let metadata: Option<&str> = row.try_get(in_row.metadata)?;
        let metadata = metadata.map(serde_json::from_str::<Metadata>).transpose();
        let partition_key = key.map(PartitionKey::new).transpose();
        let rank: i16 = row.try_get(in_row.rank)?;
        let priority = u8::try_from(31 - rank).ok().map(Priority::new);
        let late = deadline_at.is_some_and(|deadline| deadline <= now);
        let timeout_ms = u64::try_from(row.try_get::<_, i64>(in_row.timeout_ms)?);
        let (Ok(kind), Ok(metadata), Ok(partition_key), Some(Ok(priority)), Ok(timeout_ms)) =
            (kind, metadata, partition_key, priority, timeout_ms)
        else {
            let refusal = Some(Refusal::Corrupt);
            let (keyed, lease) = (key.is_some(), None);
            return Ok(Self { id, keyed, refusal, place, lease, lease_seq, event: None });
        };
        // The caller fills in the fence, because it knows the call.
        let nonce = queuekit_core::Nonce::from_bytes([0; 16]);
        let token = LeaseToken { queue: name.clone(), id, lease_seq, nonce };
        let payload = Bytes::copy_from_slice(row.try_get(in_row.payload)?);
        let mut lease = Lease::new(token, kind, payload);
        lease.attempt = small(row.try_get(in_row.attempts)?) + 1;
        lease.max_attempts = small(row.try_get(in_row.max_attempts)?);
        lease.releases = u32::try_from(row.try_get::<_, i32>(in_row.releases)?).unwrap_or(0);
        lease.priority = priority;
        lease.timeout = Duration::from_millis(timeout_ms);
        lease.deadline_in = deadline_at.map(|deadline| deadline.since(now));
        lease.created_at = Timestamp::from_millis(row.try_get(in_row.created_at)?);
        lease.scheduled_at = Timestamp::from_millis(row.try_get(in_row.scheduled_at)?);
        lease.partition_key = partition_key;
        lease.metadata = metadata.unwrap_or_default();
        let early = (lease.scheduled_at > now).then_some(Refusal::Early);
        let refusal = late.then_some(Refusal::Deadline).or(early);
        let (keyed, event) = (lease.partition_key.is_some(), row.try_get(in_row.event)?);
        Ok(Self { id, keyed, refusal, place, lease: Some(lease), lease_seq, event })
    }
}
