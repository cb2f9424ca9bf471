//! What one reserve may still do.

use super::{Record, Transition};
use crate::backend::{AnswerBytes, Reserve};
use crate::limits::{DEAD_LETTERS_PER_RESERVE, reclaims_per_reserve};

/// What one reserve may still do, in all its queues together (contract R5.6, R5.7, R8.9).
// Exhaustive: a store keeps all of it between two calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many expired leases it may look at.
    pub reclaims: usize,
    /// How many jobs it may dead-letter.
    pub dead_letters: usize,
    /// The bytes of its leases.
    pub answer: AnswerBytes,
}

impl Budget {
    /// The budget of a reserve.
    pub fn of(request: &Reserve) -> Self {
        let reclaims = reclaims_per_reserve(request.limit);
        Self { reclaims, dead_letters: DEAD_LETTERS_PER_RESERVE, answer: request.answer }
    }

    /// Counts an expired lease; what becomes of its job, or none if that has to wait for the next
    /// reserve.
    pub fn reclaim(&mut self, record: &Record) -> Option<Transition> {
        let transition = if record.corrupt { Transition::Quarantine } else { record.on_expiry() };
        let dies = matches!(transition, Transition::Quarantine | Transition::ExpireDead);
        self.expire(dies).then_some(transition)
    }

    /// Counts an expired lease, whose job may die of it; false if that has to wait for the next
    /// reserve.
    pub fn expire(&mut self, dies: bool) -> bool {
        let left = self.reclaims.checked_sub(1);
        self.reclaims = left.unwrap_or_default();
        left.is_some() && (!dies || self.dead_letter())
    }

    /// Counts a job that is dead-lettered; false if that has to wait for the next reserve.
    pub fn dead_letter(&mut self) -> bool {
        let left = self.dead_letters.checked_sub(1);
        self.dead_letters = left.unwrap_or_default();
        left.is_some()
    }

    /// Whether to look again at once after a reserve of at most `limit` jobs that granted this
    /// number of leases: the batch was full in number or bytes, or the call only dead-lettered.
    pub fn more(&self, limit: usize, leases: usize) -> bool {
        let dead_lettered = self.dead_letters < DEAD_LETTERS_PER_RESERVE;
        let full = limit > 0 && (leases == limit || self.answer.is_full());
        full || self.dead_letters == 0 || (dead_lettered && leases == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::LeaseTtl;
    use crate::limits::ANSWER_BYTES;
    use crate::names::{QueueName, WorkerId};

    fn budget_of(limit: usize) -> Budget {
        let (queue, worker) = (QueueName::new("q"), WorkerId::new("w"));
        let (queue, worker) = (queue.expect("a name"), worker.expect("a name"));
        Budget::of(&Reserve::new(queue, limit, LeaseTtl::default(), worker).expect("a nonce"))
    }

    #[test]
    fn r5_6_what_a_reserve_takes_back_is_bounded_and_so_are_the_jobs_that_die_of_it() {
        let mut budget = Budget { reclaims: 3, dead_letters: 1, ..budget_of(1) };
        assert!(budget.expire(true));
        assert!(!budget.expire(true), "the dead letters are used up");
        assert!(budget.expire(false));
        assert!(!budget.expire(false), "the reclaims are used up");
    }

    #[test]
    fn r5_7_a_reserve_is_repeated_at_once_if_it_was_full_or_only_dead_lettered() {
        let fresh = budget_of(2);
        let (mut one_dead, none_left) = (fresh, Budget { dead_letters: 0, ..fresh });
        assert!(one_dead.dead_letter());
        assert!(fresh.more(2, 2) && !fresh.more(2, 1) && !fresh.more(2, 0));
        assert!(one_dead.more(2, 0) && !one_dead.more(2, 1));
        assert!(none_left.more(2, 1));
        assert!(!fresh.more(0, 0), "a call that only settles is never full");
    }

    #[test]
    fn r8_9_a_reserve_whose_bytes_are_full_is_repeated_at_once() {
        let mut budget = budget_of(10);
        assert!(budget.answer.admit(ANSWER_BYTES) && !budget.more(10, 1));
        assert!(!budget.answer.admit(1) && budget.more(10, 1));
    }
}
