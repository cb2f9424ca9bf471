//! How much memory an answer takes, before the store is read for it. The store bounds the answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use queuekit::store::backend::AnswerBytes;
use queuekit::store::limits::ANSWER_BYTES;

use crate::web::memory_budget::RequestBudget;

/// The smallest budget for which the store is read.
const SMALL: usize = 64 * 1024;
/// The budget of an answer: for the items that are read, and for their JSON.
pub(super) const BUDGET_BYTES: usize = 2 * ANSWER_BYTES;
/// What a job has beside its payload: a result, 20 errors, 100 lines of its log, and metadata.
pub(super) const BESIDE_PAYLOAD: usize = 512 * 1024;

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

/// The size of the largest job that each key has reserved lately: if all are small, its calls need
/// not wait for the memory of large ones. The large jobs of other keys make no difference.
#[derive(Default)]
pub(super) struct RecentSizes {
    /// By id of the key; only the configuration adds ids. Callers without a key are one.
    of_keys: Mutex<HashMap<String, usize>>,
}

impl RecentSizes {
    /// Room for this many jobs, as the jobs before suggest.
    pub(super) fn room(&self, key: Option<&str>, jobs: usize) -> AnswerRoom {
        let largest = self.of_keys().get(key.unwrap_or_default()).copied().unwrap_or(ANSWER_BYTES);
        AnswerRoom((2 * jobs).saturating_mul(largest).clamp(SMALL, BUDGET_BYTES))
    }

    /// Notes the sizes of jobs that were read. Large ones are forgotten gradually.
    pub(super) fn saw(&self, key: Option<&str>, sizes: impl IntoIterator<Item = usize>) {
        let Some(largest) = sizes.into_iter().max() else { return };
        let mut of_keys = self.of_keys();
        match of_keys.get_mut(key.unwrap_or_default()) {
            Some(size) => *size = largest.max(*size - *size / 8),
            None => {
                let first = largest.max(ANSWER_BYTES - ANSWER_BYTES / 8);
                of_keys.insert(key.unwrap_or_default().to_owned(), first);
            }
        }
    }

    fn of_keys(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.of_keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_small_jobs_take_little_memory_until_a_large_one_is_seen() {
        let lately = RecentSizes::default();
        assert_eq!(lately.room(Some("a"), 1), AnswerRoom::most());
        for _ in 0..80 {
            lately.saw(Some("a"), [10, 1000]);
        }
        assert_eq!(lately.room(Some("a"), 1).bytes(), SMALL);
        assert!(lately.room(Some("a"), 1000).bytes() < BUDGET_BYTES / 4);
        lately.saw(Some("a"), []);
        assert_eq!(lately.room(Some("a"), 1).bytes(), SMALL);
        lately.saw(Some("a"), [10, ANSWER_BYTES / 4]);
        assert_eq!(lately.room(Some("a"), 4), AnswerRoom::most());
    }

    /// Guard: each key has a size of its own.
    #[test]
    fn s6_the_large_jobs_of_a_key_make_no_room_of_others_larger() {
        let lately = RecentSizes::default();
        for _ in 0..80 {
            lately.saw(Some("small"), [1000]);
            lately.saw(Some("large"), [ANSWER_BYTES / 4]);
        }
        assert_eq!(lately.room(Some("small"), 1).bytes(), SMALL);
        assert_eq!(lately.room(Some("large"), 4), AnswerRoom::most());
        assert_eq!(lately.room(None, 1), AnswerRoom::most(), "nothing is known of them");
    }
}
