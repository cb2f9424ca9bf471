//! Dividing a reserve over queues by weight (contract R7.5).

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::names::QueueName;

/// Queues with weights 1..=100. All clones share their turns. Keep it between calls: a new one
/// begins anew.
///
/// The turns are smooth weighted round robin, the method nginx uses to pick upstreams: each turn
/// every queue gains its weight in credit, the richest is served and pays the sum of weights.
#[derive(Clone, Debug)]
pub struct WeightedQueues {
    names: Arc<[QueueName]>,
    weights: Arc<[u8]>,
    credits: Arc<Mutex<Vec<i64>>>,
}

impl WeightedQueues {
    /// Queues with their weights.
    ///
    /// # Errors
    /// `Invalid` if a weight is outside 1..=100, a queue is named twice, or there is none.
    pub fn new(queues: impl IntoIterator<Item = (QueueName, u8)>) -> Result<Self> {
        let (names, weights): (Vec<_>, Vec<_>) = queues.into_iter().unzip();
        if names.is_empty() {
            return Err(Error::invalid("queues", "at least one", "none"));
        }
        if let Some(weight) = weights.iter().find(|weight| !(1..=100).contains(*weight)) {
            return Err(Error::invalid("weight", "1..=100", weight));
        }
        let mut seen = BTreeSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
            return Err(Error::invalid("queues", "distinct names", format!("{name} twice")));
        }
        // A random start, so that requests that are never repeated do not all favour one queue.
        let credits = weights.iter().map(|weight| fastrand::i64(0..=i64::from(*weight))).collect();
        Ok(Self {
            names: names.into(),
            weights: weights.into(),
            credits: Arc::new(Mutex::new(credits)),
        })
    }

    /// The names, in the order given.
    pub fn names(&self) -> &[QueueName] {
        &self.names
    }

    /// How many of these turns each queue has, in the order of their first turns.
    fn turns(&self, turns: usize, backlogged: &[bool]) -> VecDeque<(usize, usize)> {
        let mut shares = vec![0; self.names.len()];
        let mut order = Vec::new();
        let mut credits = self.credits();
        let total: i64 = (0..self.names.len())
            .filter(|at| backlogged[*at])
            .map(|at| i64::from(self.weights[at]))
            .sum();
        // Smooth weighted round-robin: in each turn every queue earns its weight, and the queue
        // that is served pays the sum of all weights.
        for _ in 0..turns {
            let mut richest = None;
            for at in (0..self.names.len()).filter(|at| backlogged[*at]) {
                credits[at] += i64::from(self.weights[at]);
                if richest.is_none_or(|best: usize| credits[at] > credits[best]) {
                    richest = Some(at);
                }
            }
            let Some(served) = richest else { break };
            credits[served] -= total;
            if shares[served] == 0 {
                order.push(served);
            }
            shares[served] += 1;
        }
        order.into_iter().map(|at| (at, shares[at])).collect()
    }

    /// Counts a round as if only the jobs that were taken had had a turn, because the answer was
    /// full: of each queue its share, and how many jobs it gave; none if it had no more.
    pub(super) fn give_back(&self, round: &[(usize, usize, Option<usize>)]) {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let weight = |at: usize| i64::from(self.weights[at]);
        let given: i64 = round.iter().map(|(_, share, _)| count(*share)).sum();
        let total: i64 = round.iter().map(|(at, ..)| weight(*at)).sum();
        let served = || {
            let served = round.iter().filter_map(|(at, share, jobs)| Some((*at, *share, (*jobs)?)));
            served.map(|(at, share, jobs)| (at, count(share), count(jobs)))
        };
        let taken: i64 = served().map(|(.., jobs)| jobs).sum();
        let of_served: i64 = served().map(|(at, ..)| weight(at)).sum();
        let mut credits = self.credits();
        for (at, share, jobs) in served() {
            credits[at] += (taken - given) * weight(at) - of_served * jobs + total * share;
        }
    }

    fn credits(&self) -> MutexGuard<'_, Vec<i64>> {
        self.credits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Divides one limit by weight.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The shares of this round that are still to be given.
    round: VecDeque<(usize, usize)>,
    /// Of each queue of this round its share, and how many jobs it has given.
    given: Vec<(usize, usize, Option<usize>)>,
    exhausted: Vec<usize>,
}

