//! Stores that get batches wrong.

use std::sync::Arc;

use async_trait::async_trait;
use queuekit_core::{Ack, AckOutcome, Backend, EnqueueOutcome, NewJob, Result};

use crate::Layer;

/// Stores the jobs of a call one by one.
#[derive(Debug)]
pub(super) struct SplitsEnqueue(Arc<dyn Backend>);

impl SplitsEnqueue {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for SplitsEnqueue {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        let mut outcomes = Vec::new();
        for job in jobs {
            outcomes.extend(self.0.enqueue(std::slice::from_ref(job)).await?);
            tokio::task::yield_now().await;
        }
        Ok(outcomes)
    }
}

/// Settles nothing after the first lease that was lost.
#[derive(Debug)]
pub(super) struct StopsAtFirstFailure(Arc<dyn Backend>);

impl StopsAtFirstFailure {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for StopsAtFirstFailure {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        let mut outcomes = Vec::new();
        for ack in acks {
            let outcome = match outcomes.last() {
                None | Some(AckOutcome::Acked | AckOutcome::AlreadyDone) => {
                    self.0.ack(std::slice::from_ref(ack)).await?[0]
                }
                Some(failure) => *failure,
            };
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }
}
