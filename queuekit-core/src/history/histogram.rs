//! Durations by powers of two.

use std::time::Duration;

/// How many buckets a histogram has.
pub const BUCKETS: usize = 24;

/// How many durations fell into each bucket: below 1 ms, below 2 ms, below 4 ms, and so on; the
/// last has all from 2^22 ms (70 minutes) on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram(pub(super) [u64; BUCKETS]);

impl Histogram {
    /// A histogram of these numbers.
    pub const fn of(buckets: [u64; BUCKETS]) -> Self {
        Self(buckets)
    }

    /// The bucket of a duration.
    pub fn bucket(duration: Duration) -> usize {
        let bits = u128::BITS - duration.as_millis().leading_zeros();
        usize::try_from(bits).unwrap_or(BUCKETS).min(BUCKETS - 1)
    }

    /// What is below the upper end of a bucket; none for the last one, which has no end.
    pub fn upper(bucket: usize) -> Option<Duration> {
        (bucket < BUCKETS - 1).then(|| Duration::from_millis(1 << bucket))
    }

    /// One more duration.
    pub fn add(&mut self, duration: Duration) {
        self.0[Self::bucket(duration)] += 1;
    }

    /// Adds another one.
    pub fn merge(&mut self, other: &Self) {
        for (mine, others) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(others);
        }
    }

    /// The numbers of its buckets.
    pub fn buckets(&self) -> &[u64; BUCKETS] {
        &self.0
    }

    /// How many durations it has.
    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The time that this share of the durations are below, rounded up to the end of a bucket; the
    /// last bucket counts as its beginning. None if there are no durations.
    ///
    /// ```
    /// use std::time::Duration;
    /// use queuekit_core::history::Histogram;
    ///
    /// let mut runs = Histogram::default();
    /// for millis in [1, 5, 6, 300] {
    ///     runs.add(Duration::from_millis(millis));
    /// }
    /// assert_eq!(runs.quantile(0.5), Some(Duration::from_millis(8)));
    /// assert_eq!(runs.quantile(0.95), Some(Duration::from_millis(512)));
    /// ```
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let count = self.count();
        let wanted = (share.clamp(0.0, 1.0) * count as f64).ceil().max(1.0);
        let mut seen = 0_u64;
        let bucket = self.0.iter().position(|bucket| {
            seen = seen.saturating_add(*bucket);
            seen as f64 >= wanted
        });
        let last = Duration::from_millis(1 << (BUCKETS - 2));
        bucket.filter(|_| count > 0).map(|bucket| Self::upper(bucket).unwrap_or(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stored numbers keep their meaning: the bounds change with no version.
    #[test]
    fn r8_5_buckets_are_powers_of_two_from_one_millisecond() {
        for (millis, bucket) in
            [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (4_194_303, 22), (4_194_304, 23)]
        {
            assert_eq!(Histogram::bucket(Duration::from_millis(millis)), bucket, "{millis} ms");
        }
        assert_eq!(Histogram::bucket(Duration::from_micros(999)), 0);
        assert_eq!(Histogram::bucket(Duration::MAX), 23);
        assert_eq!(Histogram::upper(0), Some(Duration::from_millis(1)));
        assert_eq!(Histogram::upper(22), Some(Duration::from_millis(4_194_304)));
        assert_eq!(Histogram::upper(23), None);
    }

    #[test]
    fn r8_5_a_quantile_is_the_end_of_its_bucket() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        histogram.add(Duration::from_secs(1 << 30));
        let last = Some(Duration::from_millis(4_194_304));
        assert_eq!(histogram.quantile(0.0), last);
        for _ in 0..99 {
            histogram.add(Duration::ZERO);
        }
        assert_eq!(histogram.quantile(0.99), Some(Duration::from_millis(1)));
        assert_eq!(histogram.quantile(1.0), last);
        let mut sum = Histogram::of([u64::MAX; BUCKETS]);
        sum.merge(&histogram);
        assert_eq!(sum.count(), u64::MAX);
    }
}
