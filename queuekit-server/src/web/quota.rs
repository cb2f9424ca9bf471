//! Quotas: how many queues, schedules and subscriptions one key may create. Each process counts
//! from its start, and subtracts what is removed.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use super::problem::Problem;
use super::turns::Turns;

/// Most names that are remembered; no store has more queues or schedules.
const KNOWN: usize = 10_000;
/// Least time between two checks of whether what a key has created still exists.
pub(crate) const RECOUNT: Duration = Duration::from_secs(60);

/// What keys have created of one sort, by name.
#[derive(Debug)]
pub(crate) struct Quota<N> {
    what: &'static str,
    setting: &'static str,
    most: AtomicUsize,
    ledger: Mutex<Ledger<N>>,
    /// Each change that may create or remove a name takes its turn. Otherwise a removal that is
    /// noted late would take away what was created since.
    pub(crate) turns: Turns,
}

#[derive(Debug)]
struct Ledger<N> {
    /// By id of the key; only the configuration adds ids.
    keys: HashMap<String, Created<N>>,
    /// Names that exist, created by any key.
    known: HashSet<N>,
}

#[derive(Debug)]
struct Created<N> {
    names: HashMap<N, Entry>,
    recounted: Option<Instant>,
}

#[derive(Debug, Default)]
struct Entry {
    /// Requests that are creating it now.
    charges: usize,
    is_there: bool,
}

/// What a key is about to create. It counts already; if it is not created, it counts no more.
#[derive(Debug)]
pub(crate) struct Charge<N: Clone + Eq + Hash> {
    quota: Arc<Quota<N>>,
    key: String,
    names: Vec<N>,
}

impl<N: Clone + Eq + Hash> Quota<N> {
    /// Allows nothing until it has a size.
    pub(crate) fn none(what: &'static str, setting: &'static str) -> Arc<Self> {
        let ledger = Mutex::new(Ledger { keys: HashMap::new(), known: HashSet::new() });
        let (most, turns) = (AtomicUsize::new(0), Turns::default());
        Arc::new(Self { what, setting, most, ledger, turns })
    }

    pub(crate) fn resize(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// Those of these names, once each, that are not known to exist.
    pub(crate) fn unknown<'a>(&self, names: impl Iterator<Item = &'a N>) -> Vec<N>
    where
        N: 'a,
    {
        let ledger = self.ledger();
        let mut seen = HashSet::new();
        names.filter(|name| !ledger.known.contains(*name) && seen.insert(*name)).cloned().collect()
    }

    /// Notes that these exist.
    pub(crate) fn learn(&self, names: impl IntoIterator<Item = N>) {
        self.ledger().learn(names);
    }

    /// Counts these, which do not exist yet: all of them, or none.
    ///
    /// # Errors
    /// 409 if the key would have more than it may.
    pub(crate) fn charge(self: &Arc<Self>, key: &str, names: &[N]) -> Result<Charge<N>, Problem> {
        let most = self.most.load(Ordering::Relaxed);
        let mut ledger = self.ledger();
        let created = ledger.keys.entry(key.to_owned()).or_insert_with(Created::nothing);
        let new = names.iter().filter(|name| !created.names.contains_key(*name)).count();
        if new > 0 && created.names.len() + new > most {
            return Err(self.exceeded(key, most));
        }
        for name in names {
            created.names.entry(name.clone()).or_default().charges += 1;
        }
        Ok(Charge { quota: Arc::clone(self), key: key.to_owned(), names: names.to_vec() })
    }

    /// Notes that this was removed: it no longer counts.
    pub(crate) fn removed(&self, name: &N) {
        let mut ledger = self.ledger();
        ledger.known.remove(name);
        for created in ledger.keys.values_mut() {
            created.update(name, |entry| entry.is_there = false);
        }
    }

    /// What this key has created, or is about to create.
    pub(crate) fn of_key(&self, key: &str) -> HashSet<N> {
        let ledger = self.ledger();
        let created = ledger.keys.get(key);
        created.into_iter().flat_map(|created| created.names.keys().cloned()).collect()
    }

    /// Names to check because the key has reached its quota, and some may have been removed
    /// elsewhere; `None` if they were checked just now.
    pub(crate) fn recount(&self, key: &str, now: Instant) -> Option<Vec<N>> {
        let mut ledger = self.ledger();
        let created = ledger.keys.get_mut(key)?;
        if created.recounted.is_some_and(|at| now < at + RECOUNT) {
            return None;
        }
        created.recounted = Some(now);
        // A name that is being created is not found yet, but may exist a moment later.
        let settled = created.names.iter().filter(|(_, entry)| entry.charges == 0);
        Some(settled.map(|(name, _)| name.clone()).collect())
    }

