//! The connections of one address: which of them makes room for another, and how many a key may use
//! at the same time.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::web::connection_end::ConnectionEnd;

/// How long a connection has to send its first request before others of its address replace it.
pub(super) const PROTECTED: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct OfAddress {
    open: usize,
    /// Those of which no request was admitted yet, oldest first, with the time of their opening.
    strangers: BTreeMap<u64, (Instant, ConnectionEnd)>,
    /// The others, by the id of the key of their last request; "" without keys.
    keys: HashMap<String, OfKey>,
    /// Admitted requests in progress.
    requests: usize,
}

#[derive(Debug, Default)]
struct OfKey {
    requests: usize,
    /// Those without an admitted request in progress, those longest without one first.
    idle: BTreeMap<u64, ConnectionEnd>,
}

impl OfAddress {
    pub(super) fn open(&mut self, number: u64, end: &ConnectionEnd) {
        self.open += 1;
        self.strangers.insert(number, (Instant::now(), end.clone()));
    }

    /// Returns whether it was the last one.
    pub(super) fn close(&mut self, stranger: u64, key: &str, number: u64) -> bool {
        self.strangers.remove(&stranger);
        self.leave_idle(key, number);
        self.open -= 1;
        self.open == 0
    }

    /// Whether there may be one more connection, for which this may close one. The group that has
    /// the most idle connections gives up the oldest: a key, or all those that have had no request
    /// yet. So neither many connections of one key nor many without a key take the places of
    /// another key.
    pub(super) fn make_room(&mut self, most: usize) -> bool {
        if self.open < most {
            return true;
        }
        let key = self.keys.values_mut().max_by_key(|key| key.idle.len());
        let key = key.filter(|key| key.idle.len() > self.strangers.len());
        if let Some((_, idle)) = key.and_then(|key| key.idle.pop_first()) {
            idle.end();
            return true;
        }
        let Some(oldest) = self.strangers.first_entry() else { return false };
        let (opened, _) = oldest.get();
        if opened.elapsed() < PROTECTED {
            return false;
        }
        let (_, stranger) = oldest.remove();
        stranger.end();
        true
    }

    /// Notes that a request of this key is in progress, unless the key has as many as it leaves
    /// free. Returns whether it may.
    pub(super) fn begin(&mut self, key: &str, most: usize) -> bool {
        let own = self.keys.get(key).map_or(0, |key| key.requests);
        // Guard: however many keys use all that they may, some connections stay free.
        if !key.is_empty() && own >= most.saturating_sub(self.requests) {
            return false;
        }
        self.requests += 1;
        self.keys.entry(key.to_owned()).or_default().requests += 1;
        true
    }

    /// Notes that a connection is in use.
    pub(super) fn take(&mut self, stranger: u64, key: &str, number: u64) {
        self.strangers.remove(&stranger);
        self.leave_idle(key, number);
    }

    /// Notes that a request of this key has ended; `idle` if no other is in progress on its
    /// connection.
    pub(super) fn end(&mut self, key: &str, idle: Option<(u64, &ConnectionEnd)>) {
        self.requests -= 1;
        let of_key = self.keys.entry(key.to_owned()).or_default();
        of_key.requests -= 1;
        if let Some((number, end)) = idle {
            of_key.idle.insert(number, end.clone());
        }
        self.forget_unused(key);
    }

    #[cfg(test)]
    pub(super) fn is_unused(&self) -> bool {
        self.requests == 0 && self.keys.values().all(|key| key.requests == 0)
    }

    fn leave_idle(&mut self, key: &str, number: u64) {
        if let Some(key) = self.keys.get_mut(key) {
            key.idle.remove(&number);
        }
        self.forget_unused(key);
    }

    fn forget_unused(&mut self, key: &str) {
        if self.keys.get(key).is_some_and(|key| key.requests == 0 && key.idle.is_empty()) {
            self.keys.remove(key);
        }
    }
}
