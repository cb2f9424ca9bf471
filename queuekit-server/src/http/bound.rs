//! What all share, so that no key takes all of it: each has a part.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;

use super::caller::Caller;
use super::permits::Permits;
use super::problem::Problem;

/// Of what all may have, one key may have this part.
pub(super) const PART: usize = 4;

/// A bound for all together, and a lower one for each key.
#[derive(Debug)]
pub(crate) struct Bound {
    what: &'static str,
    all: Permits,
    keys: Mutex<OfKeys>,
}

/// How many all may have, and one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) all: usize,
    pub(super) of_key: usize,
}

#[derive(Debug, Default)]
struct OfKeys {
    each: usize,
    /// By id, which only the configuration gives: there are no more than keys.
    known: HashMap<String, Arc<Permits>>,
}

/// A place within the bound, which is free again when it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "it is there to be dropped")]
pub(crate) struct Place(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit);

impl Size {
    /// With the same part for each key.
    pub(super) fn in_parts(all: usize) -> Self {
        Self { all, of_key: all.div_ceil(PART) }
    }
}

impl Bound {
    /// It lets nothing in until it has a size.
    pub(super) fn none(what: &'static str) -> Self {
        Self { what, all: Permits::none(), keys: Mutex::default() }
    }

    pub(super) fn resize(&self, size: Size) {
        let mut keys = self.keys();
        keys.each = size.of_key;
        self.all.resize(size.all);
        keys.known.values().for_each(|own| own.resize(size.of_key));
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
        own.take(many).map(Some).ok_or_else(|| self.key_has_all(caller))
    }

    pub(super) fn take_of_all(&self, many: u32) -> Result<OwnedSemaphorePermit, Problem> {
        self.all.take(many).ok_or_else(|| Problem::overloaded(self.what))
    }

    /// The same, once they are free.
    pub(super) async fn wait_for(
        &self,
        caller: &Caller,
        many: u32,
        patience: Duration,
    ) -> Result<(Option<OwnedSemaphorePermit>, OwnedSemaphorePermit), Problem> {
        let own = match self.of(caller) {
            Some(own) => match soon(patience, own.wait_for(many)).await {
                Some(own) => Some(own),
                None => return Err(self.key_has_all(caller)),
            },
            None => None,
        };
        let all = soon(patience, self.all.wait_for(many)).await;
        all.map(|all| (own, all)).ok_or_else(|| Problem::overloaded(self.what))
    }

    /// None for who has no key: without keys nobody can be told from the others.
    fn of(&self, caller: &Caller) -> Option<Arc<Permits>> {
        let key = caller.key()?;
        let mut keys = self.keys();
        if let Some(own) = keys.known.get(key) {
            return Some(Arc::clone(own));
        }
        let own = Arc::new(Permits::none());
        own.resize(keys.each);
        keys.known.insert(key.to_owned(), Arc::clone(&own));
        Some(own)
    }

    fn keys(&self) -> MutexGuard<'_, OfKeys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key_has_all(&self, caller: &Caller) -> Problem {
        let (key, what) = (caller.id(), self.what);
        let detail = format!("the key {key} has as many {what} as one key may have; try again");
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail);
        problem.retry_after(Duration::from_secs(1))
    }
}

async fn soon<T>(patience: Duration, taking: impl Future<Output = Option<T>>) -> Option<T> {
    tokio::time::timeout(patience, taking).await.ok()?
}
