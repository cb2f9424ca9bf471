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

    /// A key never takes more places than it leaves free.
    ///
    /// # Errors
    /// 429 if the key has its part, or as many places as are free; 503 if all are taken.
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
        // Guard: however many keys take all that they may, some places stay free.
        if !self.leaves_enough(caller, places as usize) {
            return Err(self.key_exhausted(caller));
        }
        Ok(SharePermit(own, self.take_shared(places)?))
    }

    /// Whether a key that has just got these places of its part leaves as many to others as it
    /// holds. The last place of all may go to a key that has no other.
    fn leaves_enough(&self, caller: &Caller, places: usize) -> bool {
        let free = self.all.free();
        // If too few are free for this call, it is refused for that reason.
        free < places || self.of(caller).is_none_or(|own| own.held() <= free - places + 1)
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
        key_exhausted(caller, self.what)
    }
}

/// 429: the key has its part of this.
pub(crate) fn key_exhausted(caller: &Caller, what: &str) -> Problem {
    let key = caller.id();
    let detail = format!("the key {key} has as many {what} as one key may have now; try later");
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail);
    problem.retry_after(Duration::from_secs(1))
}

async fn within<T>(timeout: Duration, taking: impl Future<Output = Option<T>>) -> Option<T> {
    tokio::time::timeout(timeout, taking).await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::auth::tests::caller_of;

    fn places(all: usize) -> FairShare {
        let places = FairShare::empty("places");
        places.resize(ShareSize::with_equal_parts(all));
        places
    }

    /// As many places as the key gets.
    fn fill(places: &FairShare, key: &str) -> Vec<SharePermit> {
        let caller = caller_of(key, 1);
        std::iter::from_fn(|| places.take(&caller).ok()).collect()
    }

    #[test]
    fn s6_however_many_keys_take_all_that_they_may_another_key_gets_places() {
        let places = places(1024);
        let mut held: Vec<_> = (0..10).map(|n| fill(&places, &format!("k{n}"))).collect();
        let counts: Vec<_> = held.iter().map(Vec::len).collect();
        assert_eq!(counts, [256, 256, 256, 128, 64, 32, 16, 8, 4, 2]);
        assert_eq!(fill(&places, "other").len(), 1);
        // A key that already has places gets more only when others give some back.
        let first = caller_of("k0", 1);
        assert_eq!(places.take(&first).unwrap_err().status(), StatusCode::TOO_MANY_REQUESTS);
        drop(held.split_off(1));
        assert_eq!(fill(&places, "other").len(), 256);
    }

    #[test]
    fn s6_a_key_takes_several_places_only_if_it_leaves_as_many() {
        let places = places(12);
        let caller = caller_of("k", 1);
        let _others: Vec<_> = (0..2).map(|n| fill(&places, &format!("k{n}"))).collect();
        assert!(places.take_many(&caller, 3).is_ok(), "3 of 6");
        let _more = fill(&places, "k2");
        assert_eq!(places.all.free(), 3);
        assert!(places.take_many(&caller, 3).is_err(), "none of 3 would be left");
        assert!(places.take_many(&caller, 2).is_ok(), "1 would be left, and another key has it");
    }

    #[test]
    fn s6_the_last_place_is_for_a_key_without_one_and_then_all_are_taken() {
        let places = places(4);
        let _held: Vec<_> = (0..4).map(|n| fill(&places, &format!("k{n}"))).collect();
        assert_eq!(places.all.free(), 0);
        let refused = places.take(&caller_of("other", 1)).unwrap_err();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
