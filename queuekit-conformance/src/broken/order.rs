//! Stores that serve or list in the wrong order.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use queuekit_core::backend::Examined;
use queuekit_core::{
    Backend, EnqueueOutcome, Job, JobDraft, JobFilter, JobId, NewJob, Page, PageSize, Priority,
    Reserve, Reserved, Result,
};

use crate::Layer;

/// Shows priorities and serves by time alone.
#[derive(Debug)]
pub(super) struct LosesPriority {
    inner: Arc<dyn Backend>,
    priorities: Mutex<HashMap<JobId, Priority>>,
}

impl LosesPriority {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        let priorities = Mutex::default();
        Self { inner, priorities }
    }

    fn of(&self, id: JobId) -> Priority {
        let priorities = self.priorities.lock().unwrap_or_else(PoisonError::into_inner);
        priorities.get(&id).copied().unwrap_or_default()
    }
}

#[async_trait]
impl Layer for LosesPriority {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        {
            let mut priorities = self.priorities.lock().unwrap_or_else(PoisonError::into_inner);
            priorities.extend(jobs.iter().map(|job| (job.id(), job.priority())));
        }
        let level = |job: &NewJob| JobDraft::from(job.clone()).priority(Priority::NORMAL).build();
        let jobs: Result<Vec<_>> = jobs.iter().map(level).collect();
        self.inner.enqueue(&jobs?).await
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let mut reserved = self.inner.reserve(request).await?;
        for lease in &mut reserved.leases {
            lease.priority = self.of(lease.id());
        }
        Ok(reserved)
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        let mut job = self.inner.get_job(id).await?;
        if let Some(job) = &mut job {
            job.priority = self.of(id);
        }
        Ok(job)
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        let mut page = self.inner.list_jobs(filter).await?;
        for job in &mut page.items {
            job.priority = self.of(job.id);
        }
        Ok(page)
    }
}

/// Its cursor counts how many jobs came before.
#[derive(Debug)]
pub(super) struct PagesByOffset(Arc<dyn Backend>);

impl PagesByOffset {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }

    async fn all(&self, filter: &JobFilter) -> Result<Vec<Job>> {
        let mut filter = filter.clone().limit(PageSize::MAX.get()).after(None);
        let mut jobs = Vec::new();
        loop {
            let page = self.0.list_jobs(&filter).await?;
            jobs.extend(page.items);
            if page.next.is_none() {
                return Ok(jobs);
            }
            filter = filter.after(page.next);
        }
    }
}

#[async_trait]
impl Layer for PagesByOffset {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        let position = filter.position()?.and_then(|bytes| bytes.try_into().ok());
        let offset = usize::from_be_bytes(position.unwrap_or_default());
        let all = self.all(filter).await?;
        let end = offset.saturating_add(filter.limit.get());
        Ok(Page {
            examined: Examined::of(filter),
            next: (end < all.len()).then(|| filter.cursor_at(&end.to_be_bytes())),
            items: all.into_iter().skip(offset).take(filter.limit.get()).collect(),
        })
    }
}

/// Lists what is recent queue by queue, as it lists all else.
#[derive(Debug)]
pub(super) struct ListsRecentByQueue(Arc<dyn Backend>);

impl ListsRecentByQueue {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for ListsRecentByQueue {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        let mut page = self.0.list_jobs(filter).await?;
        if filter.recent {
            page.items.sort_by(|one, other| one.queue.cmp(&other.queue));
        }
        Ok(page)
    }
}
