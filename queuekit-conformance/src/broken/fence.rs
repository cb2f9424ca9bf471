//! Stores whose fence has a hole.

use std::sync::Arc;

use async_trait::async_trait;
use queuekit_core::capability::ExtendOutcome;
use queuekit_core::{
    Ack, AckOutcome, Backend, DeadLetter, DeadLetterOutcome, DeadLetterTarget, LeaseToken,
    LeaseTtl, Nack, NackOutcome, Reserve, Reserved, Result,
};

use super::tokens::Tokens;
use crate::Layer;

/// Settles by the job's id.
#[derive(Debug)]
pub(super) struct Unfenced {
    inner: Arc<dyn Backend>,
    tokens: Tokens,
}

impl Unfenced {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        let tokens = Tokens::default();
        Self { inner, tokens }
    }
}

#[async_trait]
impl Layer for Unfenced {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let reserved = self.inner.reserve(request).await?;
        self.tokens.remember(&reserved);
        Ok(reserved)
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        let acks = acks
            .iter()
            .cloned()
            .map(|ack| Ack { lease: self.tokens.of_same_job(&ack.lease), ..ack });
        self.inner.ack(&acks.collect::<Vec<_>>()).await
    }
}

/// Compares the number of a lease only.
#[derive(Debug)]
pub(super) struct IgnoresNonce {
    inner: Arc<dyn Backend>,
    tokens: Tokens,
}

impl IgnoresNonce {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        let tokens = Tokens::default();
        Self { inner, tokens }
    }
}

#[async_trait]
impl Layer for IgnoresNonce {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let reserved = self.inner.reserve(request).await?;
        self.tokens.remember(&reserved);
        Ok(reserved)
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        let acks = acks
            .iter()
            .cloned()
            .map(|ack| Ack { lease: self.tokens.with_right_nonce(&ack.lease), ..ack });
        self.inner.ack(&acks.collect::<Vec<_>>()).await
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        let mut nacks = nacks.to_vec();
        for nack in &mut nacks {
            nack.lease = self.tokens.with_right_nonce(&nack.lease);
        }
        self.inner.nack(&nacks).await
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        let mut dead_letters = dead_letters.to_vec();
        for dead_letter in &mut dead_letters {
            if let DeadLetterTarget::Lease(token) = &mut dead_letter.target {
                *token = self.tokens.with_right_nonce(token);
            }
        }
        self.inner.dead_letter(&dead_letters).await
    }
}

/// Extends by the job's id.
#[derive(Debug)]
pub(super) struct ExtendsAnyLease {
    inner: Arc<dyn Backend>,
    tokens: Tokens,
}

impl ExtendsAnyLease {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        let tokens = Tokens::default();
        Self { inner, tokens }
    }
}

#[async_trait]
impl Layer for ExtendsAnyLease {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let reserved = self.inner.reserve(request).await?;
        self.tokens.remember(&reserved);
        Ok(reserved)
    }

    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        let live: Vec<_> = leases.iter().map(|token| self.tokens.of_same_job(token)).collect();
        self.leases().extend(&live, ttl).await
    }
}
