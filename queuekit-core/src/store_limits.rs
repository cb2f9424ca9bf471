//! The limits that a store can be opened with.

use bytes::Bytes;

use crate::backend::Ack;
use crate::error::{Error, ErrorKind, Result};
use crate::event::NewEvent;
use crate::job::NewJob;
use crate::limits::{ERROR_GROUPS, HISTORY_PAIRS, METADATA_NAMES, PAYLOAD_BYTES_HARD, SCHEDULES};

/// Metadata that a delivery has beside its event's, in bytes.
const EVENT_METADATA_BYTES: usize = 512;
/// The names of it: the event's id, and how it is retried.
const EVENT_METADATA_NAMES: usize = 2;

/// The limits a store applies; each can be configured downwards, the payload up to
/// [`PAYLOAD_BYTES_HARD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    payload_bytes: usize,
    result_bytes: usize,
    metadata_bytes: usize,
    enqueue_jobs: usize,
    enqueue_bytes: usize,
    reserve_jobs: usize,
    queues: usize,
    workers: usize,
    schedules: usize,
    audit_entries: usize,
    error_groups: usize,
    history_pairs: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            payload_bytes: 1024 * 1024,
            result_bytes: 64 * 1024,
            metadata_bytes: 4 * 1024,
            enqueue_jobs: 1000,
            enqueue_bytes: 8 * 1024 * 1024,
            reserve_jobs: 1000,
            queues: 10_000,
            workers: 10_000,
            schedules: SCHEDULES,
            audit_entries: 10_000,
            error_groups: ERROR_GROUPS,
            history_pairs: HISTORY_PAIRS,
        }
    }
}

impl Limits {
    /// Largest payload, in bytes (default 1 MiB); at most [`PAYLOAD_BYTES_HARD`].
    #[must_use]
    pub fn with_payload_bytes(mut self, bytes: usize) -> Self {
        self.payload_bytes = bytes.min(PAYLOAD_BYTES_HARD);
        // One job of the largest size must fit into a call.
        self.enqueue_bytes = self.enqueue_bytes.max(self.payload_bytes);
        self
    }

    /// Largest result, in bytes (default 64 KiB); only downwards.
    #[must_use]
    pub fn with_result_bytes(mut self, bytes: usize) -> Self {
        self.result_bytes = self.result_bytes.min(bytes);
        self
    }

    /// Largest metadata, in bytes of keys and values (default 4 KiB); only downwards.
    #[must_use]
    pub fn with_metadata_bytes(mut self, bytes: usize) -> Self {
        self.metadata_bytes = self.metadata_bytes.min(bytes);
        self
    }

    /// Most jobs in one enqueue call (default 1,000); only downwards.
    #[must_use]
    pub fn with_enqueue_jobs(mut self, jobs: usize) -> Self {
        self.enqueue_jobs = self.enqueue_jobs.min(jobs);
        self
    }

    /// Most bytes of payloads and metadata in one enqueue call (default 8 MiB); only downwards.
    #[must_use]
    pub fn with_enqueue_bytes(mut self, bytes: usize) -> Self {
        self.enqueue_bytes = self.enqueue_bytes.min(bytes);
        self
    }

    /// Most jobs in one reserve call (default 1,000); only downwards.
    #[must_use]
    pub fn with_reserve_jobs(mut self, jobs: usize) -> Self {
        self.reserve_jobs = self.reserve_jobs.min(jobs);
        self
    }

    /// Most queues of a store (default 10,000); only downwards.
    #[must_use]
    pub fn with_queues(mut self, queues: usize) -> Self {
        self.queues = self.queues.min(queues);
        self
    }

    /// Most workers that a store lists (default 10,000); only downwards.
    #[must_use]
    pub fn with_workers(mut self, workers: usize) -> Self {
        self.workers = self.workers.min(workers);
        self
    }

