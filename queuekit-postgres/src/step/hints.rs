//! Where to look for work when vacuum cannot keep up.
//!
//! While a transaction is open for long, deleted rows stay at the head of the indexes, and every
//! reserve would walk over them. A handle then remembers the place up to which it has taken jobs,
//! and looks from there; once a second it looks at everything (contract R5.9, R7.2).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use queuekit_core::{QueueName, Timestamp};

/// Below this many dead rows, walking over them costs nothing measurable.
const DEAD_ROWS: i64 = 2000;

/// How long a job that appears before the place of a hint may be missed.
const TRUSTED: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Hints(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    on: bool,
    /// When a look last covered everything.
    began: Option<Instant>,
    places: HashMap<(i32, i16), (i64, i64)>,
    /// By queue: all leases that ran out before this time were taken back.
    expired: HashMap<QueueName, i64>,
    /// By queue: all dirty keys from before this time were looked at.
    visited: HashMap<i32, i64>,
}

/// The hints of one call, as the statement takes them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) queues: Vec<i32>,
    pub(crate) ranks: Vec<i16>,
    pub(crate) ats: Vec<i64>,
    pub(crate) seqs: Vec<i64>,
    /// One time for each requested queue.
    pub(crate) expired: Vec<i64>,
}

impl Hints {
    /// Where to look now.
    pub(crate) fn places<'a>(&self, names: impl Iterator<Item = &'a QueueName>) -> Places {
        let state = self.fresh();
        let mut places = Places { expired: state.expired(names), ..Places::default() };
        for ((queue, rank), (at, seq)) in &state.places {
            places.queues.push(*queue);
            places.ranks.push(*rank);
            places.ats.push(*at);
            places.seqs.push(*seq);
        }
        places
    }

    /// For each queue, the time in ms after which leases may have run out without being taken back.
    pub(crate) fn expired<'a>(&self, names: impl Iterator<Item = &'a QueueName>) -> Vec<i64> {
        self.fresh().expired(names)
    }

    /// Notes that a look at these queues found no lease that has run out.
    pub(crate) fn none_expired<'a>(
        &self,
        names: impl Iterator<Item = &'a QueueName>,
        as_of: Timestamp,
    ) {
        let mut state = self.state();
        if state.on {
            // A margin, so that a lease is still found if it was granted meanwhile by an earlier
            // reading of the clock.
            let before = as_of.as_millis() - 1000;
            state.expired.extend(names.map(|name| (name.clone(), before)));
        }
    }

    /// The time in ms after which there may be dirty keys in a queue.
    pub(crate) fn visited(&self, queue: i32) -> i64 {
        self.fresh().visited.get(&queue).copied().unwrap_or(i64::MIN)
    }

    /// Notes that all dirty keys of a queue were looked at, up to a time in ms.
    pub(crate) fn visited_until(&self, queue: i32, at: i64) {
        let mut state = self.state();
        if state.on {
            // A margin, so that an entry is still found if it was written meanwhile by an earlier
            // reading of the clock.
            state.visited.insert(queue, at - 1000);
        }
    }

    /// The hints, after dropping those that are too old to be trusted.
    fn fresh(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        if !state.on || state.began.is_none_or(|began| began.elapsed() >= TRUSTED) {
            state.places.clear();
            state.visited.clear();
            state.expired.clear();
            state.began = Some(Instant::now());
        }
        state
    }

    /// Notes that a call took the jobs at these places, in this order, and how many dead rows it
    /// saw.
    pub(crate) fn took(&self, dead_rows: i64, places: impl Iterator<Item = (i32, i16, i64, i64)>) {
        let mut state = self.state();
        state.on = dead_rows >= DEAD_ROWS;
        if state.on {
            for (queue, rank, at, seq) in places {
                state.places.insert((queue, rank), (at, seq));
            }
        }
    }

    /// Notes that a job was placed here, in a queue and rank, and none before it. This happens when
    /// a key's next job takes over the place of the one before it.
    pub(crate) fn came_back(&self, ranked: (i32, i16), (at, seq): (i64, i64)) {
        if let Some(place) = self.state().places.get_mut(&ranked) {
            *place = (*place).min((at, seq - 1));
        }
    }

    /// Forgets all hints: jobs may have come back to places that were passed.
    pub(crate) fn forget(&self) {
        self.state().began = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn expired<'a>(&self, names: impl Iterator<Item = &'a QueueName>) -> Vec<i64> {
        names.map(|name| self.expired.get(name).copied().unwrap_or(i64::MIN)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> [QueueName; 2] {
        ["a", "b"].map(|name| QueueName::new(name).unwrap())
    }

    fn places(hints: &Hints) -> (Vec<i64>, Vec<i64>) {
        let places = hints.places(names().iter());
        (places.ats, places.seqs)
    }

    #[test]
    fn r7_2_a_hint_is_used_only_among_dead_rows_and_not_after_jobs_came_back() {
        let hints = Hints::default();
        let took = |dead_rows| hints.took(dead_rows, [(1, 21, 5, 7)].into_iter());
        took(DEAD_ROWS - 1);
        assert_eq!(places(&hints), (vec![], vec![]));
        took(DEAD_ROWS);
        assert_eq!(places(&hints), (vec![5], vec![7]));
        hints.forget();
        assert_eq!(places(&hints), (vec![], vec![]));
    }

    #[test]
    fn r7_3_the_next_job_of_a_key_is_found_where_the_one_before_it_was() {
        let hints = Hints::default();
        assert_eq!(places(&hints), (vec![], vec![]));
        hints.took(DEAD_ROWS, [(1, 21, 5, 7)].into_iter());
        hints.came_back((1, 21), (6, 1));
        assert_eq!(places(&hints), (vec![5], vec![7]));
        hints.came_back((1, 21), (5, 7));
        assert_eq!(places(&hints), (vec![5], vec![6]));
        hints.came_back((1, 21), (3, 9));
        assert_eq!(places(&hints), (vec![3], vec![8]));
    }

    #[test]
    fn r5_6_a_look_at_one_queue_says_nothing_of_the_leases_of_another() {
        let hints = Hints::default();
        let [a, b] = names();
        assert_eq!(hints.expired([&a, &b].into_iter()), [i64::MIN; 2]);
        hints.took(DEAD_ROWS, [].into_iter());
        hints.none_expired([&a].into_iter(), Timestamp::from_millis(10_000));
        assert_eq!(hints.expired([&b, &a].into_iter()), [i64::MIN, 9000]);
    }
}
