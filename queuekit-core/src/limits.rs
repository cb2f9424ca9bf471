//! Every limit of the contract (R12).

use std::time::Duration;

use crate::error::{Error, Result};

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
/// Longest partition or idempotency key, in bytes.
pub const KEY_BYTES: usize = 256;
/// Largest payload that can ever be allowed, in bytes.
pub const PAYLOAD_BYTES_HARD: usize = 16 * 1024 * 1024;
/// Most names in metadata. However short it is, a name takes some hundred bytes of memory.
pub const METADATA_NAMES: usize = 64;
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
/// Most running jobs that a beat names (R3.9).
pub const BEAT_JOBS: usize = 100;
/// Most kinds that a beat names whose payloads the worker cannot read (R3.9).
pub const BEAT_UNDECODABLE: usize = 10;
/// Longest name of a machine, version or error in a beat, in bytes; longer ones are cut (R3.9).
pub const BEAT_TEXT_BYTES: usize = 255;
/// Longest time between two beats of a worker (R3.9).
pub const BEAT_EVERY: Duration = Duration::from_secs(10);
/// Longest time for which a worker makes no call (R13.12).
pub const QUIET: Duration = Duration::from_secs(3600);
/// Most workers that one call gives an order to (R3.9).
pub const ORDERED_WORKERS: usize = 1000;
/// Highest number from which the orders of a worker that comes to be listed are numbered on. From
/// there stores can count on (R3.9).
pub const ORDER_SEQ: u64 = 1 << 52;
/// How long a job waits for a worker that can read its payload (R13.8).
pub const UNDECODABLE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Largest stored text of what could not be read of a payload, in bytes (R13.8).
pub const UNDECODABLE_BYTES: usize = 1024;
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
/// Checkpoints kept per job (R13.10).
pub const CHECKPOINTS: usize = 64;
/// Largest result of a checkpoint, in bytes (R13.10).
pub const CHECKPOINT_BYTES: usize = 64 * 1024;
/// Most bytes of the results of all checkpoints of a job (R13.10).
pub const CHECKPOINTS_BYTES: usize = 1024 * 1024;
/// Most jobs on one page of a listing (R8.2).
pub const PAGE_JOBS: usize = 1000;
/// Most jobs that a page of a listing looks at, whether they match or not (R8.8).
pub const PAGE_EXAMINED: usize = 10_000;
/// Most bytes of jobs that a page looks into, if its filter has terms on their content (R8.8).
pub const SEARCH_BYTES: usize = 64 * 1024 * 1024;
/// Longest name and value of such a term, in bytes.
pub const TERM_BYTES: usize = 1024;
/// Most segments of a path in a payload.
pub const TERM_SEGMENTS: usize = 16;
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
/// Most queues of a store whose ended jobs are listed by the time of their end (R8.7).
pub const RECENT_QUEUES: usize = 1000;
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
/// Most occurrences without a job that one tick counts for a schedule: of a schedule that is years
/// late, it looks at no more (R15.4).
pub const SKIPPED_COUNTED: usize = 1000;
/// Most schedules of a store.
pub const SCHEDULES: usize = 10_000;
/// Longest target of an entry of the audit log, in bytes; longer ones are cut (R8.6).
pub const ACT_TARGET_BYTES: usize = 1024;
/// Longest other text of an entry of the audit log, in bytes; longer ones are cut (R8.6).
pub const ACT_WORD_BYTES: usize = 128;
/// Error groups kept of a queue (R8.4).
pub const ERROR_GROUPS: usize = 500;
/// Notes on error groups kept of a queue (R8.10).
pub const GROUP_NOTES: usize = 20;
/// Longest note on an error group, in bytes (R8.10).
pub const NOTE_BYTES: usize = 500;
/// Longest signature of an error, in bytes; longer ones are cut (R8.4).
pub const SIGNATURE_BYTES: usize = 200;
/// Most items of one call that adds runs to the history (R8.5).
pub const HISTORY_ADDED: usize = 1000;
/// Pairs of queue and kind whose runs are kept apart in the history (R8.5).
pub const HISTORY_PAIRS: usize = 1000;
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
