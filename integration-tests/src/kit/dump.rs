//! Everything a store shows, to prove that nothing changed.

use std::time::Duration;

use queuekit_core::queue::Health;
use queuekit_core::{Job, JobId, PageSize, Queue, Timestamp};

use super::SLACK;
use crate::World;

/// All jobs and all queues, without what time alone changes.
#[derive(Clone, Debug)]
pub struct Dump {
    jobs: Vec<Job>,
    /// Compared with tolerance: the store's clock may go on between two dumps.
    expiries: Vec<(JobId, Option<Duration>)>,
    queues: Vec<Queue>,
}

impl Dump {
    /// Its jobs, in the order of listings.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Asserts that both show the same.
    pub fn assert_same(&self, other: &Self) {
        let ids = |dump: &Self| dump.jobs.iter().map(|job| job.id).collect::<Vec<_>>();
        assert_eq!(ids(self), ids(other), "the stored jobs or their order changed");
        for (before, after) in self.jobs.iter().zip(&other.jobs) {
            assert_eq!(before, after, "job {} changed", before.id);
        }
        for ((id, before), (_, after)) in self.expiries.iter().zip(&other.expiries) {
            let moved = before.unwrap_or_default().abs_diff(after.unwrap_or_default());
            assert!(moved < SLACK, "the lease of job {id} changed: {before:?} to {after:?}");
        }
        assert_eq!(self.queues, other.queues, "the queues changed");
    }
}

impl<'w> dyn World + 'w {
    /// Everything the store shows: every page of its jobs, and its queues.
    pub async fn dump(&self) -> Dump {
        let filter = queuekit_core::JobFilter::default().limit(PageSize::MAX);
        let mut jobs = self.list(filter).await;
        let expiries = jobs.iter().map(|job| (job.id, job.lease_expires_in)).collect();
        for job in &mut jobs {
            job.lease_expires_in = None;
            job.deadline_in = None;
        }
        let mut queues = self.backend().list_queues().await.expect("list_queues");
        for queue in &mut queues {
            queue.as_of = Timestamp::default();
            queue.oldest_ready_age = None;
            queue.health = Health::default();
        }
        Dump { jobs, expiries, queues }
    }

    /// Asserts that the store shows what it showed then.
    pub async fn assert_unchanged(&self, since: &Dump) {
        since.assert_same(&self.dump().await);
    }
}
