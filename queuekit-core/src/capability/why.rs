//! Why a job is not running.

use std::fmt;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::job::{Job, JobId, State, Status};
use crate::names::{Kind, PartitionKey, QueueName, WorkerId};
use crate::queue::QueueSettings;
use crate::span::span;

/// Why a job is not running at this moment (contract R6.9), in a sentence with `to_string()`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are what the sentence names")]
pub enum Why {
    /// Its queue is paused, for this reason and for so long, if the pause has a reason and an end.
    Paused { queue: QueueName, reason: Option<String>, ends_in: Option<Duration> },
    /// Its partition key lets no lease of it start now.
    Blocked { key: PartitionKey, behind: Option<JobId> },
    /// It is scheduled for later.
    Scheduled { in_: Duration },
    /// An attempt failed or was released, and the job waits for the next one.
    WaitingForRetry { in_: Duration, attempts: u32, max_attempts: u32 },
    /// The last worker that tried could not read its payload, for this reason; the job waits to be
    /// offered again.
    Undecodable { in_: Duration, error: String, for_: Duration, times: u32 },
    /// No live worker serves its queue and kind. It could run, or it was released before and waits
    /// to be offered again, as each worker without a handler for its kind releases it.
    NoLiveWorker { queue: QueueName, kind: Kind },
    /// It could run: the next reserve of its queue may take it.
    Ready { jobs_before: Option<u64> },
    /// It is running.
    Running { worker: WorkerId, lease_expires_in: Duration },
    /// Its lease has expired; the next reserve of its queue reclaims it.
    Expired { worker: WorkerId, ago: Duration },
    /// It has ended.
    Ended { state: State, reason: Option<String> },
}

/// What a store reads for [`Why::of`].
// Exhaustive: a store that leaves a new fact out must not compile.
#[derive(Clone, Copy, Debug)]
pub struct WhyFacts<'a> {
    /// The job, as `get_job` returns it.
    pub job: &'a Job,
    /// The instant of the reading.
    pub now: Timestamp,
    /// How long ago its lease expired; zero if it has none or it holds.
    pub overdue: Duration,
    /// The settings of its queue.
    pub settings: &'a QueueSettings,
    /// Whether a live worker [serves](crate::capability::Beat::serves) its queue and kind.
    pub has_live_worker: bool,
}

