//! Store time: the only file that reads the wall clock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// An instant of a store's clock, in whole milliseconds since the Unix epoch.
///
/// For display and filters only: whatever is acted on is a duration (contract R9.2).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// This many milliseconds after (or before) the Unix epoch.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// The time that passed since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// This instant moved back, at most to the beginning of time.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }
}

/// Rounds up to whole milliseconds, so that nothing runs early.
impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(millis(after)),
            Err(before) => Self(-millis(before.duration())),
        }
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        let distance = Duration::from_millis(time.0.unsigned_abs());
        if time.0 >= 0 { UNIX_EPOCH + distance } else { UNIX_EPOCH - distance }
    }
}

/// Where a store that has no clock of its own reads the time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// The machine's clock; within one handle it does not step back by less than a second (R9.1).
///
/// Larger steps are followed, because a person has set the clock.
#[derive(Debug, Default)]
pub struct SystemClock {
    latest_ms: AtomicI64,
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the file that reads the wall clock")]
    fn now(&self) -> Timestamp {
        let read = Timestamp::from(SystemTime::now()).as_millis();
        // Relaxed: the number guards no other memory. Two threads may read times that differ by a
        // moment, as without it.
        let latest = self.latest_ms.load(Ordering::Relaxed);
        if (latest - 999..latest).contains(&read) {
            return Timestamp(latest);
        }
        self.latest_ms.store(read, Ordering::Relaxed);
        Timestamp(read)
    }
}

/// A clock that moves only when told to: for tests of handlers and stores.
#[derive(Clone, Debug)]
pub struct ManualClock {
    now_ms: Arc<AtomicI64>,
}

impl ManualClock {
    /// A clock that stands at this instant.
    pub fn at(start: Timestamp) -> Self {
        Self { now_ms: Arc::new(AtomicI64::new(start.as_millis())) }
    }

    /// Moves the clock forward; every clone sees it.
    pub fn advance(&self, by: Duration) {
        self.now_ms.fetch_add(millis(by), Ordering::SeqCst);
    }

    /// Sets the clock, forward or back.
    pub fn set(&self, to: Timestamp) {
        self.now_ms.store(to.as_millis(), Ordering::SeqCst);
    }
}

/// Stands at 2026-01-01T00:00:00Z.
impl Default for ManualClock {
    fn default() -> Self {
        Self::at(Timestamp::from_millis(1_767_225_600_000))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now_ms.load(Ordering::SeqCst))
    }
}

/// The machine's clock moved by an offset that tests change: time passes by itself, and jumps when
/// told to.
#[derive(Clone, Debug, Default)]
pub struct OffsetClock {
    system: Arc<SystemClock>,
    offset_ms: Arc<AtomicI64>,
}

impl OffsetClock {
    /// Jumps forward; every clone sees it.
    pub fn advance(&self, by: Duration) {
        self.offset_ms.fetch_add(millis(by), Ordering::SeqCst);
    }

    /// Jumps back; every clone sees it.
    pub fn rewind(&self, by: Duration) {
        self.offset_ms.fetch_sub(millis(by), Ordering::SeqCst);
    }
}

impl Clock for OffsetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.system.now().0 + self.offset_ms.load(Ordering::SeqCst))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_clock_hides_small_steps_back_and_follows_large_ones() {
        let clock = SystemClock::default();
        let now = clock.now().as_millis();
        clock.latest_ms.store(now + 500, Ordering::Relaxed);
        assert_eq!(clock.now().as_millis(), now + 500);
        clock.latest_ms.store(now + 60_000, Ordering::Relaxed);
        assert!(clock.now().as_millis() < now + 60_000);
    }

    #[test]
    fn durations_round_up_so_that_nothing_runs_early() {
        let start = Timestamp::from_millis(10);
        assert_eq!((start + Duration::from_micros(1)).as_millis(), 11);
        assert_eq!((start + Duration::ZERO).as_millis(), 10);
    }
}
