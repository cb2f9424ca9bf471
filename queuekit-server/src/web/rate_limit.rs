//! A limit on how much a key does in a second.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A token bucket that holds one second's worth of tokens.
#[derive(Debug)]
pub(crate) struct RateLimit {
    per_second: f64,
    level: Mutex<Option<(f64, Instant)>>,
}

impl RateLimit {
    pub(crate) fn new(per_second: NonZeroU32) -> Self {
        Self { per_second: f64::from(per_second.get()), level: Mutex::new(None) }
    }

    /// Takes this many tokens. A cost beyond the size of the bucket is admitted when the bucket is
    /// full, and paid for afterwards: otherwise it would never be admitted.
    pub(crate) fn take(&self, cost: usize, now: Instant) -> Result<(), Duration> {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.left(*level, now);
        // A cost above the rate could never be saved up. A full level admits it, and later calls
        // wait until it is paid.
        let needed = (cost as f64).min(self.per_second);
        if left < needed {
            *level = Some((left, now));
            return Err(Duration::from_secs_f64((needed - left) / self.per_second));
        }
        *level = Some((left - cost as f64, now));
        Ok(())
    }

    /// Takes tokens for something that has happened already; the bucket may go below zero.
    pub(crate) fn owe(&self, cost: usize, now: Instant) {
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
    fn s6_a_rate_limit_gives_what_has_come_and_large_costs_are_paid_for_afterwards() {
        let rate_limit = RateLimit::new(NonZeroU32::new(10).unwrap());
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        assert!((0..10).all(|_| rate_limit.take(1, at(0)).is_ok()));
        let wait = rate_limit.take(1, at(0)).unwrap_err();
        assert!((90..=110).contains(&wait.as_millis()), "{wait:?}");
        assert!(rate_limit.take(1, at(101)).is_ok() && rate_limit.take(1, at(101)).is_err());
        assert!(rate_limit.take(30, at(5000)).is_ok(), "more than it holds, when it is full");
        assert!(rate_limit.take(1, at(6900)).is_err() && rate_limit.take(1, at(7200)).is_ok());
    }

    #[test]
    fn s6_what_was_done_already_is_paid_for_afterwards() {
        let rate_limit = RateLimit::new(NonZeroU32::new(10).unwrap());
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        rate_limit.owe(1000, at(0));
        assert_eq!(rate_limit.take(1, at(0)).unwrap_err().as_millis(), 99_100);
        assert!(rate_limit.take(1, at(99_000)).is_err() && rate_limit.take(1, at(99_200)).is_ok());
    }
}
