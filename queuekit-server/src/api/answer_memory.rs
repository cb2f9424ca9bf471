//! How much memory an answer takes, before the store is read for it. The store bounds the answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use queuekit::store::limits::ANSWER_BYTES;

/// The smallest budget for which the store is read.
const SMALL: usize = 64 * 1024;
/// The budget of an answer: for the items that are read, and for their JSON.
pub(super) const BUDGET_BYTES: usize = 2 * ANSWER_BYTES;

/// The size of the largest job reserved lately: if all are small, calls need not wait for the
/// memory of large ones.
pub(super) struct RecentSizes(AtomicUsize);

impl RecentSizes {
    pub(super) fn unknown() -> Self {
        Self(AtomicUsize::new(ANSWER_BYTES))
    }

    /// Memory for this many jobs, as the jobs before suggest.
    pub(super) fn budget(&self, jobs: usize) -> usize {
        let largest = self.0.load(Ordering::Relaxed);
        (2 * jobs).saturating_mul(largest).clamp(SMALL, BUDGET_BYTES)
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
        assert_eq!(lately.budget(1), BUDGET_BYTES);
        for _ in 0..80 {
            lately.saw([10, 1000]);
        }
        assert_eq!(lately.budget(1), SMALL);
        assert!(lately.budget(1000) < BUDGET_BYTES / 4);
        lately.saw([]);
        assert_eq!(lately.budget(1), SMALL);
        lately.saw([10, ANSWER_BYTES / 4]);
        assert_eq!(lately.budget(4), BUDGET_BYTES);
    }
}
