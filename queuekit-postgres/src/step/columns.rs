//! New jobs as columns, the way the enqueue statements take them.

use std::collections::HashMap;

use queuekit_core::{Metadata, NewJob, Priority, QueueName, Start};
use uuid::Uuid;

use crate::params::{Typed, not_at_all, once, params};
use crate::queues::QueueRow;
use crate::row::{job_uuid, millis, to_small};

/// Data of events up to this many bytes is copied into each delivery.
const COPIED: usize = 1024;

/// Jobs as the statements take them, sorted by id.
#[derive(Default)]
pub(super) struct Columns<'a> {
    ids: Vec<Uuid>,
    queues: Vec<i32>,
    places: Vec<i16>,
    kinds: Vec<&'a str>,
    ranks: Vec<i16>,
    delays: Vec<i64>,
    ats: Vec<Option<i64>>,
    max_attempts: Vec<i16>,
    timeouts: Vec<i64>,
    deadlines: Vec<Option<i64>>,
    metadata: Vec<Option<String>>,
    /// Empty where the event has the payload.
    payloads: Vec<&'a [u8]>,
    /// Whether the event has the payload.
    refers: Vec<bool>,
    moved_from: Vec<Option<Uuid>>,
    partition_keys: Vec<Option<&'a str>>,
    idempotency_keys: Vec<Option<&'a str>>,
    unique_until_done: Vec<bool>,
}

impl<'a> Columns<'a> {
    pub(super) fn of(
        jobs: impl Iterator<Item = (usize, &'a NewJob)>,
        queues: &HashMap<QueueName, QueueRow>,
    ) -> Self {
        let mut sorted: Vec<_> = jobs.collect();
        sorted.sort_unstable_by_key(|(_, job)| job.id());
        let mut columns = Self::default();
        for (place, job) in sorted {
            columns.push(place, job, queues[job.queue()].id);
        }
        columns.shrunk()
    }

    /// Sends a value that all jobs share only once: the server unpacks every column.
    fn shrunk(self) -> Self {
        Self {
            queues: once(self.queues),
            kinds: once(self.kinds),
            ranks: once(self.ranks),
            delays: once(self.delays),
            ats: not_at_all(self.ats),
            max_attempts: once(self.max_attempts),
            timeouts: once(self.timeouts),
            deadlines: not_at_all(self.deadlines),
            metadata: not_at_all(self.metadata),
            moved_from: not_at_all(self.moved_from),
            partition_keys: not_at_all(self.partition_keys),
            refers: once(self.refers),
            ..self
        }
    }

    /// The parameters with which both statements begin.
    pub(super) fn of_every_job(&self) -> Vec<Typed<'_>> {
        params![
            self.ids,
            self.queues,
            self.places,
            self.kinds,
            self.ranks,
            self.delays,
            self.ats,
            self.max_attempts,
            self.timeouts,
            self.deadlines,
            self.metadata,
            self.payloads,
            self.moved_from,
            self.partition_keys,
        ]
        .to_vec()
    }

    /// The parameters of deliveries; their places are those of their events.
    pub(super) fn of_deliveries(&self) -> Vec<Typed<'_>> {
        params![
            self.ids,
            self.queues,
            self.places,
            self.kinds,
            self.ranks,
            self.delays,
            self.max_attempts,
            self.timeouts,
            self.metadata,
            self.payloads,
            self.partition_keys,
            self.refers,
        ]
        .to_vec()
    }

    /// The parameters that follow if jobs may have idempotency keys.
    pub(super) fn of_keyed_jobs(&self) -> Vec<Typed<'_>> {
        params![self.idempotency_keys, self.unique_until_done].to_vec()
    }

    fn push(&mut self, place: usize, job: &'a NewJob, queue: i32) {
        let (delay, at) = match job.start() {
            Start::After(delay) => (millis(delay), None),
            Start::At(at) => (0, Some(at.as_millis())),
        };
        self.ids.push(job_uuid(job.id()));
        self.queues.push(queue);
        self.places.push(i16::try_from(place).unwrap_or(i16::MAX));
        self.kinds.push(job.kind().as_str());
        self.ranks.push(rank(job.priority()));
        self.delays.push(delay);
        self.ats.push(at);
        self.max_attempts.push(to_small(job.max_attempts()));
        self.timeouts.push(millis(job.timeout()));
        self.deadlines.push(job.deadline().map(millis));
        self.metadata.push(metadata(job.metadata()));
        let refers = refers(job);
        self.payloads.push(if refers { &[] } else { job.payload() });
        self.refers.push(refers);
        self.moved_from.push(job.moved_from().map(job_uuid));
        self.partition_keys.push(job.partition_key().map(|key| key.as_str()));
        self.idempotency_keys.push(job.idempotency_key().map(|key| key.as_str()));
        self.unique_until_done.push(job.unique_until_done());
    }
}

/// Whether a job is a delivery whose payload is stored with its event.
pub(super) fn refers(job: &NewJob) -> bool {
    job.event().is_some() && job.payload().len() > COPIED
}

/// The metadata as stored; none if it is empty.
pub(super) fn metadata(of: &Metadata) -> Option<String> {
    // A map of texts, so serialization cannot fail.
    (!of.is_empty()).then(|| serde_json::to_string(of).unwrap_or_default())
}

fn rank(priority: Priority) -> i16 {
    Priority::LEVELS as i16 - 1 - i16::from(priority.level())
}
