//! Bounds of time, to the millisecond if the store's clock stands still.

use std::time::Duration;

use super::SLACK;
use crate::World;

/// The resolution of every store's clock.
pub const MILLISECOND: Duration = Duration::from_millis(1);

/// When a case checks an effect of time.
// Exhaustive: a bound has these three sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// 1 ms before its bound; [`SLACK`] before it if the clock runs by itself.
    Before,
    /// At its bound.
    At,
    /// As long after its bound as the first is before it.
    After,
}

impl Moment {
    /// Each check uses its own job, because the check may change it.
    pub const ALL: [Self; 3] = [Self::Before, Self::At, Self::After];

    /// Whether the bound has come.
    pub fn has_come(self) -> bool {
        self != Self::Before
    }
}

/// In milliseconds, rounded up as stores do.
pub fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_micros().div_ceil(1000)).expect("a time")
}

impl<'w> dyn World + 'w {
    /// The time that may pass while a case runs, which it must allow for: zero if the clock stands.
    pub fn slack(&self) -> Duration {
        if self.expect().clock_stands { Duration::ZERO } else { SLACK }
    }

    /// Advances the clock to this moment of a bound; `bound` is its distance from now.
    pub async fn advance_to(&self, moment: Moment, bound: Duration) {
        let step = self.slack().max(MILLISECOND);
        let by = match moment {
            Moment::Before => bound.checked_sub(step).expect("a bound beyond the slack"),
            Moment::At => bound,
            Moment::After => bound + step,
        };
        self.advance(by).await;
    }

    /// Asserts that this much time is left, less the time that passed while the case ran.
    #[track_caller]
    pub fn assert_left(&self, actual: Option<Duration>, wanted: Duration) {
        let actual = actual.expect("a duration");
        assert!(
            actual <= wanted && actual + self.slack() >= wanted,
            "{actual:?} are left, and not {wanted:?}"
        );
    }

    /// Asserts that this much time has passed, plus the time that passed while the case ran.
    #[track_caller]
    pub fn assert_passed(&self, actual: Duration, wanted: Duration) {
        assert!(
            actual >= wanted && actual <= wanted + self.slack(),
            "{actual:?} have passed, and not {wanted:?}"
        );
    }
}
