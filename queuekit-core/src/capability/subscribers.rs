//! The wake-ups of one process, by what each is about: a queue, or a job.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

use super::wakeup::Wakeup;

/// Wake-ups of one process, by key. A wake-up ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Subscribers<K>(Mutex<ByKey<K>>);

type ByKey<K> = HashMap<K, Vec<Weak<Notify>>>;

impl<K> Default for Subscribers<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> Subscribers<K> {
    /// A wake-up that rings for any of these keys.
    pub(crate) fn add(&self, keys: &[K]) -> Wakeup {
        let wakeup = Wakeup::default();
        let mut by_key = self.by_key();
        // Callers can invent keys without end, and stop waiting for them. The entries are checked
        // only when the map would grow, so that a call pays for few of them on average.
        if by_key.len() + keys.len() > by_key.capacity() {
            by_key.retain(|_, subscribers| is_awaited(subscribers));
        }
        for key in keys {
            let subscribers = by_key.entry(key.clone()).or_default();
            subscribers.retain(|subscriber| subscriber.strong_count() > 0);
            subscribers.push(Arc::downgrade(&wakeup.0));
        }
        wakeup
    }

    pub(crate) fn ring(&self, key: &K) {
        if let Some(subscribers) = self.by_key().get(key) {
            subscribers.iter().filter_map(Weak::upgrade).for_each(|notify| notify.notify_one());
        }
    }

    pub(crate) fn has(&self, key: &K) -> bool {
        self.by_key().get(key).is_some_and(|subscribers| is_awaited(subscribers))
    }

    pub(crate) fn ring_all(&self) {
        let by_key = self.by_key();
        let subscribers = by_key.values().flatten();
        subscribers.filter_map(Weak::upgrade).for_each(|notify| notify.notify_one());
    }

    fn by_key(&self) -> MutexGuard<'_, ByKey<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_awaited(subscribers: &[Weak<Notify>]) -> bool {
    subscribers.iter().any(|subscriber| subscriber.strong_count() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: keys that nobody waits for are forgotten before the map grows.
    #[test]
    fn s6_queues_that_nobody_waits_for_any_more_take_no_memory() {
        let subscribers = Subscribers::<String>::default();
        let awaited = "awaited".to_owned();
        let wakeup = subscribers.add(std::slice::from_ref(&awaited));
        for number in 0..10_000 {
            let _ = subscribers.add(&[format!("invented-{number}")]);
        }
        let kept = subscribers.by_key().len();
        assert!(kept < 100, "{kept} names are kept");
        assert!(subscribers.has(&awaited));
        drop(wakeup);
        assert!(!subscribers.has(&awaited));
    }
}
