//! Stops runs that time out or whose lease is in doubt, and gives up those that do not stop.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::look_every;
use crate::run::inbox::RunEvent;
use crate::run::result::RunResult;
use crate::run::run::{Flag, Run};
use crate::state::registry::Entry;
use crate::state::run_events::stuck;
use crate::state::shared::Shared;

/// A future that was let go is gone after this long; a handler that is not, is stuck.
const GONE_AFTER: Duration = Duration::from_millis(50);

/// A run that waits for its thread is looked at again after this long, if its timeout is short.
const SOON: Duration = Duration::from_millis(5);

/// What is due for one run.
enum Due {
    Cancel(Arc<Run>, Flag),
    GiveUp(Arc<Run>),
    Stuck(Arc<Run>),
}

pub(super) async fn watch(shared: &Arc<Shared>) {
    loop {
        let now = Instant::now();
        let mut next = now + look_every(shared.settings.ttl.get());
        let due = look(shared, now, &mut next);
        for due in due {
            act(shared, due);
        }
        tokio::select! {
            () = tokio::time::sleep_until(next.into()) => {}
            () = shared.short_timeout.notified() => {}
        }
    }
}

fn look(shared: &Shared, now: Instant, next: &mut Instant) -> Vec<Due> {
    let mut due = Vec::new();
    for entry in shared.registry.lock().iter() {
        if let Some(soonest) = entry.run.times_out_at_soonest() {
            *next = (*next).min(soonest.max(now + SOON));
        }
        for (at, what) in steps(shared, entry) {
            if at <= now {
                due.push(what);
            } else {
                *next = at.min(*next);
            }
        }
    }
    due
}

/// What will be due for a run, and when.
fn steps(shared: &Shared, entry: &Entry) -> impl Iterator<Item = (Instant, Due)> {
    let run = &entry.run;
    let times_out = run.times_out_at().filter(|_| !entry.returned);
    let give_up = times_out.and_then(|at| at.checked_add(shared.settings.timeout_grace));
    let timeout = times_out
        .filter(|_| !run.has(Flag::TimedOut))
        .map(|at| (at, Due::Cancel(Arc::clone(run), Flag::TimedOut)));
    let given_up =
        give_up.filter(|_| !run.is_abandoned()).map(|at| (at, Due::GiveUp(Arc::clone(run))));
    let stuck = give_up
        .filter(|_| run.is_abandoned() && !run.has(Flag::Stuck))
        .map(|at| (at + GONE_AFTER, Due::Stuck(Arc::clone(run))));
    let doubted = (!entry.returned && !run.is_abandoned() && !run.has(Flag::Doubted)).then(|| {
        // Before the lease expires, so that the handler has time to stop before another worker runs
        // the job.
        let at = entry.held_since + shared.settings.ttl.get().mul_f64(0.9);
        (at, Due::Cancel(Arc::clone(run), Flag::Doubted))
    });
    [timeout, given_up, stuck, doubted].into_iter().flatten()
}

fn act(shared: &Shared, due: Due) {
    match due {
        Due::Cancel(run, reason) => {
            if run.cancel(reason) {
                tracing::warn!(job = %run.lease.id(), ?reason, "a run was asked to stop");
                // The run may wait for its kind to have room, and only the pump can let it go.
                shared.inbox().nudge();
            }
        }
        Due::GiveUp(run) => {
            if run.abandon() {
                let result = RunResult::of_timeout(&run);
                shared.inbox().push(RunEvent::GivenUp(run, result));
            }
        }
        Due::Stuck(run) => {
            if run.mark(Flag::Stuck) {
                stuck(shared, &run);
            }
        }
    }
}
