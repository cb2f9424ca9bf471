//! Every limit of the contract (R12), in one file.

use std::time::Duration;

use bytes::Bytes;

use crate::backend::Ack;
use crate::error::{Error, ErrorKind, Result};
use crate::event::NewEvent;
use crate::job::NewJob;

/// Longest name of a queue, kind or worker, in bytes.
pub const NAME_BYTES: usize = 128;
/// Longest name of a consumer of events, in bytes.
pub const CONSUMER_BYTES: usize = 100;
/// Most subscriptions of a store, and so most deliveries of an event.
pub const SUBSCRIPTIONS: usize = 1000;
/// Longest name of a replay, in bytes.
pub const REPLAY_BYTES: usize = 256;
/// Most deliveries that one emit may make, over all its events.
pub const DELIVERIES_PER_CALL: usize = 10_000;
/// Metadata that a delivery has beside its event's, in bytes.
const EVENT_METADATA_BYTES: usize = 512;
/// Longest partition or idempotency key, in bytes.
pub const KEY_BYTES: usize = 256;
/// Largest payload that can ever be allowed, in bytes.
pub const PAYLOAD_BYTES_HARD: usize = 16 * 1024 * 1024;
/// Most attempts a job can be given.
pub const MAX_ATTEMPTS: u32 = 1000;
/// Longest delay of a job, a deadline or a reschedule.
pub const DELAY: Duration = Duration::from_secs(366 * 24 * 3600);
/// Longest delay of a nack; longer ones are clamped (R4.7).
pub const NACK_DELAY: Duration = Duration::from_secs(30 * 24 * 3600);
/// Longest time one run of a job may be given.
pub const TIMEOUT: Duration = DELAY;
/// Shortest and longest lease.
pub const TTL: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(12 * 3600));
/// Longest ttl of a beat; longer ones count as this one (R3.9).
pub const BEAT_TTL: Duration = Duration::from_secs(600);
/// Most queues, and most kinds, that a beat names (R3.9).
pub const BEAT_NAMES: usize = 100;
/// Largest stored error text, in bytes (R4.6).
pub const ERROR_BYTES: usize = 8 * 1024;
/// Failures kept per job (R4.5).
pub const FAILURES_KEPT: usize = 20;
/// Releases kept per job (R4.8).
pub const RELEASES_KEPT: usize = 20;
/// Log lines kept per job (R3.8).
pub const LOG_LINES_KEPT: usize = 100;
/// Longest stored log line, in bytes (R3.8).
pub const LOG_LINE_BYTES: usize = 1024;
/// Most jobs on one page of a listing (R8.2).
pub const PAGE_JOBS: usize = 1000;
/// Most bytes of one answer that holds payloads, unless its first item has more (R8.9).
pub const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Deepest nesting of JSON that is shown as JSON, and not in base64.
pub const JSON_DEPTH: usize = 64;
/// Jobs that die inside one reserve call (R5.7).
pub const DEAD_LETTERS_PER_RESERVE: usize = 100;
/// Most live leases a partition key can be allowed (R7.3).
pub const PER_KEY: u32 = 10_000;
/// Longest deduplication window (R2.5): stores have to be able to keep the time of its end.
pub const DEDUP_WINDOW: Duration = Duration::from_secs(366 * 24 * 3600);
/// Shortest retention by age.
pub const RETENTION_AGE_MIN: Duration = Duration::from_secs(600);
/// Retention by count or bytes spares jobs that ended less than this ago.
pub const RETENTION_GRACE: Duration = Duration::from_secs(60);
/// A count above this may be an estimate (R8.3).
pub const EXACT_COUNT: u64 = 10_000;
/// Ended jobs that health looks back on (R8.3).
pub const HEALTH_WINDOW: usize = 1000;
/// Fewer ended jobs than these count as this many when health takes points for deaths (R8.3).
pub const HEALTH_SAMPLES_MIN: usize = 20;
/// Late by at most this an occurrence of a schedule is on time (R15.4).
pub const ON_TIME: Duration = Duration::from_secs(10);
/// Shortest interval of a schedule.
pub const INTERVAL_MIN: Duration = Duration::from_secs(1);
/// Longest interval of a schedule, and most by which its jitter moves a job.
pub const INTERVAL_MAX: Duration = DELAY;
/// Longest cron expression, in bytes: it is parsed at every tick.
pub const CRON_BYTES: usize = 256;
/// Longest name of a time zone, in bytes.
pub const ZONE_BYTES: usize = 64;
/// Most occurrences that a schedule catches up with at once.
pub const CATCH_UP: u32 = 1000;
/// Most schedules of a store.
pub const SCHEDULES: usize = 10_000;
/// Longest target of an entry of the audit log, in bytes; longer ones are cut (R8.6).
pub const ACT_TARGET_BYTES: usize = 1024;
/// Longest other text of an entry of the audit log, in bytes; longer ones are cut (R8.6).
pub const ACT_WORD_BYTES: usize = 128;
/// Error groups kept of a queue (R8.4).
pub const ERROR_GROUPS: usize = 500;
/// Longest signature of an error, in bytes; longer ones are cut (R8.4).
pub const SIGNATURE_BYTES: usize = 200;
/// Largest number that can be set: stores keep 64 bits with a sign.
pub const COUNT: u64 = i64::MAX.unsigned_abs();
/// Prefixes of queues that only queuekit itself writes to.
pub const RESERVED_QUEUE_PREFIXES: [&str; 2] = ["event.", "queuekit."];

/// How many expired leases one reserve call reclaims at most (R5.6).
pub const fn reclaims_per_reserve(limit: usize) -> usize {
    if limit > 50 { limit * 2 } else { 100 }
}

/// Checks that a store can keep this number.
pub(crate) fn countable(field: &'static str, number: Option<u64>) -> Result<()> {
    match number.filter(|number| *number > COUNT) {
        Some(number) => Err(Error::invalid(field, format!("at most {COUNT}"), number)),
        None => Ok(()),
    }
}

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
            // Deliveries have some more: the event's id, and how they are tried again.
            let room = self.metadata_bytes.saturating_sub(EVENT_METADATA_BYTES);
            at_most("metadata", room, "bytes", metadata).map_err(at)?;
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
        at_most("queues", self.queues, "queues", existing + 1)
    }

    /// Checks that one more schedule may be created (R15.1).
    ///
    /// # Errors
    /// `Invalid`, naming the limit.
    pub fn admit_schedule(&self, existing: usize) -> Result<()> {
        at_most("schedules", self.schedules, "schedules", existing + 1)
    }

    /// Checks that one more worker may be listed (R3.9).
    ///
    /// # Errors
    /// `Invalid`, naming the limit.
    pub fn admit_worker(&self, listed: usize) -> Result<()> {
        if listed < self.workers {
            return Ok(());
        }
        let limit = format!("at most {} workers", self.workers);
        let message = format!(
            "workers: {listed} are listed, {limit}; stop some, or remove those that have died: \
             each is listed until 3 ttl after its last beat"
        );
        Err(Error::new(ErrorKind::Invalid { item: None, field: "workers", limit }, message))
    }
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
        assert!(refused.contains("at most 10000 workers; stop some"), "{refused}");
        assert!(limits.with_workers(5).admit_worker(5).is_err(), "only downwards");
    }
}
