//! Stores that let a job that kills its worker run for ever.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::{
    Backend, Job, JobFilter, Nack, NackKind, PageSize, Reserve, Reserved, Result, Status,
};

use super::tokens::Tokens;
use crate::Layer;

/// Releases expired jobs as if no attempt had been counted.
async fn release_expired(
    inner: &dyn Backend,
    tokens: &Tokens,
    request: &Reserve,
    wanted: impl Fn(&Job) -> bool,
) -> Result<()> {
    for queue in request.queues.names() {
        let filter = JobFilter::default().queue(queue.clone()).status(Status::Expired);
        let page = inner.list_jobs(&filter.limit(PageSize::MAX.get())).await?;
        for job in page.items.iter().filter(|job| wanted(job)) {
            if let Some(token) = tokens.latest(job.id) {
                let nack = Nack::new(token, NackKind::Release, "", Duration::ZERO);
                inner.nack(&[nack]).await?;
            }
        }
    }
    Ok(())
}

/// A store in which an expired lease costs no attempt.
#[derive(Debug)]
pub(super) struct CountsAtNack {
    inner: Arc<dyn Backend>,
    tokens: Tokens,
}

impl CountsAtNack {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        let tokens = Tokens::default();
        Self { inner, tokens }
    }
}

#[async_trait]
impl Layer for CountsAtNack {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        release_expired(&*self.inner, &self.tokens, request, |_| true).await?;
        let reserved = self.inner.reserve(request).await?;
        self.tokens.remember(&reserved);
        Ok(reserved)
    }
}

/// An expired lease is reclaimed on the final attempt, too.
#[derive(Debug)]
pub(super) struct ReclaimsForEver {
    inner: Arc<dyn Backend>,
    tokens: Tokens,
}

impl ReclaimsForEver {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        let tokens = Tokens::default();
        Self { inner, tokens }
    }
}

#[async_trait]
impl Layer for ReclaimsForEver {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let is_final = |job: &Job| job.attempts >= job.max_attempts;
        release_expired(&*self.inner, &self.tokens, request, is_final).await?;
        let reserved = self.inner.reserve(request).await?;
        self.tokens.remember(&reserved);
        Ok(reserved)
    }
}
