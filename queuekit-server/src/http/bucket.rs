//! A bound on how much somebody does in a second.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A token bucket: it fills at a rate, and holds what comes in a second.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: f64,
    level: Mutex<Option<(f64, Instant)>>,
}

impl Bucket {
    pub(super) fn new(per_second: NonZeroU32) -> Self {
        Self { per_second: f64::from(per_second.get()), level: Mutex::new(None) }
    }

    /// Takes so many. What costs more than it ever holds is let through when it is full, and paid
    /// for afterwards: else it would never be.
    pub(super) fn take(&self, cost: usize, now: Instant) -> Result<(), Duration> {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.left(*level, now);
        let needed = (cost as f64).min(self.per_second);
        if left < needed {
            *level = Some((left, now));
            return Err(Duration::from_secs_f64((needed - left) / self.per_second));
        }
        *level = Some((left - cost as f64, now));
        Ok(())
    }

    /// Takes so much for what was done already: it is paid for afterwards.
    pub(super) fn owe(&self, cost: usize, now: Instant) {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.left(*level, now);
        *level = Some((left - cost as f64, now));
    }

    fn left(&self, level: Option<(f64, Instant)>, now: Instant) -> f64 {
        let (left, at) = level.unwrap_or((self.per_second, now));
        let came = now.saturating_duration_since(at).as_secs_f64() * self.per_second;
        (left + came).min(self.per_second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_a_bucket_gives_what_has_come_and_large_costs_are_paid_for_afterwards() {
        let bucket = Bucket::new(NonZeroU32::new(10).unwrap());
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        assert!((0..10).all(|_| bucket.take(1, at(0)).is_ok()));
        let wait = bucket.take(1, at(0)).unwrap_err();
        assert!((90..=110).contains(&wait.as_millis()), "{wait:?}");
        assert!(bucket.take(1, at(101)).is_ok() && bucket.take(1, at(101)).is_err());
        assert!(bucket.take(30, at(5000)).is_ok(), "more than it holds, when it is full");
        assert!(bucket.take(1, at(6900)).is_err() && bucket.take(1, at(7200)).is_ok());
    }

    #[test]
    fn s6_what_was_done_already_is_paid_for_afterwards() {
        let bucket = Bucket::new(NonZeroU32::new(10).unwrap());
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        bucket.owe(1000, at(0));
        assert_eq!(bucket.take(1, at(0)).unwrap_err().as_millis(), 99_100);
        assert!(bucket.take(1, at(99_000)).is_err() && bucket.take(1, at(99_200)).is_ok());
    }
}
