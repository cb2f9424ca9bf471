//! Leasing jobs (contract R5).

use std::time::Duration;

use bytes::Bytes;
use queuekit_core::backend::Taken;
use queuekit_core::lifecycle::{Budget, Transition};
use queuekit_core::{
    ErrorText, Kind, Lease, LeaseToken, Metadata, PartitionKey, Priority, QueueName, Reserve,
    Reserved, Result, Timestamp,
};
use rusqlite::{Row, params};

use super::Step;
use super::claims::Grants;
use crate::column_names::columns;
use crate::row::{Reader, Record, RecordColumns};
use crate::statements::*;

/// The most candidates that are looked up at once.
const SLICE: usize = 100;

/// A job that may be leased, with the fields that a worker needs beside its record.
pub(super) struct Candidate {
    record: Record,
    payload: Option<Bytes>,
    metadata: Option<String>,
}

columns! {
    pub(super) struct RestColumns { payload, metadata }
}

impl Candidate {
    pub(super) fn read(
        row: &Row<'_>,
        (at, in_rest): &(RecordColumns, RestColumns),
    ) -> rusqlite::Result<Self> {
        let mut record = Record::read(row, at)?;
        let mut rest = Reader::of(row);
        let (payload, metadata) = (rest.bytes(in_rest.payload), rest.text(in_rest.metadata));
        record.corrupt |= rest.corrupt;
        Ok(Self { record, payload, metadata })
    }
}

