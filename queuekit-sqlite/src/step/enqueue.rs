//! Storing new jobs (contract R2).

use std::fmt::Display;

use queuekit_core::retry::queue_full_retry_after;
use queuekit_core::{
    EnqueueOutcome, Error, ErrorKind, Metadata, NewJob, Priority, Result, State, Timestamp,
};
use rusqlite::params;

use super::Step;
use super::place::Place;
use crate::column_names::columns;
use crate::row::millis;
use crate::statements::{CONTENT, JOB_INSERT, PAYLOAD_INSERT};

/// A larger payload is stored apart from its job. The bound is a quarter of a page, so that the
/// pages of waiting and running jobs stay few; and a large payload is written only once.
const INLINE_BYTES: usize = 1024;

columns! {
    struct ContentColumns { queue, kind, payload }
}

impl Step<'_> {
    pub(crate) fn enqueue(&mut self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        self.limits.admit_jobs(jobs)?;
        let now = self.now;
        let place = |(item, job): (usize, &NewJob)| {
            job.scheduled_at(now).map_err(|error| error.at_item(item))
        };
        let places: Vec<_> = jobs.iter().enumerate().map(place).collect::<Result<_>>()?;
        let placed = jobs.iter().zip(places);
        placed.map(|(job, scheduled_at)| self.enqueue_one(job, scheduled_at)).collect()
    }

    fn enqueue_one(&mut self, job: &NewJob, scheduled_at: Timestamp) -> Result<EnqueueOutcome> {
        let queue = self.open_queue(job.queue())?;
        let settings = &self.queues[queue].settings;
        let max_pending = settings.max_pending;
        // An equal id takes precedence over all other refusals, so it is looked for first.
        if job.idempotency_key().is_some() || max_pending.is_some() {
            if let Some(stored) = self.job(job.id())? {
                return self.taken(queue, job, stored.key);
            }
            if let Some(key) = job.idempotency_key()
                && let Some(existing) = self.key_holder(queue, key.as_str())?
            {
                return Ok(EnqueueOutcome::Duplicate { existing });
            }
            if max_pending.is_some_and(|max| self.queues[queue].count(State::Pending) >= max) {
                return Ok(EnqueueOutcome::QueueFull { retry_after: queue_full_retry_after() });
            }
        }
        self.add(queue, job, scheduled_at, None)
    }

    /// Stores a job; `event` is the number of the event of which it is a delivery.
    pub(super) fn add(
        &mut self,
        queue: usize,
        job: &NewJob,
        scheduled_at: Timestamp,
        event: Option<i64>,
    ) -> Result<EnqueueOutcome> {
        let key = job.partition_key().map(|key| key.as_str());
        let mut lane = self.lane_name(queue, key).map(|name| self.lane(queue, name)).transpose()?;
        let rank = rank(job.priority());
        let seq = self.queues[queue].next_seq();
        let inline = job.payload().len() <= INLINE_BYTES;
        // A large payload of an event is stored once, with the event.
        let event = event.filter(|_| !inline);
        let size = if event.is_some() { 0 } else { job.payload().len() };
        let metadata = metadata_text(job.metadata(), job.id())?;
        let (id, moved_from) = (job.id(), job.moved_from());
        let row = params![
            id.as_bytes(),
            self.queues[queue].id,
            job.kind().as_str(),
            rank,
            scheduled_at.as_millis(),
            seq,
            key,
            job.max_attempts(),
            self.now.as_millis(),
            millis(job.timeout()),
            job.deadline().map(millis),
            job.deadline().map(|deadline| (self.now + deadline).as_millis()),
            job.idempotency_key().map(|key| key.as_str()),
            job.unique_until_done(),
            moved_from.as_ref().map(|id| &id.as_bytes()[..]),
            metadata,
            size,
            inline.then_some(&job.payload()[..]),
            event,
        ];
        if self.execute(JOB_INSERT, row)? == 0 {
            let stored = self.job(job.id())?.map(|record| record.key).unwrap_or_default();
            return self.taken(queue, job, stored);
        }
        let stored = self.conn.last_insert_rowid();
        if !inline && event.is_none() {
            self.execute(PAYLOAD_INSERT, params![stored, &job.payload()[..]])?;
        }
        let place = Place { job: stored, rank, at: scheduled_at, seq, lane: key };
        self.stand(queue, &place, lane.as_mut())?;
        self.queues[queue].count_job(State::Pending, 0, 1);
        if let Some(key) = job.idempotency_key() {
            self.take_key(queue, key.as_str(), job.id())?;
        }
        if let Some(lane) = &mut lane {
            lane.waiting += 1;
            self.refresh(lane)?;
        }
        self.stir(queue);
        Ok(EnqueueOutcome::Created { id: job.id() })
    }

    /// The outcome for a job whose id is stored already.
    fn taken(&self, queue: usize, job: &NewJob, key: i64) -> Result<EnqueueOutcome> {
        let existing = job.id();
        let same = self.row(CONTENT, [key], |row, at: &ContentColumns| {
            // The tags of two queues may be the same. What is stored in another one is not told.
            let queue = row.get::<_, i64>(at.queue)? == self.queues[queue].id;
            let kind = row.get_ref(at.kind)?.as_bytes()? == job.kind().as_str().as_bytes();
            Ok(queue
                && kind
                && row.get_ref(at.payload)?.as_bytes_or_null()? == Some(&job.payload()[..]))
        })?;
        Ok(if same == Some(true) {
            EnqueueOutcome::Duplicate { existing }
        } else {
            EnqueueOutcome::Conflict { existing }
        })
    }
}

fn rank(priority: Priority) -> i64 {
    Priority::LEVELS as i64 - 1 - i64::from(priority.level())
}

/// The text of metadata; none if it is empty. `of` names its owner in the error.
pub(super) fn metadata_text(metadata: &Metadata, of: impl Display) -> Result<Option<String>> {
    let text = (!metadata.is_empty()).then(|| serde_json::to_string(metadata)).transpose();
    text.map_err(|error| {
        let message = "its metadata cannot be written as JSON; remove what JSON cannot represent";
        Error::new(ErrorKind::Corrupt, message).on(of).caused_by(error)
    })
}
