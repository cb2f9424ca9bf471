//! Reading jobs and queues.

use queuekit_core::limits::PAGE_JOBS;
use queuekit_core::{
    BackendExt, ErrorGroup, Job, JobFilter, JobId, Page, PageSize, Queue, QueueName, State, Status,
    Timestamp,
};

use super::default_queue;
use crate::World;

/// More pages than any case needs: a listing that never ends must not hang its test.
const PAGES: usize = 50_000;

impl<'w> dyn World + 'w {
    /// The job, if it is stored.
    pub async fn find(&self, id: JobId) -> Option<Job> {
        let job = self.backend().get_job(id).await.expect("get_job");
        assert!(job.as_ref().is_none_or(|job| job.id == id), "another job was read");
        job
    }

    /// The job, which is stored.
    pub async fn job(&self, id: JobId) -> Job {
        let job = self.find(id).await;
        job.unwrap_or_else(|| panic!("get_job does not find {id}, which is stored"))
    }

    /// The stored state of a job.
    pub async fn state(&self, id: JobId) -> State {
        self.job(id).await.state
    }

    /// The status of a job.
    pub async fn status(&self, id: JobId) -> Status {
        self.job(id).await.status
    }

    /// The most recent error groups of these queues, as many as a page has.
    pub async fn error_groups(&self, queues: &[QueueName]) -> Vec<ErrorGroup> {
        self.latest_error_groups(queues, PAGE_JOBS).await
    }

    /// The most recent error groups of these queues, at most this number.
    pub async fn latest_error_groups(&self, queues: &[QueueName], most: usize) -> Vec<ErrorGroup> {
        let errors = self.capabilities().errors.expect("the store has Errors");
        let limit = PageSize::new(most).expect("a size");
        errors.list_error_groups(queues, limit).await.expect("list_error_groups")
    }

    /// One page of a listing.
    pub async fn page(&self, filter: &JobFilter) -> Page<Job> {
        let page = self.backend().list_jobs(filter).await.expect("list_jobs");
        let (jobs, limit) = (page.items.len(), filter.limit.get());
        assert!(jobs <= limit, "list_jobs answered {jobs} jobs on a page of {limit}");
        page
    }

    /// All pages of a listing, each of the filter's size.
    pub async fn list(&self, mut filter: JobFilter) -> Vec<Job> {
        let mut jobs = Vec::new();
        for _ in 0..PAGES {
            let page = self.page(&filter).await;
            jobs.extend(page.items);
            if page.next.is_none() {
                return jobs;
            }
            filter = filter.after(page.next);
        }
        panic!("the listing never ends: {} jobs so far", jobs.len());
    }

    /// The ids of all jobs of a listing, in its order.
    pub async fn list_ids(&self, filter: JobFilter) -> Vec<JobId> {
        self.list(filter).await.iter().map(|job| job.id).collect()
    }

    /// Every stored job.
    pub async fn all_jobs(&self) -> Vec<Job> {
        self.list(JobFilter::default().limit(PageSize::MAX.get())).await
    }

    /// How many jobs of the queue `default` have this status, by listing them.
    pub async fn count(&self, status: Status) -> usize {
        let filter = JobFilter::default().queue(default_queue()).status(status);
        self.list(filter.limit(PageSize::MAX.get())).await.len()
    }

    /// How many jobs of all queues have this status, by listing them.
    pub async fn count_everywhere(&self, status: Status) -> usize {
        self.list(JobFilter::default().status(status).limit(PageSize::MAX.get())).await.len()
    }

    /// The queue as it is listed, if it is.
    pub async fn find_queue(&self, name: &QueueName) -> Option<Queue> {
        let queues = self.backend().all_queues().await.expect("list_queues");
        queues.into_iter().find(|queue| queue.name == *name)
    }

    /// The queue as it is listed.
    pub async fn queue(&self, name: &QueueName) -> Queue {
        let queue = self.find_queue(name).await;
        queue.unwrap_or_else(|| panic!("list_queues does not show `{name}`, which was used"))
    }

    /// The present instant of the store's clock, read off a new job in a queue of its own.
    pub async fn store_now(&self) -> Timestamp {
        let id = self.enqueue(super::draft().queue("clock")).await;
        let now = self.job(id).await.created_at;
        assert!(self.delete(id, false).await.expect("delete_job"));
        now
    }
}
