//! The rates of schedules by key. Schedules enqueue without requests, but within the `per_second`
//! of their key. Each process counts the schedules put through it since its start.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;
use queuekit::schedules::ScheduleName;
use queuekit::store::limits::SCHEDULES;

use super::auth::Caller;
use super::problem::Problem;
use super::quota::RECOUNT;

/// Tolerance for sums of fractions.
const ALMOST: f64 = 1e-6;

/// Which key has put each schedule last; keys without `per_second` are left out.
#[derive(Debug, Default)]
pub(crate) struct ScheduleRates {
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    schedules: HashMap<ScheduleName, Rate>,
    recounted: HashMap<String, Instant>,
}

#[derive(Clone, Debug)]
struct Rate {
    key: String,
    per_second: f64,
    /// Identifies a PUT; shared while it is in progress.
    put: Arc<()>,
}

/// A schedule that is being put. Its rate counts already; if dropped without `keep`, it no longer
/// does.
#[derive(Debug)]
pub(crate) struct RateCharge {
    rates: Arc<ScheduleRates>,
    name: ScheduleName,
    rate: Option<Rate>,
    before: Option<Rate>,
}

impl ScheduleRates {
    /// Counts this schedule, instead of the earlier one of this name.
    ///
    /// # Errors
    /// 409 if the key's schedules would enqueue more than its `per_second`.
    pub(crate) fn charge(
        self: &Arc<Self>,
        caller: &Caller,
        name: &ScheduleName,
        per_second: f64,
    ) -> Result<RateCharge, Problem> {
        let mut ledger = self.ledger();
        let key = caller.id().to_owned();
        let rate = match caller.per_second() {
            Some(most) => {
                let others = ledger.schedules.iter();
                let others = others.filter(|(other, rate)| *other != name && rate.key == key);
                let (count, sum) = others
                    .fold((0, 0.0), |(count, sum), (_, rate)| (count + 1, sum + rate.per_second));
                if sum + per_second > f64::from(most.get()) + ALMOST || count >= SCHEDULES {
                    return Err(exceeded(&key, most.get(), sum, per_second));
                }
                Some(Rate { key, per_second, put: Arc::new(()) })
            }
            None => None,
        };
        let before = ledger.put(name, rate.clone());
        Ok(RateCharge { rates: Arc::clone(self), name: name.clone(), rate, before })
    }

    /// Notes that the schedule was removed.
    pub(crate) fn removed(&self, name: &ScheduleName) {
        self.ledger().put(name, None);
    }

    /// As [`Quota::recount`](super::quota::Quota::recount).
    pub(crate) fn recount(&self, key: &str, now: Instant) -> Option<Vec<ScheduleName>> {
        let mut ledger = self.ledger();
        if ledger.recounted.get(key).is_some_and(|at| now < *at + RECOUNT) {
            return None;
        }
        ledger.recounted.insert(key.to_owned(), now);
        // A schedule that is being put is not found yet, but may exist a moment later.
        let is_settled = |rate: &Rate| Arc::strong_count(&rate.put) == 1;
        let own = ledger.schedules.iter().filter(|(_, rate)| rate.key == key && is_settled(rate));
        Some(own.map(|(name, _)| name.clone()).collect())
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// The entry before this PUT.
    fn put(&mut self, name: &ScheduleName, rate: Option<Rate>) -> Option<Rate> {
        match rate {
            Some(rate) => self.schedules.insert(name.clone(), rate),
            None => self.schedules.remove(name),
        }
    }
}

impl RateCharge {
    /// The schedule is stored.
    pub(crate) fn keep(mut self) {
        self.before = self.rate.clone();
    }
}

impl Drop for RateCharge {
    fn drop(&mut self) {
        let mut ledger = self.rates.ledger();
        let own = self.rate.as_ref().map(|rate| &rate.put);
        let others = ledger.schedules.get(&self.name).map(|rate| &rate.put);
        // A later PUT has replaced this one.
        if others.is_none_or(|other| own.is_some_and(|own| Arc::ptr_eq(own, other))) {
            ledger.put(&self.name, self.before.take());
        }
    }
}

fn exceeded(key: &str, most: u32, others: f64, per_second: f64) -> Problem {
    let detail = format!(
        "the schedules of the key {key} enqueue up to {others:.3} jobs a second, and this one \
         {per_second:.3}, but its per_second is {most}; remove some, or let them run less often"
    );
    Problem::new(StatusCode::CONFLICT, "quota_exceeded", detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::auth::tests::caller_of;

    fn name(text: &str) -> ScheduleName {
        ScheduleName::new(text).unwrap()
    }

    fn put(rates: &Arc<ScheduleRates>, caller: &Caller, schedule: &str, per_second: f64) -> bool {
        let charge = rates.charge(caller, &name(schedule), per_second);
        let is_let_in = charge.is_ok();
        charge.into_iter().for_each(RateCharge::keep);
        is_let_in
    }

    #[test]
    fn s6_the_schedules_of_a_key_enqueue_no_more_than_it_may() {
        let (rates, one, other) =
            (Arc::<ScheduleRates>::default(), caller_of("a", 1), caller_of("b", 1));
        for schedule in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"] {
            assert!(put(&rates, &one, schedule, 0.1), "{schedule}");
        }
        assert!(!put(&rates, &one, "11", 0.01) && put(&rates, &other, "12", 1.0));
        assert!(put(&rates, &one, "1", 0.05), "it was 0.1 before");
        assert!(put(&rates, &one, "11", 0.05) && !put(&rates, &one, "1", 0.1));
        rates.removed(&name("2"));
        assert!(put(&rates, &one, "2", 0.1));
        assert!(!put(&rates, &other, "1", 0.05), "it would be the other key's now");
        rates.removed(&name("12"));
        assert!(put(&rates, &other, "1", 0.05) && put(&rates, &one, "13", 0.05));
    }

    #[test]
    fn s6_what_is_not_stored_counts_as_before() {
        let (rates, caller) = (Arc::<ScheduleRates>::default(), caller_of("a", 1));
        assert!(put(&rates, &caller, "1", 0.5));
        drop(rates.charge(&caller, &name("1"), 0.9).unwrap());
        drop(rates.charge(&caller, &name("2"), 0.5).unwrap());
        assert!(put(&rates, &caller, "2", 0.5));
        let early = rates.charge(&caller, &name("3"), 0.0).unwrap();
        assert!(put(&rates, &caller, "2", 0.1) && put(&rates, &caller, "3", 0.4));
        drop(early);
        assert!(!put(&rates, &caller, "4", 0.1), "who was first takes nothing off the second");
    }

    #[test]
    fn s6_what_is_being_put_is_not_looked_for_and_is_counted() {
        let (rates, caller) = (Arc::<ScheduleRates>::default(), caller_of("a", 2));
        assert!(put(&rates, &caller, "1", 1.0) && put(&rates, &caller, "2", 0.5));
        let charges = [("2", 0.25), ("3", 0.5)];
        let charges = charges.map(|(schedule, rate)| rates.charge(&caller, &name(schedule), rate));
        let begun = Instant::now();
        assert_eq!(rates.recount("a", begun), Some(vec![name("1")]));
        assert_eq!(rates.recount("a", begun), None);
        charges.into_iter().for_each(|charge| charge.unwrap().keep());
        assert!(!put(&rates, &caller, "4", 0.5) && put(&rates, &caller, "4", 0.25));
        assert_eq!(rates.recount("a", begun + RECOUNT).map(|names| names.len()), Some(4));
    }
}
