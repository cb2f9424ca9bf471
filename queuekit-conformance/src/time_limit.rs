//! Time limits of calls, as the contract has them (R10.2): they distinguish a slow call from a
//! machine on which nothing ran. No limit is ever widened: a call that the machine has spoiled is
//! made once more, and a line on stderr says so.

use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::skip::tell;

/// If this process stood still for longer than this in all, a call's time proves nothing.
const STARVED: Duration = Duration::from_millis(500);
/// How long the watchdog sleeps, over and over.
const NAP: Duration = Duration::from_millis(10);
/// After this long an answer never comes.
const HANGS: Duration = Duration::from_secs(20);

/// Makes a call that must be answered within a limit. If it is not, and the machine stood still
/// meanwhile, the call is made once more.
///
/// # Panics
/// If it is late.
pub async fn within<T, F: Future<Output = T>>(
    what: &str,
    limit: Duration,
    call: impl Fn() -> F,
) -> T {
    within_by(stood_still, what, limit, call).await
}

async fn within_by<T, F: Future<Output = T>>(
    stood_still: fn() -> Duration,
    what: &str,
    limit: Duration,
    call: impl Fn() -> F,
) -> T {
    for _ in 0..2 {
        let watch = Stopwatch::by(stood_still);
        let answer = timeout(limit + HANGS, call()).await;
        let answer = answer.unwrap_or_else(|_| panic!("{what}: no answer at all"));
        if watch.shows(what, limit) {
            return answer;
        }
    }
    panic!("{what}: the machine stood still twice: let it do less");
}

/// Waits for a future that must end within a limit. It cannot be made again, so it gets the limit
/// once more if the machine stood still.
///
/// # Panics
/// If it is late.
pub async fn answered<T>(what: &str, limit: Duration, call: impl Future<Output = T>) -> T {
    answered_by(stood_still, what, limit, call).await
}

async fn answered_by<T>(
    stood_still: fn() -> Duration,
    what: &str,
    limit: Duration,
    call: impl Future<Output = T>,
) -> T {
    let mut call = pin!(call);
    for _ in 0..2 {
        let watch = Stopwatch::by(stood_still);
        match timeout(limit, &mut call).await {
            Ok(answer) => return answer,
            Err(_) => drop(watch.shows(what, limit)),
        }
    }
    panic!("{what}: the machine stood still twice: let it do less");
}

/// Does something that measures its own time, which must be within a limit. If it is not, and the
/// machine stood still meanwhile, it is done once more.
///
/// # Panics
/// If it is late.
pub fn measured(what: &str, limit: Duration, measure: impl Fn() -> Duration) {
    let is_shown = || {
        let watch = Stopwatch::start();
        watch.shows_time(what, measure(), limit)
    };
    assert!(is_shown() || is_shown(), "{what}: the machine stood still twice: let it do less");
}

/// Measures a call, and how long the machine stood still meanwhile.
#[derive(Debug)]
pub struct Stopwatch {
    begun: Instant,
    stood_still: fn() -> Duration,
    still_before: Duration,
}

impl Stopwatch {
    /// From now on.
    #[must_use]
    pub fn start() -> Self {
        Self::by(stood_still)
    }

    fn by(stood_still: fn() -> Duration) -> Self {
        Self { begun: Instant::now(), stood_still, still_before: stood_still() }
    }

    /// Whether no more than the limit has passed. It is false only if the machine stood still, and
    /// a line on stderr says so.
    ///
    /// # Panics
    /// If it is more, and the machine did not.
    #[must_use]
    pub fn shows(&self, what: &str, limit: Duration) -> bool {
        self.shows_time(what, self.begun.elapsed(), limit)
    }

    /// The same of a time that something else has measured meanwhile.
    ///
    /// # Panics
    /// As [`Stopwatch::shows`].
    #[must_use]
    pub fn shows_time(&self, what: &str, took: Duration, limit: Duration) -> bool {
        static SPOILED: AtomicUsize = AtomicUsize::new(0);
        if took < limit {
            return true;
        }
        let still = (self.stood_still)().saturating_sub(self.still_before);
        assert!(still > STARVED, "{what} took {took:?}, not {limit:?} at most (still: {still:?})");
        let count = SPOILED.fetch_add(1, Ordering::Relaxed) + 1;
        tell(&format!(
            "STOOD STILL {still:?} of {took:?}: {what} is measured anew ({count} so far)"
        ));
        false
    }
}