    /// Most schedules of a store (default 10,000); only downwards.
    #[must_use]
    pub fn with_schedules(mut self, schedules: usize) -> Self {
        self.schedules = self.schedules.min(schedules);
        self
    }

    /// Entries of the audit log that a store keeps (default 10,000); only downwards, at least 1.
    #[must_use]
    pub fn with_audit_entries(mut self, entries: usize) -> Self {
        self.audit_entries = self.audit_entries.min(entries.max(1));
        self
    }

    /// Error groups that a store keeps of a queue (default 500); only downwards, at least 1.
    #[must_use]
    pub fn with_error_groups(mut self, groups: usize) -> Self {
        self.error_groups = self.error_groups.min(groups.max(1));
        self
    }

    /// Pairs of queue and kind whose runs a store keeps apart (default 1,000); only downwards.
    #[must_use]
    pub fn with_history_pairs(mut self, pairs: usize) -> Self {
        self.history_pairs = self.history_pairs.min(pairs);
        self
    }

    /// Largest payload, in bytes.
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// Most jobs in one enqueue call.
    pub fn enqueue_jobs(&self) -> usize {
        self.enqueue_jobs
    }

    /// Most payload bytes in one enqueue call.
    pub fn enqueue_bytes(&self) -> usize {
        self.enqueue_bytes
    }

    /// Most jobs in one reserve call.
    pub fn reserve_jobs(&self) -> usize {
        self.reserve_jobs
    }

    /// Most metadata of a job, in bytes of names and values.
    pub fn metadata_bytes(&self) -> usize {
        self.metadata_bytes
    }

    /// Most metadata of an event. Deliveries have some more: the event's id, and how they are
    /// retried.
    pub(crate) fn event_metadata_bytes(&self) -> usize {
        self.metadata_bytes.saturating_sub(EVENT_METADATA_BYTES)
    }

    /// Most names in the metadata of an event.
    pub(crate) fn event_metadata_names(&self) -> usize {
        METADATA_NAMES - EVENT_METADATA_NAMES
    }

    /// Largest result, in bytes.
    pub fn result_bytes(&self) -> usize {
        self.result_bytes
    }

    /// Most queues of a store.
    pub fn queues(&self) -> usize {
        self.queues
    }

    /// Entries of the audit log that a store keeps.
    pub fn audit_entries(&self) -> usize {
        self.audit_entries
    }

    /// Error groups that a store keeps of a queue.
    pub fn error_groups(&self) -> usize {
        self.error_groups
    }

    /// Pairs of queue and kind whose runs a store keeps apart.
    pub fn history_pairs(&self) -> usize {
        self.history_pairs
    }

    /// Most workers that a store lists.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Most schedules of a store.
    pub fn schedules(&self) -> usize {
        self.schedules
    }

    /// Checks a whole enqueue call before the store is contacted (R2.7).
    ///
    /// # Errors
    /// `Invalid`, naming the first item, its field and the limit; nothing of the call is stored.
    pub fn admit_jobs(&self, jobs: &[NewJob]) -> Result<()> {
        at_most("jobs per call", self.enqueue_jobs, "jobs", jobs.len())?;
        let mut bytes = 0;
        for (item, job) in jobs.iter().enumerate() {
            let at = |error: Error| error.at_item(item).on(job.id());
            let (payload, metadata) = (job.payload().len(), job.metadata().bytes());
            at_most("payload", self.payload_bytes, "bytes", payload).map_err(at)?;
            at_most("metadata", self.metadata_bytes, "bytes", metadata).map_err(at)?;
            at_most("metadata", METADATA_NAMES, "names", job.metadata().len()).map_err(at)?;
            bytes += payload + metadata;
        }
        at_most("bytes per call", self.enqueue_bytes, "bytes", bytes)
    }

