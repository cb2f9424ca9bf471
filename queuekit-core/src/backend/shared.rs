//! `Backend` for an `Arc` of a store.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    Ack, AckOutcome, Backend, Capabilities, DeadLetter, DeadLetterOutcome, EnqueueOutcome,
    JobFilter, Nack, NackOutcome, Page, PageSize, QueuePage, Reserve, Reserved,
};
use crate::error::Result;
use crate::job::{Job, JobId, NewJob, State};
use crate::names::QueueName;
use crate::queue::Queue;

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: Backend + ?Sized> Backend for Arc<B> {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        (**self).enqueue(jobs).await
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        (**self).reserve(request).await
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        (**self).ack(acks).await
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        (**self).nack(nacks).await
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        (**self).dead_letter(dead_letters).await
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        (**self).list_queues(after, limit).await
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        (**self).find_queues(names).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        (**self).list_jobs(filter).await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        (**self).get_job(id).await
    }

    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        (**self).job_states(ids).await
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        (**self).delete_job(id, force).await
    }

    async fn close(&self) -> Result<()> {
        (**self).close().await
    }

    fn capabilities(&self) -> Capabilities<'_> {
        (**self).capabilities()
    }
}
