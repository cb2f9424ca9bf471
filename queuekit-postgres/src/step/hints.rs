//! Where to look for work when vacuum cannot keep up.
//!
//! While a transaction is open for long, rows that were deleted stay at the head of the indexes,
//! and every reserve would walk over them. A handle then remembers how far it has come, and looks
//! from there; once a second it looks at everything (contract R5.9, R7.2).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use queuekit_core::Timestamp;

/// Dead rows below which walking over them costs nothing that could be told.
const DEAD_ROWS: i64 = 2000;

/// How long a job that appeared behind a hint may be passed over.
const TRUSTED: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Hints(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    on: bool,
    /// When everything was looked at last.
    began: Option<Instant>,
    places: HashMap<(i32, i16), (i64, i64)>,
    /// All leases that ran out before it were taken back.
    expired: Option<i64>,
    /// Of each queue, all entries of the agenda before it were looked at.
    visited: HashMap<i32, i64>,
}

/// The hints of one call, as the statement takes them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) queues: Vec<i32>,
    pub(crate) ranks: Vec<i16>,
    pub(crate) ats: Vec<i64>,
    pub(crate) seqs: Vec<i64>,
    pub(crate) expired: i64,
}

impl Hints {
    /// Where to look now.
    pub(crate) fn places(&self) -> Places {
        let state = self.fresh();
        let mut places = Places { expired: state.expired.unwrap_or(i64::MIN), ..Places::default() };
        for ((queue, rank), (at, seq)) in &state.places {
            places.queues.push(*queue);
            places.ranks.push(*rank);
            places.ats.push(*at);
            places.seqs.push(*seq);
        }
        places
    }

    /// After which time, in ms, leases may have run out that were not taken back.
    pub(crate) fn expired(&self) -> i64 {
        self.fresh().expired.unwrap_or(i64::MIN)
    }

    /// After which time, in ms, there may be entries on a queue's agenda.
    pub(crate) fn visited(&self, queue: i32) -> i64 {
        self.fresh().visited.get(&queue).copied().unwrap_or(i64::MIN)
    }

    /// All entries of a queue's agenda were looked at, up to a time in ms.
    pub(crate) fn visited_until(&self, queue: i32, at: i64) {
        let mut state = self.state();
        if state.on {
            // One that was written meanwhile by a clock read before is still to be found.
            state.visited.insert(queue, at - 1000);
        }
    }

    /// Without what is too old to be trusted.
    fn fresh(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        if !state.on || state.began.is_none_or(|began| began.elapsed() >= TRUSTED) {
            state.places.clear();
            state.visited.clear();
            state.expired = None;
            state.began = Some(Instant::now());
        }
        state
    }

    /// A call took these places, in this order, while so many dead rows were about.
    pub(crate) fn took(
        &self,
        dead_rows: i64,
        now: Timestamp,
        places: impl Iterator<Item = (i32, i16, i64, i64)>,
    ) {
        let mut state = self.state();
        state.on = dead_rows >= DEAD_ROWS;
        if state.on {
            for (queue, rank, at, seq) in places {
                state.places.insert((queue, rank), (at, seq));
            }
            // A lease that was granted meanwhile by a clock read before is still to be found.
            state.expired = Some(now.as_millis() - 1000);
        }
    }

    /// Jobs may have come back to places that were passed.
    pub(crate) fn forget(&self) {
        self.state().began = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_2_a_hint_is_used_only_among_dead_rows_and_not_after_jobs_came_back() {
        let hints = Hints::default();
        let now = Timestamp::from_millis(10_000);
        let took = |dead_rows| hints.took(dead_rows, now, [(1, 21, 5, 7)].into_iter());
        took(DEAD_ROWS - 1);
        assert!(hints.places().queues.is_empty());
        took(DEAD_ROWS);
        let places = hints.places();
        assert_eq!((places.ats, places.seqs, places.expired), (vec![5], vec![7], 9000));
        hints.forget();
        assert!(hints.places().queues.is_empty());
    }
}