    /// Checks a whole emit before the store is contacted.
    ///
    /// # Errors
    /// `Invalid`, naming the first item, its field and the limit; nothing of the call is stored.
    pub fn admit_events(&self, events: &[NewEvent]) -> Result<()> {
        at_most("events per call", self.enqueue_jobs, "events", events.len())?;
        let mut bytes = 0;
        for (item, event) in events.iter().enumerate() {
            let at = |error: Error| error.at_item(item).on(event.id());
            let (data, metadata) = (event.data().len(), event.metadata().bytes());
            at_most("data", self.payload_bytes, "bytes", data).map_err(at)?;
            at_most("metadata", self.event_metadata_bytes(), "bytes", metadata).map_err(at)?;
            let names = event.metadata().len();
            at_most("metadata", self.event_metadata_names(), "names", names).map_err(at)?;
            bytes += data + metadata;
        }
        at_most("bytes per call", self.enqueue_bytes, "bytes", bytes)
    }

    /// Checks the number of jobs asked for.
    ///
    /// # Errors
    /// `Invalid`, naming the limit.
    pub fn admit_reserve(&self, limit: usize) -> Result<()> {
        at_most("limit", self.reserve_jobs, "jobs", limit)
    }

    /// Checks the size of a result.
    ///
    /// # Errors
    /// `Invalid`, naming the limit.
    pub fn admit_result(&self, bytes: usize) -> Result<()> {
        at_most("result", self.result_bytes, "bytes", bytes)
    }

    /// Checks all results of a call before the first takes effect: an Invalid call changes nothing.
    ///
    /// # Errors
    /// `Invalid`, naming the first item and the limit.
    pub fn admit_results(&self, acks: &[Ack]) -> Result<()> {
        for (item, ack) in acks.iter().enumerate() {
            let admitted = self.admit_result(ack.result.as_ref().map_or(0, Bytes::len));
            admitted.map_err(|error| error.at_item(item).on(ack.lease.id))?;
        }
        Ok(())
    }

    /// Checks that one more queue may be created.
    ///
    /// # Errors
    /// `Invalid`, naming the limit.
    pub fn admit_queue(&self, existing: usize) -> Result<()> {
        has_room("queues", self.queues, existing, "remove unused ones")
    }

    /// Checks that one more schedule may be created (R15.1).
    ///
    /// # Errors
    /// `Invalid`, naming the limit.
    pub fn admit_schedule(&self, existing: usize) -> Result<()> {
        has_room("schedules", self.schedules, existing, "delete unused ones")
    }

    /// Checks that one more worker may be listed (R3.9).
    ///
    /// # Errors
    /// `Invalid`, naming the limit.
    pub fn admit_worker(&self, listed: usize) -> Result<()> {
        let remedy = "stop some, or remove those that have died: each is listed until 3 ttl after \
                      its last beat";
        has_room("workers", self.workers, listed, remedy)
    }
}

fn has_room(what: &'static str, most: usize, existing: usize, remedy: &str) -> Result<()> {
    if existing < most { Ok(()) } else { Err(Error::too_many(what, most, remedy)) }
}

fn at_most(field: &'static str, most: usize, unit: &str, got: usize) -> Result<()> {
    if got <= most {
        return Ok(());
    }
    let limit = format!("at most {most} {unit}");
    let message = format!("{field}: {got} {unit}, {limit}; split or shrink the call");
    Err(Error::new(ErrorKind::Invalid { item: None, field, limit }, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r15_1_a_store_has_at_most_10_000_schedules() {
        let limits = Limits::default();
        limits.admit_schedule(9_999).unwrap();
        limits.with_schedules(20_000).admit_schedule(10_000).unwrap_err();
        limits.with_schedules(5).admit_schedule(5).unwrap_err();
    }

    #[test]
    fn r12_a_store_lists_10_000_workers() {
        let limits = Limits::default();
        limits.admit_worker(9_999).unwrap();
        let refused = limits.with_workers(20_000).admit_worker(10_000).unwrap_err().to_string();
        assert!(refused.contains("has its 10000 workers; stop some"), "{refused}");
        assert!(limits.with_workers(5).admit_worker(5).is_err(), "only downwards");
    }
}
