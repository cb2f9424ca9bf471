//! How much memory an answer takes, before the store is read for it. The store bounds the answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use queuekit::store::backend::AnswerBytes;
use queuekit::store::limits::ANSWER_BYTES;

use crate::web::memory_budget::RequestBudget;

/// The smallest budget for which the store is read.
const SMALL: usize = 64 * 1024;
/// The budget of an answer: for the items that are read, and for their JSON.
pub(super) const BUDGET_BYTES: usize = 2 * ANSWER_BYTES;

/// Memory for the answer of a reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnswerRoom(usize);

impl AnswerRoom {
    /// Room for the largest answer.
    pub(super) fn most() -> Self {
        Self(BUDGET_BYTES)
    }

    /// The memory to take.
    pub(super) fn bytes(self) -> usize {
        self.0
    }

    /// What the store may answer with this much memory: half of it, because the other half is for
    /// the JSON. Without room for the largest job, the store leases nothing larger than the room.
    pub(super) fn answer(self, budget: &RequestBudget) -> AnswerBytes {
        let answer = AnswerBytes::up_to(budget.bytes() / 2);
        if self == Self::most() { answer } else { answer.strictly() }
    }
}

/// The size of the largest job reserved lately: if all are small, calls need not wait for the
/// memory of large ones.
pub(super) struct RecentSizes(AtomicUsize);

impl RecentSizes {
    pub(super) fn unknown() -> Self {
        Self(AtomicUsize::new(ANSWER_BYTES))
    }

    /// Room for this many jobs, as the jobs before suggest.
    pub(super) fn room(&self, jobs: usize) -> AnswerRoom {
        let largest = self.0.load(Ordering::Relaxed);
        AnswerRoom((2 * jobs).saturating_mul(largest).clamp(SMALL, BUDGET_BYTES))
    }

    /// Notes the sizes of jobs that were read. Large ones are forgotten gradually.
    pub(super) fn saw(&self, sizes: impl IntoIterator<Item = usize>) {
        let Some(largest) = sizes.into_iter().max() else { return };
        let before = self.0.load(Ordering::Relaxed);
        // If two threads store at once, either value is recent enough.
        self.0.store(largest.max(before - before / 8), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_small_jobs_take_little_memory_until_a_large_one_is_seen() {
        let lately = RecentSizes::unknown();
        assert_eq!(lately.room(1), AnswerRoom::most());
        for _ in 0..80 {
            lately.saw([10, 1000]);
        }
        assert_eq!(lately.room(1).bytes(), SMALL);
        assert!(lately.room(1000).bytes() < BUDGET_BYTES / 4);
        lately.saw([]);
        assert_eq!(lately.room(1).bytes(), SMALL);
        lately.saw([10, ANSWER_BYTES / 4]);
        assert_eq!(lately.room(4), AnswerRoom::most());
    }
}
