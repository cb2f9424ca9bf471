//! Stores with forbidden answers or effects.

use std::sync::Arc;

use async_trait::async_trait;
use queuekit_core::{
    Ack, AckOutcome, Backend, DeadLetter, DeadLetterOutcome, DeadLetterTarget, JobDraft, Nack,
    NackOutcome, Result, State,
};

use crate::Layer;

/// A repeated ack is Acked, so that nobody can tell who completed a job.
#[derive(Debug)]
pub(super) struct AcksAgain(Arc<dyn Backend>);

impl AcksAgain {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for AcksAgain {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        let mut outcomes = self.0.ack(acks).await?;
        for outcome in &mut outcomes {
            if *outcome == AckOutcome::AlreadyDone {
                *outcome = AckOutcome::Acked;
            }
        }
        Ok(outcomes)
    }
}

/// Releases a job without the cause that the worker gave.
#[derive(Debug)]
pub(super) struct ForgetsCause(Arc<dyn Backend>);

impl ForgetsCause {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for ForgetsCause {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        let without = |nack: &Nack| {
            Nack::new(nack.lease.clone(), nack.kind, nack.error.clone(), nack.delay())
        };
        self.0.nack(&nacks.iter().map(without).collect::<Vec<_>>()).await
    }
}

/// Writes a record where it should have found one.
#[derive(Debug)]
pub(super) struct InsertsOnAck(Arc<dyn Backend>);

impl InsertsOnAck {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for InsertsOnAck {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        let outcomes = self.0.ack(acks).await?;
        for (ack, outcome) in acks.iter().zip(&outcomes) {
            if *outcome == AckOutcome::NotFound {
                let phantom = JobDraft::new("phantom", "").queue(&ack.lease.queue);
                self.0.enqueue(&[phantom.id(ack.lease.id).build()?]).await?;
            }
        }
        Ok(outcomes)
    }
}

/// A close that has no effect.
#[derive(Debug)]
pub(super) struct NeverCloses(Arc<dyn Backend>);

impl NeverCloses {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for NeverCloses {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// Dead-letters the dead again, under a new reason.
#[derive(Debug)]
pub(super) struct OverwritesReason(Arc<dyn Backend>);

impl OverwritesReason {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for OverwritesReason {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        for dead_letter in dead_letters {
            let DeadLetterTarget::Job { id, .. } = dead_letter.target else {
                continue;
            };
            let job = self.0.get_job(id).await?;
            if job.is_some_and(|job| job.state == State::Dead) {
                self.admin().retry(&[id]).await?;
            }
        }
        self.0.dead_letter(dead_letters).await
    }
}
