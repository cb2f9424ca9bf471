//! What a worker tells about its runs: to the log, to the metrics, to hooks.

use std::sync::Arc;

use crate::Ctx;
use crate::hooks::{Outcome, call_hooks};
use crate::run::{Flag, Run};
use crate::shared::Shared;
use crate::verdict::Verdict;

/// A run has ended, and the store has answered.
pub(crate) fn ended(shared: &Shared, run: &Arc<Run>, verdict: &Verdict, outcome: Outcome) {
    let lease = &run.lease;
    match (verdict, outcome) {
        (_, Outcome::LeaseLost) => lose(shared, run),
        (Verdict::Failed { error, .. }, Outcome::Retrying { .. } | Outcome::Dead) => {
            tracing::warn!(
                job = %lease.id(), kind = %lease.kind, attempt = lease.attempt, %error,
                outcome = outcome.as_str(), "a run failed"
            );
        }
        _ => tracing::debug!(job = %lease.id(), outcome = outcome.as_str(), "a run ended"),
    }
    if !shared.hooks.is_empty() {
        let ctx = Ctx::new(Arc::clone(run));
        call_hooks(&shared.hooks, |hooks| hooks.on_outcome(&ctx, &outcome));
    }
}

/// The lease of this run is gone: its handler may stop.
pub(crate) fn lose(shared: &Shared, run: &Arc<Run>) {
    if run.cancel(Flag::Lost) {
        tracing::warn!(job = %run.lease.id(), queue = %run.lease.token.queue, "lease lost");
        let ctx = Ctx::new(Arc::clone(run));
        call_hooks(&shared.hooks, |hooks| hooks.on_lease_lost(&ctx));
    }
}

/// A handler goes on though its run was given up.
pub(crate) fn stuck(shared: &Shared, run: &Arc<Run>) {
    let lease = &run.lease;
    tracing::error!(
        job = %lease.id(), kind = %lease.kind, running_for = ?run.running_for(),
        "a handler goes on though its run was given up; its slot stays taken"
    );
    shared.counters.add_stuck();
    let ctx = Ctx::new(Arc::clone(run));
    call_hooks(&shared.hooks, |hooks| hooks.on_stuck(&ctx));
}
