//! Extends every lease at a third of its life, and at once when the store notifies of a cancel.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use metrics::counter;
use queuekit_core::capability::{ExtendOutcome, Wakeup};
use queuekit_core::metrics::LEASES_EXTENDED;
use queuekit_core::retry::{chance, reconnect_delay};
use queuekit_core::{LeaseToken, Result};
use tokio::time::{MissedTickBehavior, interval};

use super::look_every;
use crate::run::run::{Flag, Run};
use crate::state::run_events::lose;
use crate::state::shared::Shared;

/// Most leases extended in one call.
const MOST: usize = 1000;

struct Answer {
    runs: Vec<Arc<Run>>,
    asked_at: Instant,
    outcomes: Result<Vec<ExtendOutcome>>,
}

/// The least time between two looks for cancels, however many are requested.
const CANCELS_EVERY: Duration = Duration::from_millis(20);
/// No look for cancels begins beside this many calls: the store is slow, or hangs.
const CALLS: usize = 4;

/// Calls are made side by side: one that hangs delays no other lease.
pub(super) async fn extend(shared: &Arc<Shared>, cancels: Option<&Wakeup>) {
    // After a panic here, calls that were under way never answer.
    shared.registry.lock().iter_mut().for_each(|entry| entry.extending = false);
    let mut ticks = interval(look_every(shared.settings.ttl.get()));
    // After a pause of the machine one look is enough: a burst of looks would find nothing more.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut calls = FuturesUnordered::new();
    let mut failures = 0_u32;
    let mut cancels_at = tokio::time::Instant::now();
    loop {
        tokio::select! {
            Some(answer) = calls.next(), if !calls.is_empty() => {
                failures = apply(shared, answer, failures);
            }
            _ = ticks.tick() => {
                for runs in due(shared, Due::ByTime).chunks(MOST) {
                    calls.push(call(shared, runs.to_vec()));
                }
            }
            () = rung(cancels, cancels_at), if calls.len() < CALLS => {
                cancels_at = tokio::time::Instant::now() + CANCELS_EVERY;
                for runs in due(shared, Due::All).chunks(MOST) {
                    calls.push(call(shared, runs.to_vec()));
                }
            }
        }
    }
}

/// When the store notifies of a cancel, but not before this time.
async fn rung(cancels: Option<&Wakeup>, at: tokio::time::Instant) {
    let Some(cancels) = cancels else { return std::future::pending().await };
    tokio::time::sleep_until(at).await;
    cancels.rung().await;
}

/// Which leases to extend.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// Those whose time has come.
    ByTime,
    /// All: the answer tells which run was asked to stop. A call that is under way may have been
    /// before the cancel.
    All,
}

/// Leases to extend: those of handlers at work, and those whose outcome the store has not
/// answered; not those that were given up.
fn due(shared: &Shared, which: Due) -> Vec<Arc<Run>> {
    let now = Instant::now();
    let mut runs = shared.registry.lock();
    let due = runs.iter_mut().filter(|entry| {
        (which == Due::All || (entry.extend_at <= now && !entry.extending))
            && !entry.settled
            && !entry.run.has(Flag::Lost)
            && !entry.run.is_abandoned()
    });
    due.map(|entry| {
        entry.extending = true;
        Arc::clone(&entry.run)
    })
    .collect()
}

async fn call(shared: &Shared, runs: Vec<Arc<Run>>) -> Answer {
    let asked_at = Instant::now();
    let tokens: Vec<LeaseToken> = runs.iter().map(|run| run.lease.token.clone()).collect();
    let outcomes = match shared.leases() {
        Some(leases) => leases.extend(&tokens, shared.settings.ttl).await,
        None => Ok(Vec::new()),
    };
    Answer { runs, asked_at, outcomes }
}

/// Takes in the answer of one call; answers how many calls have failed in a row.
fn apply(shared: &Shared, answer: Answer, failures: u32) -> u32 {
    let (outcomes, failures) = match answer.outcomes {
        Ok(outcomes) => (outcomes, 0),
        Err(error) => {
            shared.store_error(&error);
            (Vec::new(), failures.saturating_add(1))
        }
    };
    let soon = Instant::now() + reconnect_delay(failures, chance());
    let mut outcomes = outcomes.into_iter();
    let (mut lost, mut cancelled) = (Vec::new(), Vec::new());
    let mut extended = 0;
    let mut runs = shared.registry.lock();
    for run in answer.runs {
        let outcome = outcomes.next();
        // Gone if its outcome was answered in the meantime.
        let Some(entry) = runs.of(&run) else { continue };
        entry.extending = false;
        match outcome {
            Some(ExtendOutcome::Extended { ttl, cancel_requested }) => {
                // Counted from before the call, so that the worker never believes in a lease for
                // longer than the store does.
                extended += 1;
                entry.held_since = answer.asked_at;
                entry.extend_at = answer.asked_at + third(ttl, shared.settings.ttl.get());
                if cancel_requested {
                    cancelled.push(run);
                }
            }
            // The outcome of a run that has ended may be stored, and its answer on the way: that
            // answer says whether the lease was lost.
            Some(ExtendOutcome::LeaseLost | ExtendOutcome::NotFound)
                if entry.returned || run.is_abandoned() =>
            {
                entry.extend_at = soon;
            }
            Some(ExtendOutcome::LeaseLost | ExtendOutcome::NotFound) => lost.push(run),
            // An open transaction of the application holds the ack. Until it ends, no other worker
            // can take the job, so the lease counts as held.
            Some(ExtendOutcome::Settling) => {
                entry.held_since = answer.asked_at;
                entry.extend_at = soon;
            }
            Some(ExtendOutcome::Unknown) | None => entry.extend_at = soon,
        }
    }
    // Not under the lock: to stop a run wakes its handler.
    drop(runs);
    counter!(LEASES_EXTENDED.name).increment(extended);
    lost.iter().for_each(|run| lose(shared, run));
    let stopped = !lost.is_empty() || !cancelled.is_empty();
    for run in cancelled {
        run.cancel(Flag::CancelRequested);
    }
    if stopped {
        // One of them may wait to be started.
        shared.inbox().nudge();
    }
    failures
}

/// When to extend again: the store may have granted less than was asked for.
fn third(granted: Duration, asked: Duration) -> Duration {
    granted.min(asked) / 3
}
