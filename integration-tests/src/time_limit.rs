//! Time limits of calls, as the contract has them (R10.2): a call that is slow is told apart from a
//! machine on which nothing ran. No limit is ever widened: what the machine has spoiled is made
//! once more, and that is told.

use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::skip::tell;

/// If this process stood still for longer than this in all, it says nothing of a call's time.
const STARVED: Duration = Duration::from_millis(500);
/// How long the watchdog sleeps, over and over.
const NAP: Duration = Duration::from_millis(10);
/// After which an answer never comes.
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
    for _ in 0..2 {
        let watch = Stopwatch::start();
        let answer = timeout(limit + HANGS, call()).await;
        let answer = answer.unwrap_or_else(|_| panic!("{what}: no answer at all"));
        if watch.shows(what, limit) {
            return answer;
        }
    }
    panic!("{what}: the machine stood still twice: let it do less");
}

/// Waits for what must be answered within a limit. What cannot be asked for again has its time
/// once more if the machine stood still.
///
/// # Panics
/// If it is late.
pub async fn answered<T>(what: &str, limit: Duration, call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    for _ in 0..2 {
        let watch = Stopwatch::start();
        match timeout(limit, &mut call).await {
            Ok(answer) => return answer,
            Err(_) => drop(watch.shows(what, limit)),
        }
    }
    panic!("{what}: the machine stood still twice: let it do less");
}

/// Measures a call, and how long the machine stood still meanwhile.
#[derive(Debug)]
pub struct Stopwatch {
    begun: Instant,
    stood_still: Duration,
}

impl Stopwatch {
    /// From now on.
    #[must_use]
    pub fn start() -> Self {
        Self { begun: Instant::now(), stood_still: stood_still() }
    }

    /// Whether no more than the limit has passed; if not, only because the machine stood still,
    /// which is told.
    ///
    /// # Panics
    /// If it is more, and the machine did not.
    #[must_use]
    pub fn shows(&self, what: &str, limit: Duration) -> bool {
        static SPOILED: AtomicUsize = AtomicUsize::new(0);
        let took = self.begun.elapsed();
        if took < limit {
            return true;
        }
        let still = stood_still().saturating_sub(self.stood_still);
        assert!(still > STARVED, "{what} took {took:?}, not {limit:?} at most (still: {still:?})");
        let count = SPOILED.fetch_add(1, Ordering::Relaxed) + 1;
        tell(&format!(
            "STOOD STILL {still:?} of {took:?}: {what} is measured anew ({count} so far)"
        ));
        false
    }
}

/// How long this process has stood still in all since it was first asked: a thread that only
/// sleeps was woken so much too late.
fn stood_still() -> Duration {
    static MICROS: AtomicU64 = AtomicU64::new(0);
    static WATCHDOG: OnceLock<()> = OnceLock::new();
    WATCHDOG.get_or_init(|| {
        thread::spawn(|| {
            loop {
                let begun = Instant::now();
                thread::sleep(NAP);
                let late = begun.elapsed().saturating_sub(NAP);
                if late > NAP {
                    let micros = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
                    MICROS.fetch_add(micros, Ordering::Relaxed);
                }
            }
        });
    });
    Duration::from_micros(MICROS.load(Ordering::Relaxed))
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
}
