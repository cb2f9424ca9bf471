//! How long to wait before the next attempt: the only file that computes a delay.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::job::JobId;
use crate::limits::NACK_DELAY;

/// When a failed job runs again.
#[derive(Clone)]
#[non_exhaustive]
pub enum RetryPolicy {
    /// `base x 2^(attempt - 1)`, at most `cap`, then moved by up to `jitter` (0.0..=1.0) of
    /// itself in either direction, so that jobs that failed together do not return together.
    Exponential {
        /// The delay after the first attempt.
        base: Duration,
        /// The longest delay before jitter.
        cap: Duration,
        /// Share of the delay that is random.
        jitter: f64,
    },
    /// The same delay each time.
    Fixed(Duration),
    /// A delay per attempt; the last one repeats. An empty list means no delay.
    List(Arc<[Duration]>),
    /// The application's own function of the attempt (1 for the first).
    Custom(Arc<dyn Fn(u32) -> Duration + Send + Sync>),
}

impl RetryPolicy {
    /// 1 s doubling to 1 h, with 10 % jitter.
    pub const DEFAULT: Self = Self::Exponential {
        base: Duration::from_secs(1),
        cap: Duration::from_secs(3600),
        jitter: 0.1,
    };

    /// Delays from a list.
    pub fn list(delays: impl Into<Arc<[Duration]>>) -> Self {
        Self::List(delays.into())
    }

    /// The application's own function of the attempt (1 for the first).
    pub fn custom(delay: impl Fn(u32) -> Duration + Send + Sync + 'static) -> Self {
        Self::Custom(Arc::new(delay))
    }

    /// The delay after this attempt (1 for the first); `chance` in 0.0..1.0 is the caller's
    /// random number, so that the function is pure. Clamped to 0..=30 days (contract R4.7).
    pub fn delay(&self, attempt: u32, chance: f64) -> Duration {
        let delay = match self {
            Self::Exponential { base, cap, jitter } => {
                let doubled = doubling(*base, *cap, attempt.saturating_sub(1));
                let factor = 1.0 + jitter.clamp(0.0, 1.0) * (2.0 * chance - 1.0);
                Duration::try_from_secs_f64(doubled.as_secs_f64() * factor).unwrap_or(doubled)
            }
            Self::Fixed(delay) => *delay,
            Self::List(delays) => {
                let at = (attempt.saturating_sub(1) as usize).min(delays.len().saturating_sub(1));
                delays.get(at).copied().unwrap_or_default()
            }
            Self::Custom(delay) => delay(attempt),
        };
        clamp_nack_delay(delay)
    }
}

/// As text, for policies that are stored.
impl RetryPolicy {
    /// The longest text, which is a list of some 30 delays: each delivery of an event has a copy,
    /// and a text of a stranger takes many times its size in memory while it is read.
    pub(crate) const TEXT_BYTES: usize = 256;

    /// The policy in words that [`read`](Self::read) knows; none for the application's own
    /// function.
    pub fn written(&self) -> Option<String> {
        let millis = |delay: &Duration| delay.as_millis().to_string();
        Some(match self {
            Self::Exponential { base, cap, jitter } => {
                format!("exponential {} {} {jitter}", millis(base), millis(cap))
            }
            Self::Fixed(delay) => format!("fixed {}", millis(delay)),
            Self::List(delays) => {
                format!("list {}", delays.iter().map(millis).collect::<Vec<_>>().join(" "))
            }
            Self::Custom(_) => return None,
        })
    }

