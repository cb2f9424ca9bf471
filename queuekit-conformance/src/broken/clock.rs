//! Stores that read the wrong clock.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::{
    Backend, BackendExt, Clock, EnqueueOutcome, JobDraft, JobFilter, JobId, NewJob, PageSize,
    Reserve, Reserved, Result, Start, Status, StatusSet, SystemClock,
};

use crate::Layer;
use crate::kit::MILLISECOND;

/// Delays count from the client's now.
#[derive(Debug)]
pub(super) struct ClientClock(Arc<dyn Backend>);

impl ClientClock {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for ClientClock {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        let now = SystemClock::default().now();
        let jobs: Result<Vec<_>> = jobs
            .iter()
            .map(|job| match job.start() {
                Start::After(delay) if !delay.is_zero() => {
                    JobDraft::from(job.clone()).run_at(now + delay).build()
                }
                Start::After(_) | Start::At(_) => Ok(job.clone()),
            })
            .collect();
        self.0.enqueue(&jobs?).await
    }
}

/// What is due within a millisecond runs now.
#[derive(Debug)]
pub(super) struct RunsEarly(Arc<dyn Backend>);

impl RunsEarly {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for RunsEarly {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let waiting = StatusSet::from(Status::Scheduled).with(Status::Failed);
        for queue in self.0.all_queues().await? {
            let soon = queue.as_of + MILLISECOND;
            let filter = JobFilter::default().queue(queue.name).status(waiting);
            let page = self.0.list_jobs(&filter.limit(PageSize::MAX.get())).await?;
            let due = page.items.iter().filter(|job| job.scheduled_at <= soon);
            let ids: Vec<JobId> = due.map(|job| job.id).collect();
            self.admin().reschedule(&ids, Duration::ZERO).await?;
        }
        self.0.reserve(request).await
    }
}
