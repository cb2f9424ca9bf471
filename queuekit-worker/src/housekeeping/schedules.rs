//! Enqueues what schedules say is due.

use std::collections::HashMap;
use std::time::Duration;

use queuekit_core::limits::QUIET;
use queuekit_core::retry::{chance, jittered};
use queuekit_core::schedule::Ticker;
use queuekit_core::{Backend, Error, ErrorKind, Result, ScheduleName};
use tokio::time::Instant;

use crate::state::rest::{NextTick, Rest};

/// How soon a worker notices a new schedule.
const EVERY: Duration = Duration::from_secs(5);

/// Schedules that stay due, and why: it is logged once.
type Told = HashMap<ScheduleName, ErrorKind>;

/// Ticks until it is dropped; any number of processes may at once (contract R15.2). Ends by itself
/// if the store keeps no schedules.
pub(crate) async fn schedules(store: &dyn Backend, rest: &Rest, failed: impl Fn(&Error)) {
    let (mut ticker, mut told) = (Ticker::default(), Told::new());
    loop {
        let call = rest.call().await;
        let wait = match tick_all(store, &mut ticker, &mut told).await {
            Ok(Some(next_in)) => {
                rest.set_next_tick(NextTick::At(Instant::now() + next_in.min(QUIET)));
                next_in.min(jittered(EVERY, chance()))
            }
            Ok(None) => return rest.set_next_tick(NextTick::Never),
            Err(error) => {
                rest.set_next_tick(NextTick::Unknown);
                failed(&error);
                jittered(EVERY, chance())
            }
        };
        // Before the pause: a worker does not rest while this is held.
        drop(call);
        tokio::time::sleep(wait).await;
    }
}

/// The time to the next occurrence; none if the store keeps no schedules.
async fn tick_all(
    store: &dyn Backend,
    ticker: &mut Ticker,
    told: &mut Told,
) -> Result<Option<Duration>> {
    loop {
        let Some(ticked) = ticker.tick(store).await? else { return Ok(None) };
        let before = told.clone();
        // A tick that left schedules out says nothing about them, so they stay known.
        if !ticked.left_out {
            told.clear();
        }
        for (schedule, error) in ticked.failed {
            if before.get(&schedule) != Some(error.kind()) {
                tracing::warn!(%schedule, %error, "a schedule that is due enqueued nothing");
            }
            told.insert(schedule, error.kind().clone());
        }
        if !ticked.more {
            return Ok(Some(ticked.next_in.unwrap_or(QUIET)));
        }
        // A store in memory never waits, and others need the thread too.
        tokio::task::yield_now().await;
    }
}
