//! Everything a store holds and shows, to prove that nothing changed.

use std::collections::BTreeSet;
use std::sync::Once;
use std::time::Duration;

use queuekit_core::queue::Health;
use queuekit_core::{BackendExt, Job, JobId, PageSize, Queue, Timestamp};

use super::SLACK;
use crate::{World, skip};

/// All stored data, and all jobs and queues as reads show them, without fields that time alone
/// changes.
#[derive(Clone, Debug)]
pub struct Dump {
    /// The raw dump; none if the harness cannot make one.
    raw: Option<Vec<String>>,
    jobs: Vec<Job>,
    /// Expiries, which are compared with tolerance: the store's clock may run between two dumps.
    expiries: Vec<(JobId, Option<Duration>)>,
    queues: Vec<Queue>,
}

impl Dump {
    /// Its jobs, in the order of listings.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Asserts that both dumps hold and show the same. The failure message says what happened
    /// between them.
    fn assert_same(&self, other: &Self, between: &str) {
        self.assert_same_shown(other, between);
        match (&self.raw, &other.raw) {
            (Some(before), Some(after)) => assert_same_lines(before, after, between),
            _ => tell_that_bytes_are_not_compared(),
        }
    }

    fn assert_same_shown(&self, other: &Self, between: &str) {
        let ids = |dump: &Self| dump.jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        assert_eq!(ids(self), ids(other), "{between} changed the stored jobs or their order");
        for (before, after) in self.jobs.iter().zip(&other.jobs) {
            assert_eq!(before, after, "{between} changed job {}", before.id);
        }
        for ((id, before), (_, after)) in self.expiries.iter().zip(&other.expiries) {
            let moved = before.unwrap_or_default().abs_diff(after.unwrap_or_default());
            assert!(
                moved < SLACK,
                "{between} changed the lease of job {id}: {before:?}, {after:?}"
            );
        }
        assert_eq!(self.queues, other.queues, "{between} changed the queues");
    }
}

/// Both are sorted.
fn assert_same_lines(before: &[String], after: &[String], between: &str) {
    if before == after {
        return;
    }
    let (before, after): (BTreeSet<_>, BTreeSet<_>) =
        (before.iter().collect(), after.iter().collect());
    let gone: Vec<_> = before.difference(&after).collect();
    let new: Vec<_> = after.difference(&before).collect();
    panic!("{between} wrote: {gone:#?} became {new:#?}");
}

/// Once per process: cases then use what reads show.
fn tell_that_bytes_are_not_compared() {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| {
        skip("\"not one byte changes\"", "the harness cannot dump its store; reads are compared");
    });
}

impl<'w> dyn World + 'w {
    /// Everything the store holds, and everything it shows: every page of its jobs, and its queues.
    pub async fn dump(&self) -> Dump {
        let mut raw = self.raw_dump().await;
        raw.iter_mut().for_each(|lines| lines.sort_unstable());
        let filter = queuekit_core::JobFilter::default().limit(PageSize::MAX.get());
        let mut jobs = self.list(filter).await;
        let expiries = jobs.iter().map(|job| (job.id, job.lease_expires_in)).collect();
        for job in &mut jobs {
            job.lease_expires_in = None;
            job.deadline_in = None;
        }
        let mut queues = self.backend().all_queues().await.expect("list_queues");
        for queue in &mut queues {
            queue.as_of = Timestamp::default();
            queue.oldest_ready_age = None;
            queue.health = Health::default();
        }
        Dump { raw, jobs, expiries, queues }
    }

    /// Asserts that an enqueue that was answered `Duplicate`, `Conflict` or `QueueFull` changed
    /// nothing that the store shows. What it holds may differ in one thing: it may have taken a
    /// place in the order of enqueues for the job, as a Postgres sequence does.
    pub async fn assert_unchanged_but_for_places(&self, since: &Dump) {
        since.assert_same_shown(&self.dump().await, "the enqueue");
    }

    /// Asserts that the store holds and shows the same as in this dump.
    pub async fn assert_unchanged(&self, since: &Dump) {
        self.assert_unchanged_by(since, "the call").await;
    }

    /// The same; `what` names the call that may have changed it.
    pub async fn assert_unchanged_by(&self, since: &Dump, what: &str) {
        since.assert_same(&self.dump().await, what);
    }
}