    fn exceeded(&self, key: &str, most: usize) -> Problem {
        let Self { what, setting, .. } = self;
        let detail = format!(
            "the key {key} may create at most {most} {what}: remove unused ones, or raise \
             {setting} in [limits] of queuekit.toml"
        );
        Problem::new(StatusCode::CONFLICT, "quota_exceeded", detail)
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger<N>> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<N: Clone + Eq + Hash> Ledger<N> {
    fn learn(&mut self, names: impl IntoIterator<Item = N>) {
        for name in names {
            if self.known.len() >= KNOWN {
                self.known.clear();
            }
            self.known.insert(name);
        }
    }
}

impl<N: Eq + Hash> Created<N> {
    fn nothing() -> Self {
        Self { names: HashMap::new(), recounted: None }
    }

    /// Changes an entry; one that neither exists nor is being created is no longer counted.
    fn update(&mut self, name: &N, change: impl FnOnce(&mut Entry)) {
        let Some(entry) = self.names.get_mut(name) else { return };
        change(entry);
        if entry.charges == 0 && !entry.is_there {
            self.names.remove(name);
        }
    }
}

impl<N: Clone + Eq + Hash> Charge<N> {
    /// The names to be created.
    pub(crate) fn names(&self) -> &[N] {
        &self.names
    }

    /// All of them may exist.
    pub(crate) fn keep(self) {
        let there = self.names.iter().cloned().collect();
        self.settle(&there);
    }

    /// These exist now; the others do not, and are not counted.
    pub(crate) fn settle(self, there: &HashSet<N>) {
        let mut ledger = self.quota.ledger();
        ledger.learn(self.names.iter().filter(|name| there.contains(*name)).cloned());
        if let Some(created) = ledger.keys.get_mut(&self.key) {
            for name in self.names.iter().filter(|name| there.contains(*name)) {
                created.update(name, |entry| entry.is_there = true);
            }
        }
    }
}

impl<N: Clone + Eq + Hash> Drop for Charge<N> {
    fn drop(&mut self) {
        let mut ledger = self.quota.ledger();
        let Some(created) = ledger.keys.get_mut(&self.key) else { return };
        for name in &self.names {
            created.update(name, |entry| entry.charges -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(most: usize) -> Arc<Quota<&'static str>> {
        let quota = Quota::none("queues", "max_queues_per_key");
        quota.resize(most);
        quota
    }

    fn create(quota: &Arc<Quota<&'static str>>, key: &str, names: &[&'static str]) -> bool {
        let charge = quota.charge(key, names);
        let is_let_in = charge.is_ok();
        charge.into_iter().for_each(|charge| charge.settle(&names.iter().copied().collect()));
        is_let_in
    }

    #[test]
    fn s6_a_key_creates_as_much_as_it_may_and_others_too() {
        let quota = quota(2);
        assert!(!create(&quota, "a", &["1", "2", "3"]), "all of them or none");
        assert!(create(&quota, "a", &["1"]) && create(&quota, "a", &["2", "1"]));
        let problem = quota.charge("a", &["3"]).unwrap_err();
        assert_eq!(problem.kind(), "quota_exceeded");
        assert!(create(&quota, "a", &["1"]), "it has this one");
        assert!(create(&quota, "b", &["3", "4"]));
        quota.removed(&"1");
        assert!(create(&quota, "a", &["5"]) && !create(&quota, "a", &["6"]));
        quota.resize(3);
        assert!(create(&quota, "a", &["6"]) && !create(&quota, "a", &["7"]), "counts stay");
    }

    #[test]
    fn s6_what_does_not_come_to_exist_is_not_counted_however_many_try_at_once() {
        let quota = quota(1);
        let [first, second] = ["a"; 2].map(|key| quota.charge(key, &["1"]).unwrap());
        drop(first);
        assert!(!create(&quota, "a", &["2"]), "somebody still creates it");
        second.settle(&HashSet::new());
        let [first, second] = ["a"; 2].map(|key| quota.charge(key, &["1"]).unwrap());
        second.settle(&["1"].into());
        drop(first);
        assert!(!create(&quota, "a", &["2"]), "who failed takes nothing off what is there");
        quota.removed(&"1");
        let charge = quota.charge("a", &["2"]).unwrap();
        quota.removed(&"2");
        assert!(!create(&quota, "a", &["3"]), "it is being created");
        drop(charge);
        assert!(create(&quota, "a", &["3"]));
    }

    #[test]
    fn s6_what_is_known_to_be_there_is_looked_for_no_more_until_it_is_removed() {
        let quota = quota(1);
        assert_eq!(quota.unknown(["1", "2", "1"].iter()), ["1", "2"]);
        quota.learn(["1"]);
        assert!(create(&quota, "a", &["2"]) && quota.unknown(["1", "2"].iter()).is_empty());
        quota.removed(&"1");
        assert_eq!(quota.unknown(["1", "2"].iter()), ["1"]);
    }

    #[test]
    fn s6_what_is_remembered_is_bounded() {
        let quota = Quota::none("queues", "max_queues_per_key");
        quota.learn(0..KNOWN * 2 + 1);
        assert!(quota.ledger().known.len() <= KNOWN);
    }

    #[test]
    fn s6_a_key_that_has_all_it_may_is_counted_again_once_a_minute() {
        let (quota, begun) = (quota(1), Instant::now());
        assert_eq!(quota.recount("a", begun), None, "it has created nothing");
        quota.resize(2);
        assert!(create(&quota, "a", &["1"]));
        let _charge = quota.charge("a", &["2"]).unwrap();
        assert_eq!(quota.recount("a", begun), Some(vec!["1"]), "not what is being created");
        assert_eq!(quota.recount("a", begun + RECOUNT - Duration::from_millis(1)), None);
        assert_eq!(quota.recount("a", begun + RECOUNT), Some(vec!["1"]));
    }
}
