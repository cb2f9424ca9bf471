//! Extends every lease at a third of its life.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use queuekit_core::capability::ExtendOutcome;
use queuekit_core::retry::reconnect_delay;
use queuekit_core::{LeaseToken, Result};
use tokio::time::{MissedTickBehavior, interval};

use super::look_every;
use crate::notices::lose;
use crate::run::{Flag, Run};
use crate::shared::{Shared, chance};

/// Most leases extended in one call.
const MOST: usize = 1000;

struct Answer {
    runs: Vec<Arc<Run>>,
    asked_at: Instant,
    outcomes: Result<Vec<ExtendOutcome>>,
}

/// Calls are made side by side: one that hangs delays no other lease.
pub(super) async fn extend(shared: &Arc<Shared>) {
    // After a panic here, calls that were under way never answer.
    shared.registry.lock().iter_mut().for_each(|entry| entry.extending = false);
    let mut ticks = interval(look_every(shared.ttl.get()));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut calls = FuturesUnordered::new();
    let mut failures = 0_u32;
    loop {
        tokio::select! {
            Some(answer) = calls.next(), if !calls.is_empty() => {
                failures = apply(shared, answer, failures);
            }
            _ = ticks.tick() => {
                for runs in due(shared).chunks(MOST) {
                    calls.push(call(shared, runs.to_vec()));
                }
            }
        }
    }
}

/// Leases whose time has come: those of handlers at work, and those whose outcome the store has
/// not answered; not those that were given up.
fn due(shared: &Shared) -> Vec<Arc<Run>> {
    let now = Instant::now();
    let mut runs = shared.registry.lock();
    let due = runs.iter_mut().filter(|entry| {
        entry.extend_at <= now
            && !entry.extending
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
        Some(leases) => leases.extend(&tokens, shared.ttl).await,
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
    let mut runs = shared.registry.lock();
    for run in answer.runs {
        let outcome = outcomes.next();
        let Some(entry) = runs.of(&run) else { continue };
        entry.extending = false;
        match outcome {
            Some(ExtendOutcome::Extended { ttl, cancel_requested }) => {
                entry.held_since = answer.asked_at;
                entry.extend_at = answer.asked_at + third(ttl, shared.ttl.get());
                if cancel_requested {
                    cancelled.push(run);
                }
            }
            Some(ExtendOutcome::LeaseLost | ExtendOutcome::NotFound) => lost.push(run),
            // Its ack stands in an open transaction, which keeps everybody else from it.
            Some(ExtendOutcome::Settling) => {
                entry.held_since = answer.asked_at;
                entry.extend_at = soon;
            }
            Some(ExtendOutcome::Unknown) | None => entry.extend_at = soon,
        }
    }
    drop(runs);
    // An outcome that waits to be told finds out by itself: what it would answer is LeaseLost.
    lost.iter().for_each(|run| lose(shared, run));
    for run in cancelled {
        run.cancel(Flag::CancelRequested);
    }
    failures
}

/// When to extend again: the store may have granted less than was asked for.
fn third(granted: Duration, asked: Duration) -> Duration {
    granted.min(asked) / 3
}
