//! A limit that all keys share, of which each key gets a part, so that no key can use it up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;

use super::auth::Caller;
use super::problem::Problem;
use super::resizable_semaphore::ResizableSemaphore;

/// One key may use this fraction of the whole: a quarter.
pub(crate) const KEY_PART: usize = 4;

/// A limit for all together, and a lower one for each key.
#[derive(Debug)]
pub(crate) struct FairShare {
    what: &'static str,
    all: ResizableSemaphore,
    keys: Mutex<KeyShares>,
}

/// How many places there are for all, and for one key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShareSize {
    pub(crate) all: usize,
    pub(crate) of_key: usize,
}

#[derive(Debug, Default)]
struct KeyShares {
    each: usize,
    /// By id of the key; only the configuration adds ids.
    known: HashMap<String, Arc<ResizableSemaphore>>,
}

/// A place within the limit, given back when it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "it is only dropped")]
pub(crate) struct SharePermit(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit);

impl ShareSize {
    /// A size of which each key gets the same part.
    pub(crate) fn with_equal_parts(all: usize) -> Self {
        Self { all, of_key: all.div_ceil(KEY_PART) }
    }
}

impl FairShare {
    /// Without places, until it has a size.
    pub(crate) fn empty(what: &'static str) -> Self {
        Self { what, all: ResizableSemaphore::empty(), keys: Mutex::default() }
    }

    pub(crate) fn resize(&self, size: ShareSize) {
        let mut keys = self.keys();
        keys.each = size.of_key;
        self.all.resize(size.all);
        keys.known.values().for_each(|own| own.resize(size.of_key));
    }

    /// # Errors
    /// 429 if the key has its part; 503 if all places are taken.
    pub(crate) fn take(&self, caller: &Caller) -> Result<SharePermit, Problem> {
        self.take_many(caller, 1)
    }

    /// Several places, but no more than a key may have.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(crate) fn take_many(&self, caller: &Caller, places: usize) -> Result<SharePermit, Problem> {
        let places = places.min(self.keys().each) as u32;
        // The share of the key first, so that a key beyond it takes nothing from others.
        let own = self.take_for_key(caller, places)?;
        Ok(SharePermit(own, self.take_shared(places)?))
    }

    /// Waits until a place of the key's part is free, and then one of all.
    ///
    /// # Errors
    /// 429 or 503 if none is for this long.
    pub(crate) async fn wait(
        &self,
        caller: &Caller,
        timeout: Duration,
    ) -> Result<SharePermit, Problem> {
        let own = self.wait_for_key(caller, 1, timeout).await?;
        Ok(SharePermit(own, self.wait_for_shared(1, timeout).await?))
    }

    pub(crate) fn take_for_key(
        &self,
        caller: &Caller,
        many: u32,
    ) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        let Some(own) = self.of(caller) else { return Ok(None) };
        own.take(many).map(Some).ok_or_else(|| self.key_exhausted(caller))
    }

    pub(crate) fn take_shared(&self, many: u32) -> Result<OwnedSemaphorePermit, Problem> {
        self.all.take(many).ok_or_else(|| Problem::overloaded(self.what))
    }

    /// Waits until places of the key's part are free.
    ///
    /// # Errors
    /// 429 if none are for this long.
    pub(crate) async fn wait_for_key(
        &self,
        caller: &Caller,
        many: u32,
        timeout: Duration,
    ) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        let Some(own) = self.of(caller) else { return Ok(None) };
        let own = within(timeout, own.wait_for(many)).await;
        own.map(Some).ok_or_else(|| self.key_exhausted(caller))
    }

    /// Waits until places are free.
    ///
    /// # Errors
    /// 503 if none are for this long.
    pub(crate) async fn wait_for_shared(
        &self,
        many: u32,
        timeout: Duration,
    ) -> Result<OwnedSemaphorePermit, Problem> {
        let all = within(timeout, self.all.wait_for(many)).await;
        all.ok_or_else(|| Problem::overloaded(self.what))
    }

    /// `None` without a key: callers cannot be distinguished.
    fn of(&self, caller: &Caller) -> Option<Arc<ResizableSemaphore>> {
        let key = caller.key()?;
        let mut keys = self.keys();
        if let Some(own) = keys.known.get(key) {
            return Some(Arc::clone(own));
        }
        let own = Arc::new(ResizableSemaphore::empty());
        own.resize(keys.each);
        keys.known.insert(key.to_owned(), Arc::clone(&own));
        Some(own)
    }

    fn keys(&self) -> MutexGuard<'_, KeyShares> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key_exhausted(&self, caller: &Caller) -> Problem {
        let (key, what) = (caller.id(), self.what);
        let detail = format!("the key {key} has as many {what} as one key may have; try later");
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail);
        problem.retry_after(Duration::from_secs(1))
    }
}

async fn within<T>(timeout: Duration, taking: impl Future<Output = Option<T>>) -> Option<T> {
    tokio::time::timeout(timeout, taking).await.ok()?
}