    /// The policy that was written so; none if the text is none, or is longer than 256 bytes.
    pub fn read(text: &str) -> Option<Self> {
        if text.len() > Self::TEXT_BYTES {
            return None;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let (name, rest) = words.split_first()?;
        let millis = |word: &str| word.parse().ok().map(Duration::from_millis);
        match (*name, rest) {
            ("exponential", [base, cap, jitter]) => {
                let (base, cap) = (millis(base)?, millis(cap)?);
                let jitter: f64 = jitter.parse().ok()?;
                // This also excludes NaN.
                (0.0..=1.0).contains(&jitter).then_some(Self::Exponential { base, cap, jitter })
            }
            ("fixed", [delay]) => Some(Self::Fixed(millis(delay)?)),
            ("list", delays) => {
                let delays = delays.iter().map(|delay| millis(delay));
                Some(Self::List(delays.collect::<Option<Vec<_>>>()?.into()))
            }
            _ => None,
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Debug for RetryPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exponential { base, cap, jitter } => {
                write!(f, "Exponential({base:?} doubling to {cap:?}, jitter {jitter})")
            }
            Self::Fixed(delay) => write!(f, "Fixed({delay:?})"),
            Self::List(delays) => write!(f, "List({delays:?})"),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// How long a job waits whose kind this worker has no handler for: 1 s doubling to 60 s by its
/// releases (contract R13.4).
pub fn no_handler_delay(releases: u32) -> Duration {
    doubling(Duration::from_secs(1), Duration::from_secs(60), releases)
}

/// How long a job waits whose payload could not be read this many times (1 for the first): as one
/// without a handler, and 1 h from the tenth on (contract R13.8).
pub fn undecodable_delay(times: u32) -> Duration {
    match times {
        0..10 => no_handler_delay(times.saturating_sub(1)),
        _ => Duration::from_secs(3600),
    }
}

/// The wait before a store call that failed is made again: 10 ms doubling to 1 s, of which
/// `chance` in 0.0..1.0 picks a random share.
pub fn reconnect_delay(failures: u32, chance: f64) -> Duration {
    doubling(Duration::from_millis(10), Duration::from_secs(1), failures)
        // Spread out, so that processes that lost the store together do not return together.
        .mul_f64(0.5 + chance / 2.0)
}

/// The wait before a lock that another process holds is tried again: 0.2 ms doubling to 5 ms, of
/// which `chance` in 0.0..1.0 picks a random share, so that waiting processes do not collide again.
pub fn lock_delay(tries: u32, chance: f64) -> Duration {
    doubling(Duration::from_micros(200), Duration::from_millis(5), tries)
        .mul_f64(0.5 + chance / 2.0)
}

/// A random number in 0.0..1.0, for the delays above and below.
pub fn chance() -> f64 {
    fastrand::f64()
}

/// How long an enqueuer waits before it tries a full queue again (contract R2.8).
pub fn queue_full_retry_after() -> Duration {
    Duration::from_secs(1)
}

/// How long a process leaves out a schedule that it could not serve, after it left it out for so
/// long before. At most 8 s, so that an occurrence is tried again while it is on time (contract
/// R15.4, R15.7).
pub fn schedule_retry_after(before: Option<Duration>) -> Duration {
    before.map_or(Duration::from_secs(1), |before| (before * 2).min(Duration::from_secs(8)))
}

/// A poll interval moved by up to 10 %, so that workers do not poll in step.
pub fn jittered(interval: Duration, chance: f64) -> Duration {
    // Bounded, because `mul_f64` panics if the product is too long for a `Duration`.
    interval.min(NACK_DELAY).mul_f64(0.9 + 0.2 * chance)
}

/// How far a schedule's jitter moves a job, at most `jitter`: by the id of the occurrence's job, so
/// that every process finds the same.
pub fn schedule_jitter(jitter: Duration, id: JobId) -> Duration {
    // From the id, so that every process computes the same delay for an occurrence.
    let seed = id.as_bytes()[8..14].iter().fold(0_u64, |seed, byte| seed << 8 | u64::from(*byte));
    jitter.mul_f64((seed & 0xffff) as f64 / 65_536.0)
}

/// The delay a nack may ask for: 0..=30 days (contract R4.7).
pub fn clamp_nack_delay(delay: Duration) -> Duration {
    delay.min(NACK_DELAY)
}

fn doubling(base: Duration, cap: Duration, times: u32) -> Duration {
    // After 31 doublings every cap has been reached.
    base.saturating_mul(1_u32.checked_shl(times).unwrap_or(u32::MAX)).min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn exponential_doubles_to_its_cap() {
        let policy = RetryPolicy::Exponential { base: SECOND, cap: 60 * SECOND, jitter: 0.0 };
        let delays: Vec<_> = (1..=8).map(|attempt| policy.delay(attempt, 0.7).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(policy.delay(u32::MAX, 0.5), 60 * SECOND);
    }

    /// R13.6: however long an outage lasts, a call is repeated within a second of its end.
    #[test]
    fn r13_6_a_store_is_called_again_within_a_second() {
        let millis = |failures, chance| reconnect_delay(failures, chance).as_millis();
        let longest: Vec<_> = (0..9).map(|failures| millis(failures, 1.0)).collect();
        assert_eq!(longest, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        assert_eq!([millis(0, 0.0), millis(7, 0.0)], [5, 500], "half of it is by chance");
        assert_eq!(millis(u32::MAX, 1.0), 1000);
    }

    #[test]
    fn jitter_stays_inside_its_share() {
        let policy = RetryPolicy::DEFAULT;
        assert_eq!(policy.delay(1, 0.0), Duration::from_millis(900));
        assert_eq!(policy.delay(1, 0.5), SECOND);
        assert!(policy.delay(1, 0.999) <= Duration::from_millis(1100));
    }

    #[test]
    fn a_list_repeats_its_last_delay_and_everything_is_clamped_to_30_days() {
        let policy = RetryPolicy::list([SECOND, 5 * SECOND]);
        assert_eq!([1, 2, 9].map(|attempt| policy.delay(attempt, 0.0).as_secs()), [1, 5, 5]);
        assert_eq!(RetryPolicy::list([]).delay(1, 0.0), Duration::ZERO);
        assert_eq!(RetryPolicy::custom(|_| Duration::MAX).delay(1, 0.0), NACK_DELAY);
    }

    #[test]
    fn a_policy_is_read_as_it_was_written() {
        for policy in [
            RetryPolicy::DEFAULT,
            RetryPolicy::Fixed(SECOND),
            RetryPolicy::list([SECOND, 5 * SECOND]),
            RetryPolicy::list([]),
        ] {
            let again = RetryPolicy::read(&policy.written().unwrap()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{policy:?}"));
        }
        assert!(RetryPolicy::custom(|_| SECOND).written().is_none());
        for text in ["", "fixed", "fixed x", "fixed 1 2", "fixed -1", "soon", "list 1 x"] {
            assert!(RetryPolicy::read(text).is_none(), "{text}");
        }
        let most = |delays: usize| "list".to_owned() + &" 1".repeat(delays);
        assert!(RetryPolicy::read(&most(126)).is_some(), "of 256 bytes");
        assert!(RetryPolicy::read(&most(127)).is_none(), "of 258 bytes");
        for jitter in ["NaN", "inf", "-inf", "-1", "-0.1", "1.1", "3", "1e308", "x", ""] {
            let text = format!("exponential 1000 5000 {jitter}");
            assert!(RetryPolicy::read(&text).is_none(), "{text}");
        }
    }

    #[test]
    fn r13_4_a_kind_without_handler_waits_1_s_doubling_to_60_s() {
        let waits: Vec<_> = (0..8).map(|n| no_handler_delay(n).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn r13_8_a_payload_that_is_not_read_waits_1_s_doubling_to_60_s_and_1_h_from_the_tenth_on() {
        let waits: Vec<_> = (1..=11).map(|times| undecodable_delay(times).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60, 3600, 3600]);
        assert_eq!(undecodable_delay(u32::MAX).as_secs(), 3600);
    }
}