impl Step<'_> {
    pub(crate) fn reserve(&mut self, request: &Reserve) -> Result<Reserved> {
        self.limits.admit_reserve(request.limit)?;
        let mut reserved = Reserved::default();
        if request.limit == 0 {
            return Ok(reserved);
        }
        let mut budget = Budget::of(request);
        self.continue_moves(request.queues.names())?;
        for name in request.queues.names() {
            if let Some(queue) = self.awake(name)? {
                self.reclaim(queue, &mut budget)?;
            }
        }
        request.queues.divide(request.limit, |name, most| {
            let Some(queue) = self.awake(name)? else { return Ok(0.into()) };
            let jobs = self.lease_from(queue, most, request, &mut budget, &mut reserved.leases)?;
            Ok(Taken { jobs, is_full: budget.answer.is_full() })
        })?;
        let is_behind = self.is_behind(request.queues.names())?;
        reserved.more = budget.more(request.limit, reserved.leases.len()) || is_behind;
        reserved.next_due_in = self.next_due_in(request.queues.names())?;
        Ok(reserved)
    }

    /// The queue, unless it is unknown, paused, or being placed anew.
    fn awake(&mut self, name: &QueueName) -> Result<Option<usize>> {
        let queue = self.queue(name)?;
        let queue = queue.filter(|queue| !self.queues[*queue].settings.is_paused(self.now));
        // Guard: a key whose head stands ready may have all the leases that it may have now.
        Ok(queue.filter(|queue| self.queues[*queue].moving.is_none()))
    }

    /// Takes back leases that ran out, earliest first.
    fn reclaim(&mut self, queue: usize, budget: &mut Budget) -> Result<()> {
        let expired = params![self.queues[queue].id, self.now.as_millis(), budget.reclaims];
        for key in self.keys(EXPIRED, expired)? {
            let Some(mut record) = self.job_of_key(key)? else {
                continue;
            };
            let last = record.attempts >= record.max_attempts;
            let dies = record.corrupt || (last && !record.cancel_requested);
            if !budget.expire(dies) {
                continue;
            }
            if record.corrupt {
                self.quarantine(&mut record)?;
            } else {
                self.expire(&mut record)?;
            }
        }
        Ok(())
    }

    fn lease_from(
        &mut self,
        queue: usize,
        most: usize,
        request: &Reserve,
        budget: &mut Budget,
        leases: &mut Vec<Lease>,
    ) -> Result<usize> {
        self.wake_keys(queue)?;
        let (before, mut slice) = (leases.len(), Some(SLICE));
        let mut grants = Grants::of(request);
        while let Some(most) = slice.map(|slice| slice.min(before + most - leases.len()))
            && most > 0
        {
            let candidates = self.candidates(queue, most)?;
            if candidates.is_empty() {
                break;
            }
            self.opened = false;
            slice = self.lease_each(queue, candidates, budget, leases, &mut grants)?;
            self.grant_run(queue, &mut grants)?;
        }
        Ok(leases.len() - before)
    }

    /// Leases jobs one after the other. Returns how many to look up next; none if the call has to
    /// end.
    fn lease_each(
        &mut self,
        queue: usize,
        candidates: Vec<Candidate>,
        budget: &mut Budget,
        leases: &mut Vec<Lease>,
        grants: &mut Grants<'_>,
    ) -> Result<Option<usize>> {
        for (used, mut candidate) in (1..).zip(candidates) {
            if let Some(mut lane) = self.late_lane(queue, candidate.record.partition_key())? {
                self.grant_run(queue, grants)?;
                self.refresh(&mut lane)?;
                return Ok((self.looks > 0).then_some(SLICE.min(2 * used)));
            }
            match self.lease(queue, &mut candidate, grants.request)? {
                // The lease is made before the job changes, so a job that does not fit stays ready.
                Some(lease) if !budget.answer.admit(lease.bytes()) => return Ok(None),
                Some(lease) => {
                    self.grant(queue, candidate.record, grants)?;
                    leases.push(lease);
                }
                None if !budget.dead_letter() => return Ok(None),
                None => {
                    self.grant_run(queue, grants)?;
                    self.refuse(&mut candidate.record)?;
                }
            }
            // The next job of its key may go before the other candidates.
            if self.opened {
                // It will most likely happen again as soon.
                return Ok(Some(SLICE.min(2 * used)));
            }
        }
        Ok(Some(SLICE))
    }

    /// The next jobs to lease, if some are ready now.
    fn candidates(&mut self, queue: usize, most: usize) -> Result<Vec<Candidate>> {
        if self.queues[queue].is_fair() {
            return Ok(self.fair_candidate(queue)?.into_iter().collect());
        }
        self.first_due(queue, most)
    }

    /// The first ready jobs whose time has come, in serving order, all of one priority.
    pub(super) fn first_due(&self, queue: usize, most: usize) -> Result<Vec<Candidate>> {
        let id = self.queues[queue].id;
        let mut rank = -1;
        // One look at each priority that has ready jobs, so that future jobs need not be passed one
        // by one.
        while let Some(next) = self.value(NEXT_RANK, params![id, rank])? {
            rank = next;
            let due = params![id, rank, self.now.as_millis(), most];
            let candidates = self.rows(DUE_OF_RANK, due, Candidate::read)?;
            if !candidates.is_empty() {
                return Ok(candidates);
            }
        }
        Ok(Vec::new())
    }

    /// When the first ready job is due.
    pub(crate) fn first_ready(&self, queue: usize) -> Result<Option<Timestamp>> {
        let id = self.queues[queue].id;
        let mut first = None;
        let mut rank = -1;
        while let Some(next) = self.value(NEXT_RANK, params![id, rank])? {
            rank = next;
            let at = self.value(FIRST_OF_RANK, params![id, rank])?;
            first = first.into_iter().chain(at.map(Timestamp::from_millis)).min();
            if first.is_some_and(|at| at <= self.now) {
                break;
            }
        }
        Ok(first)
    }

    /// The lease on a job as it will be once granted; none if the job must not be leased.
    fn lease(
        &self,
        queue: usize,
        candidate: &mut Candidate,
        request: &Reserve,
    ) -> Result<Option<Lease>> {
        let record = &candidate.record;
        if record.corrupt || record.is_past_deadline(self.now) {
            return Ok(None);
        }
        let payload = match candidate.payload.take() {
            None => self.value::<Vec<u8>>(PAYLOAD, [record.key])?.map(Bytes::from),
            payload => payload,
        };
        let Some(payload) = payload else {
            return Ok(None);
        };
        let token = LeaseToken {
            queue: self.queues[queue].name.clone(),
            id: record.id,
            lease_seq: record.lease_seq + 1,
            nonce: request.nonce,
        };
        let metadata = candidate.metadata.as_deref();
        let metadata = metadata.map(serde_json::from_str::<Metadata>).transpose();
        let partition_key = record.partition_key().map(PartitionKey::new).transpose();
        let level = u8::try_from(31 - record.rank).ok().map(Priority::new);
        let (Ok(kind), Ok(metadata), Ok(partition_key), Some(Ok(priority))) =
            (Kind::new(&record.kind), metadata, partition_key, level)
        else {
            return Ok(None);
        };
        let mut lease = Lease::new(token, kind, payload);
        lease.attempt = record.attempts + 1;
        lease.max_attempts = record.max_attempts;
        lease.releases = record.releases;
        lease.priority = priority;
        lease.timeout = record.timeout.unwrap_or_default();
        lease.deadline_in = record.deadline_at.map(|deadline| deadline.since(self.now));
        lease.created_at = record.created_at;
        lease.scheduled_at = record.scheduled_at;
        lease.partition_key = partition_key;
        lease.metadata = metadata.unwrap_or_default();
        Ok(Some(lease))
    }

    /// Dead-letters a job that cannot be leased any more.
    fn refuse(&mut self, record: &mut Record) -> Result<()> {
        if !record.corrupt && record.is_past_deadline(self.now) {
            return self.end_dead(record, Transition::MissDeadline, &ErrorText::from("deadline"));
        }
        self.quarantine(record)
    }

    fn quarantine(&mut self, record: &mut Record) -> Result<()> {
        let queue = self.queue_of(record)?;
        self.queues[queue].corrupt += 1;
        self.end_dead(record, Transition::Quarantine, &ErrorText::from("corrupt"))
    }

    /// When the next job becomes ready, the next lease runs out, or a pause ends.
    fn next_due_in(&mut self, names: &[QueueName]) -> Result<Option<Duration>> {
        let mut first = None;
        for name in names {
            let Some(queue) = self.queue(name)? else {
                continue;
            };
            if self.queues[queue].settings.is_paused(self.now) {
                let end = self.queues[queue].settings.paused_until;
                first = [first, end].into_iter().flatten().min();
                continue;
            }
            if self.queues[queue].moving.is_some() {
                return Ok(Some(Duration::ZERO));
            }
            let id = self.queues[queue].id;
            let expiry = self.value(FIRST_EXPIRY, [id])?;
            let expiry = expiry.map(Timestamp::from_millis);
            let ready = if self.queues[queue].is_fair() {
                self.next_turn(queue)?
            } else {
                self.first_ready(queue)?
            };
            let woken = self.next_woken(queue)?;
            first = [first, expiry, ready, woken].into_iter().flatten().min();
        }
        Ok(first.map(|at| at.since(self.now)))
    }
}