/// How long this process has stood still in all since the first call of this function: the sum by
/// which a sleeping thread woke up too late.
fn stood_still() -> Duration {
    static MICROS: AtomicU64 = AtomicU64::new(0);
    static WATCHDOG: OnceLock<()> = OnceLock::new();
    WATCHDOG.get_or_init(|| {
        thread::spawn(|| {
            loop {
                let begun = Instant::now();
                thread::sleep(NAP);
                let micros = u64::try_from(late(begun.elapsed()).as_micros()).unwrap_or(u64::MAX);
                MICROS.fetch_add(micros, Ordering::Relaxed);
            }
        });
    });
    Duration::from_micros(MICROS.load(Ordering::Relaxed))
}

/// How much too late a nap ended; every one ends a little late.
fn late(nap: Duration) -> Duration {
    let late = nap.saturating_sub(NAP);
    if late > NAP { late } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn what_is_answered_in_time_is_asked_once() {
        let asked = AtomicUsize::new(0);
        let call = || async { asked.fetch_add(1, Ordering::Relaxed) };
        assert_eq!(within("a call", Duration::from_secs(60), call).await, 0);
    }

    #[tokio::test]
    #[should_panic(expected = "took")]
    async fn what_is_late_on_a_machine_that_goes_on_fails() {
        within("a call", LIMIT, || tokio::time::sleep(LIMIT * 2)).await;
    }

    #[tokio::test]
    #[should_panic(expected = "took")]
    async fn what_is_not_answered_in_time_is_not_waited_for() {
        answered("a call", LIMIT, std::future::pending::<()>()).await;
    }

    /// A machine that stands still for a second between any two looks.
    fn stands_still() -> Duration {
        static LOOKS: AtomicU64 = AtomicU64::new(0);
        Duration::from_secs(LOOKS.fetch_add(1, Ordering::Relaxed))
    }

    #[tokio::test]
    async fn what_a_machine_that_stood_still_has_spoiled_is_made_once_more() {
        // The second call has to be in time on any machine.
        let limit = LIMIT * 10;
        let asked = AtomicUsize::new(0);
        let call = || async {
            let is_first = asked.fetch_add(1, Ordering::Relaxed) == 0;
            tokio::time::sleep(if is_first { limit } else { Duration::ZERO }).await;
        };
        within_by(stands_still, "a call", limit, call).await;
        assert_eq!(asked.into_inner(), 2);
        let late = tokio::time::sleep(LIMIT + LIMIT / 2);
        answered_by(stands_still, "an answer", LIMIT, late).await;
    }

    #[tokio::test]
    #[should_panic(expected = "stood still twice")]
    async fn what_is_spoiled_twice_fails() {
        within_by(stands_still, "a call", LIMIT, || tokio::time::sleep(LIMIT * 2)).await;
    }

    #[test]
    #[should_panic(expected = "took 51ms, not 50ms")]
    fn a_time_that_was_measured_otherwise_has_the_same_limit() {
        measured("a call", LIMIT, || LIMIT - Duration::from_millis(1));
        measured("a call", LIMIT, || LIMIT + Duration::from_millis(1));
    }

    #[test]
    fn a_nap_that_ends_late_is_told() {
        assert_eq!(late(NAP * 2), Duration::ZERO, "naps end a little late");
        assert_eq!(late(NAP + STARVED), STARVED);
    }

    /// Stopped, a process stands still.
    #[cfg(unix)]
    #[test]
    fn a_process_that_is_stopped_stands_still() {
        use std::process::Command;

        use rustix::process::{Signal, getpid, kill_process};

        if !crate::alone(crate::this_test!()) {
            return;
        }
        let goes_on = format!("sleep 0.1; kill -CONT {}", getpid().as_raw_nonzero());
        let stops = || {
            let before = stood_still();
            // The watchdog has to be asleep.
            thread::sleep(NAP * 2);
            let mut shell = Command::new("sh").args(["-c", &goes_on]).spawn().unwrap();
            kill_process(getpid(), Signal::STOP).unwrap();
            shell.wait().unwrap();
            thread::sleep(NAP * 2);
            stood_still() > before + NAP * 5
        };
        assert!((0..20).any(|_| stops()), "no check noticed that time stood still");
    }
}
