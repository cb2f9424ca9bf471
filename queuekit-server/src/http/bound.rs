//! What all share, so that no key takes all of it: each has a part.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::caller::Caller;
use super::problem::Problem;

/// Of what all may have, one key may have this part.
pub(super) const PART: usize = 4;

/// A bound for all together, and a lower one for each key.
#[derive(Debug)]
pub(crate) struct Bound {
    what: &'static str,
    all: Arc<Semaphore>,
    of_key: usize,
    /// By id, which only the configuration gives: there are no more than keys.
    keys: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A place within the bound, which is free again when it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "it is there to be dropped")]
pub(crate) struct Place(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit);

impl Bound {
    pub(crate) fn new(what: &'static str, all: usize, of_key: usize) -> Self {
        let (all, keys) = (Arc::new(Semaphore::new(all)), Mutex::default());
        Self { what, all, of_key, keys }
    }

    /// With the same part for each key.
    pub(crate) fn in_parts(what: &'static str, all: usize) -> Self {
        Self::new(what, all, all.div_ceil(PART))
    }

    /// # Errors
    /// 429 if the key has as many as it may have; 503 if all have.
    pub(crate) fn take(&self, caller: &Caller) -> Result<Place, Problem> {
        let own = self.take_own(caller, 1)?;
        Ok(Place(own, self.take_of_all(1)?))
    }

    pub(super) fn take_own(
        &self,
        caller: &Caller,
        many: u32,
    ) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        let Some(own) = self.of(caller) else { return Ok(None) };
        own.try_acquire_many_owned(many).map(Some).map_err(|_| self.key_has_all(caller))
    }

    pub(super) fn take_of_all(&self, many: u32) -> Result<OwnedSemaphorePermit, Problem> {
        let taken = Arc::clone(&self.all).try_acquire_many_owned(many);
        taken.map_err(|_| Problem::overloaded(self.what))
    }

    /// The same, once they are free.
    pub(super) async fn wait_for(
        &self,
        caller: &Caller,
        many: u32,
        patience: Duration,
    ) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit), Problem> {
        let own = match self.of(caller) {
            Some(own) => match soon(patience, own.acquire_many_owned(many)).await {
                Some(own) => Some(own),
                None => return Err(self.key_has_all(caller)),
            },
            None => None,
        };
        let all = soon(patience, Arc::clone(&self.all).acquire_many_owned(many)).await;
        all.map(|all| (own, all)).ok_or_else(|| Problem::overloaded(self.what))
    }

    /// None for who has no key: without keys nobody can be told from the others.
    fn of(&self, caller: &Caller) -> Option<Arc<Semaphore>> {
        let key = caller.key()?;
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = keys.get(key) {
            return Some(Arc::clone(own));
        }
        let own = Arc::new(Semaphore::new(self.of_key));
        keys.insert(key.to_owned(), Arc::clone(&own));
        Some(own)
    }

    fn key_has_all(&self, caller: &Caller) -> Problem {
        let (key, what) = (caller.id(), self.what);
        let detail = format!("the key {key} has as many {what} as one key may have; try again");
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail);
        problem.retry_after(Duration::from_secs(1))
    }
}

/// No semaphore here is ever closed.
async fn soon<T, E>(patience: Duration, taking: impl Future<Output = Result<T, E>>) -> Option<T> {
    tokio::time::timeout(patience, taking).await.ok()?.ok()
}
