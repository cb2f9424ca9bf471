//! Stores that mistreat their keys.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::CancelOutcome;
use queuekit_core::{
    Backend, EnqueueOutcome, JobDraft, JobId, Nack, NackKind, NewJob, PartitionKey, QueueName,
    QueuePatch, Reserve, Reserved, Result,
};

use crate::Layer;
use crate::kit::{DAY, MILLISECOND};

/// A key whose job was cancelled stays taken.
#[derive(Debug)]
pub(super) struct LeaksSlotOnCancel {
    inner: Arc<dyn Backend>,
    leaked: Mutex<HashSet<(QueueName, PartitionKey)>>,
}

impl LeaksSlotOnCancel {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        let leaked = Mutex::default();
        Self { inner, leaked }
    }

    fn is_leaked(&self, queue: &QueueName, key: Option<&PartitionKey>) -> bool {
        let leaked = self.leaked.lock().unwrap_or_else(PoisonError::into_inner);
        key.is_some_and(|key| leaked.contains(&(queue.clone(), key.clone())))
    }
}

#[async_trait]
impl Layer for LeaksSlotOnCancel {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        let outcomes = self.admin().cancel(ids).await?;
        for (id, outcome) in ids.iter().zip(&outcomes) {
            if let (CancelOutcome::Cancelled, Some(job)) = (outcome, self.inner.get_job(*id).await?)
                && let Some(key) = job.partition_key
            {
                let mut leaked = self.leaked.lock().unwrap_or_else(PoisonError::into_inner);
                leaked.insert((job.queue, key));
            }
        }
        Ok(outcomes)
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let mut reserved = self.inner.reserve(request).await?;
        let leases = std::mem::take(&mut reserved.leases);
        for lease in leases {
            if self.is_leaked(&lease.token.queue, lease.partition_key.as_ref()) {
                let nack = Nack::new(lease.token, NackKind::Release, "", Duration::ZERO);
                self.inner.nack(&[nack]).await?;
                reserved.more = false;
            } else {
                reserved.leases.push(lease);
            }
        }
        Ok(reserved)
    }
}

/// A duplicate brings forward the job that it names.
#[derive(Debug)]
pub(super) struct TouchesDuplicates(Arc<dyn Backend>);

impl TouchesDuplicates {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for TouchesDuplicates {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        let outcomes = self.0.enqueue(jobs).await?;
        for outcome in &outcomes {
            if let EnqueueOutcome::Duplicate { existing } = outcome {
                self.admin().reschedule(&[*existing], Duration::ZERO).await?;
            }
        }
        Ok(outcomes)
    }
}

/// A key is free a millisecond before its window ends.
#[derive(Debug)]
pub(super) struct FreesKeyEarly(Arc<dyn Backend>);

impl FreesKeyEarly {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for FreesKeyEarly {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        for job in jobs.iter().filter(|job| job.idempotency_key().is_some()) {
            let early = QueuePatch::default().dedup_window(DAY - MILLISECOND);
            self.admin().configure(job.queue(), &early).await?;
        }
        self.0.enqueue(jobs).await
    }
}

/// A key lives as long as its job runs, window or not.
#[derive(Debug)]
pub(super) struct FreesKeyAtEnd(Arc<dyn Backend>);

impl FreesKeyAtEnd {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for FreesKeyAtEnd {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        let forgetful = |job: &NewJob| match job.idempotency_key() {
            Some(_) => JobDraft::from(job.clone()).unique_until_done().build(),
            None => Ok(job.clone()),
        };
        let jobs: Result<Vec<_>> = jobs.iter().map(forgetful).collect();
        self.0.enqueue(&jobs?).await
    }
}
