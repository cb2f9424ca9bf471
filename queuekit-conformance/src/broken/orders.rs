//! Stores that lose orders to workers, or repeat them.

use std::sync::Arc;

use async_trait::async_trait;
use queuekit_core::capability::{Beat, Orders};
use queuekit_core::{Backend, Result};

use crate::Layer;

/// Forgets an order when it is answered, as if no answer were ever lost.
#[derive(Debug)]
pub(super) struct AnswersOnce(Arc<dyn Backend>);

impl AnswersOnce {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for AnswersOnce {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        let orders = self.leases().beat(beat).await?;
        if !orders.is_empty() {
            let mut answered = beat.clone();
            answered.obeyed = orders.seq;
            self.leases().beat(&answered).await?;
        }
        Ok(orders)
    }
}

/// Answers what a worker has obeyed again, with each beat.
#[derive(Debug)]
pub(super) struct IgnoresObeyed(Arc<dyn Backend>);

impl IgnoresObeyed {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for IgnoresObeyed {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        let mut beat = beat.clone();
        beat.obeyed = 0;
        self.leases().beat(&beat).await
    }
}
