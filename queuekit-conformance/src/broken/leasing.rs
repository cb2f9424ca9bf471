//! Stores that lease too often, or too late.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use queuekit_core::{Backend, Lease, LeaseTtl, Reserve, Reserved, Result};

use crate::Layer;
use crate::kit::MILLISECOND;

/// Two callers who reserve at once get the same job, as from a select without a lock.
#[derive(Debug)]
pub(super) struct LeasesTwice {
    inner: Arc<dyn Backend>,
    last: Mutex<Option<Lease>>,
}

impl LeasesTwice {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        let last = Mutex::default();
        Self { inner, last }
    }
}

#[async_trait]
impl Layer for LeasesTwice {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let mut reserved = self.inner.reserve(request).await?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.take() {
            Some(again) if reserved.leases.len() < request.limit => reserved.leases.push(again),
            _ => *last = reserved.leases.last().cloned(),
        }
        Ok(reserved)
    }
}

/// Leases live for a millisecond longer than was asked for.
#[derive(Debug)]
pub(super) struct LateExpiry(Arc<dyn Backend>);

impl LateExpiry {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for LateExpiry {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let longer = request.ttl.get() + MILLISECOND;
        let mut request = request.clone();
        request.ttl = LeaseTtl::for_tests(longer);
        self.0.reserve(&request).await
    }
}

/// Leases live for a millisecond less.
#[derive(Debug)]
pub(super) struct EarlyExpiry(Arc<dyn Backend>);

impl EarlyExpiry {
    /// Breaks a store.
    pub(super) fn new(inner: Arc<dyn Backend>) -> Self {
        Self(inner)
    }
}

#[async_trait]
impl Layer for EarlyExpiry {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.0
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let shorter = request.ttl.get().saturating_sub(MILLISECOND);
        let mut request = request.clone();
        request.ttl = LeaseTtl::for_tests(shorter);
        self.0.reserve(&request).await
    }
}