impl Why {
    /// What keeps the job from running. Two figures that take a store a search of their own are
    /// left for it to add: `behind` of [`Blocked`](Self::Blocked), and `jobs_before` of
    /// [`Ready`](Self::Ready).
    pub fn of(facts: WhyFacts<'_>) -> Self {
        let WhyFacts { job, now, overdue, settings, has_live_worker } = facts;
        let queue = job.queue.clone();
        let in_ = job.scheduled_at.since(now);
        // Workers that have no handler for the kind release it over and over: then its time says
        // when it is offered next, and not when it runs.
        let refused = job.releases > 0 && !has_live_worker;
        let waits = matches!(job.status, Status::Scheduled | Status::Failed) && !refused;
        if let Some(mark) = job.undecodable().filter(|_| waits) {
            let (error, for_, times) = (mark.error.to_string(), now.since(mark.since), mark.times);
            return Self::Undecodable { in_, error, for_, times };
        }
        match (job.status, job.worker.clone(), job.partition_key.clone()) {
            (Status::Running, Some(worker), _) => {
                Self::Running { worker, lease_expires_in: job.lease_expires_in.unwrap_or_default() }
            }
            (Status::Expired | Status::Ready, ..) if settings.is_paused(now) => Self::Paused {
                queue,
                reason: settings.pause_reason.clone(),
                ends_in: settings.paused_until.map(|end| end.since(now)),
            },
            (Status::Expired, Some(worker), _) => Self::Expired { worker, ago: overdue },
            (Status::Scheduled | Status::Failed, ..) if refused => {
                Self::NoLiveWorker { queue, kind: job.kind.clone() }
            }
            (Status::Scheduled, ..) => Self::Scheduled { in_ },
            (Status::Failed, ..) => {
                let (attempts, max_attempts) = (job.attempts, job.max_attempts);
                Self::WaitingForRetry { in_, attempts, max_attempts }
            }
            (Status::Blocked, _, Some(key)) => Self::Blocked { key, behind: None },
            (Status::Ready, ..) if !has_live_worker => {
                Self::NoLiveWorker { queue, kind: job.kind.clone() }
            }
            (Status::Ready, ..) => Self::Ready { jobs_before: None },
            _ => Self::Ended {
                state: job.state,
                reason: job.reason.as_ref().map(|reason| reason.as_str().to_owned()),
            },
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused { queue, reason, ends_in } => {
                write!(f, "queue {queue} is paused")?;
                if let Some(time) = ends_in {
                    write!(f, " for another {}", span(*time))?;
                }
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Self::Blocked { key, behind: Some(id) } => {
                write!(f, "blocked behind job {id} of partition key {key}")
            }
            Self::Blocked { key, behind: None } => {
                write!(f, "partition key {key} has all the leases it may have")
            }
            Self::Scheduled { in_ } => write!(f, "scheduled, due in {}", span(*in_)),
            Self::WaitingForRetry { in_, attempts, max_attempts } => {
                let left = span(*in_);
                write!(f, "attempt {attempts} of {max_attempts} failed; retry in {left}")
            }
            Self::Undecodable { in_, error, for_, times } => {
                let (left, for_) = (span(*in_), span(*for_));
                write!(f, "its payload could not be read for {for_}, {times} times: {error}; ")?;
                write!(f, "offered again in {left}")
            }
            Self::NoLiveWorker { queue, kind } => {
                write!(f, "no live worker serves queue {queue} and kind {kind}")
            }
            Self::Ready { jobs_before: Some(0) } => f.write_str("ready, next in its queue"),
            Self::Ready { jobs_before: Some(n) } => write!(f, "ready, behind {n} jobs"),
            Self::Ready { jobs_before: None } => f.write_str("ready, waits for its turn"),
            Self::Running { worker, lease_expires_in } => {
                let left = span(*lease_expires_in);
                write!(f, "running on {worker}, whose lease holds {left} more")
            }
            Self::Expired { worker, ago } => {
                let ago = span(*ago);
                write!(f, "its lease, held by {worker}, ran out {ago} ago; the next reserve ")?;
                f.write_str("of its queue takes it back")
            }
            Self::Ended { state, reason: Some(reason) } => write!(f, "ended {state}: {reason}"),
            Self::Ended { state, reason: None } => write!(f, "ended {state}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_has_its_durations_in_units_that_people_use() {
        let long = Duration::from_millis(3_490_800);
        let worker = WorkerId::new("w").unwrap();
        let (in_, for_, error) = (long, long, "at name".to_owned());
        let undecodable = Why::Undecodable { in_, error, for_, times: 2 };
        let paused = |reason: Option<&str>, ends_in| {
            let (queue, reason) = (QueueName::default(), reason.map(str::to_owned));
            Why::Paused { queue, reason, ends_in }.to_string()
        };
        assert_eq!(paused(None, None), "queue default is paused");
        assert_eq!(paused(Some("no SMTP"), None), "queue default is paused: no SMTP");
        let told = "queue default is paused for another 58m 10s: no SMTP";
        assert_eq!(paused(Some("no SMTP"), Some(long)), told);
        for (why, told) in [
            (Why::Scheduled { in_: long }, "due in 58m 10s"),
            (Why::WaitingForRetry { in_: long, attempts: 1, max_attempts: 3 }, "retry in 58m 10s"),
            (Why::Running { worker: worker.clone(), lease_expires_in: long }, "58m 10s more"),
            (Why::Expired { worker, ago: long }, "ran out 58m 10s ago"),
            (undecodable, "not be read for 58m 10s, 2 times: at name; offered again in 58m 10s"),
        ] {
            assert!(why.to_string().contains(told), "{why}");
        }
    }
}