impl Shares {
    /// Whose turn it is, and its share of what is left.
    pub(super) fn next(&mut self, queues: &WeightedQueues, left: usize) -> Option<(usize, usize)> {
        if self.round.is_empty() {
            let is_backlogged = |at: &usize| !self.exhausted.contains(at);
            let backlogged: Vec<bool> =
                (0..queues.names.len()).map(|at| is_backlogged(&at)).collect();
            self.round = queues.turns(left, &backlogged);
            self.given = self.round.iter().map(|(at, share)| (*at, *share, Some(0))).collect();
        }
        self.round.pop_front()
    }

    /// Notes what a queue gave in its turn.
    pub(super) fn took(&mut self, at: usize, jobs: usize) {
        if let Some((.., taken)) = self.given.iter_mut().find(|(of, ..)| *of == at) {
            *taken = Some(jobs);
        }
    }

    /// The answer is full: what the queues did not give of this round, they give first in the next
    /// call.
    pub(super) fn give_back(&self, queues: &WeightedQueues) {
        let taken = |(at, share, taken): &(usize, usize, Option<usize>)| {
            (*at, *share, taken.filter(|_| !self.exhausted.contains(at)))
        };
        queues.give_back(&self.given.iter().map(taken).collect::<Vec<_>>());
    }

    /// The queue had fewer jobs than its share; it is not owed the rest later.
    pub(super) fn exhausted(&mut self, queues: &WeightedQueues, at: usize) {
        self.exhausted.push(at);
        // A queue without jobs does not save up turns.
        queues.credits()[at] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Queues, Taken};
    use super::*;

    fn queues(weights: &[(&str, u8)]) -> WeightedQueues {
        let named = weights.iter().map(|(name, weight)| (QueueName::new(name).unwrap(), *weight));
        WeightedQueues::new(named).unwrap()
    }

    #[test]
    fn r7_5_a_backlogged_queue_gets_its_share_one_claim_at_a_time() {
        let queues = queues(&[("a", 70), ("b", 29), ("c", 1)]);
        let mut got = [0; 3];
        for _ in 0..100 {
            let count = |name: &QueueName, most: usize| {
                got[usize::from(name.as_str().as_bytes()[0] - b'a')] += most;
                Ok(most.into())
            };
            Queues::from(queues.clone()).divide(1, count).unwrap();
        }
        assert!(got[0] >= 69 && got[1] >= 28 && got.iter().sum::<usize>() == 100, "{got:?}");
    }

    #[test]
    fn r7_5_queues_get_their_shares_though_each_answer_is_full_with_few_jobs() {
        for (fits, limit) in [(1, 100), (8, 100), (8, 1000), (3, 7)] {
            let queues = queues(&[("a", 3), ("b", 1), ("idle", 5)]);
            let (mut got, mut in_window) = ([0; 2], [0; 2]);
            while got.iter().sum::<usize>() < 400 {
                let mut room = fits;
                let take = |name: &QueueName, most: usize| {
                    let Some(at) = ["a", "b"].iter().position(|of| *of == name.as_str()) else {
                        return Ok(0.into());
                    };
                    let jobs = most.min(room);
                    room -= jobs;
                    got[at] += jobs;
                    Ok(Taken { jobs, is_full: jobs < most })
                };
                Queues::from(queues.clone()).divide(limit, take).unwrap();
                let since = got[0] + got[1] - in_window[0] - in_window[1];
                if since >= 100 {
                    let share = got[1] - in_window[1];
                    assert!(share >= 12, "{share} of {since}, {fits} of {limit}");
                    in_window = got;
                }
            }
            let a = got[0] * 100 / (got[0] + got[1]);
            assert!((70..=80).contains(&a), "{got:?}, {fits} of {limit}");
        }
    }

    #[test]
    fn what_an_empty_queue_leaves_goes_to_the_others() {
        let queues = queues(&[("a", 99), ("b", 1)]);
        let mut b = 0;
        let take = |name: &QueueName, most: usize| {
            let got = if name.as_str() == "b" { most } else { 0 };
            b += got;
            Ok(got.into())
        };
        Queues::from(queues).divide(50, take).unwrap();
        assert_eq!(b, 50);
    }

    #[test]
    fn r7_5_a_queue_has_one_weight() {
        let twice = ["a", "b", "a"].map(|name| (QueueName::new(name).unwrap(), 1));
        let error = WeightedQueues::new(twice).unwrap_err();
        assert_eq!(error.to_string(), "queues must be distinct names; got a twice");
    }

    #[test]
    fn r12_weights_are_1_to_100() {
        let one = |weight| WeightedQueues::new([(QueueName::default(), weight)]);
        assert!(one(0).is_err() && one(1).is_ok() && one(100).is_ok() && one(101).is_err());
    }
}
