//! What a worker tells about its runs: to the log, to the metrics, to hooks.

use std::collections::HashSet;
use std::sync::Arc;

use queuekit_core::metrics::LEASES_LOST;
use queuekit_core::{Clock, Kind};

use super::shared::Shared;
use crate::handler::hooks::call_hooks;
use crate::run::ctx::Ctx;
use crate::run::outcome::Outcome;
use crate::run::result::RunResult;
use crate::run::run::{Flag, Run};

/// The worker takes work from now on.
pub(crate) fn started(shared: &Shared) {
    let queues: Vec<&str> = shared.settings.queues.iter().map(|queue| queue.as_str()).collect();
    let kinds: Vec<String> = shared.settings.kinds.names().into_iter().map(String::from).collect();
    let slots = shared.settings.slots;
    tracing::info!(worker = %shared.id(), ?queues, ?kinds, slots, "worker started");
    if kinds.is_empty() {
        tracing::warn!(worker = %shared.id(), "the worker has no handler: it releases every job");
    }
}

/// Kinds without a handler that the log has named.
#[derive(Default)]
pub(crate) struct Unhandled(HashSet<Kind>);

/// Most kinds without a handler that the log names.
const UNHANDLED: usize = 100;

impl Unhandled {
    /// Names the kind of a job that was leased, the first time.
    pub(crate) fn warn_once(&mut self, shared: &Shared, kind: &Kind) {
        // Bounded, because anybody may enqueue jobs of any kind.
        if self.0.contains(kind) || self.0.len() >= UNHANDLED {
            return;
        }
        let kinds: Vec<String> =
            shared.settings.kinds.names().into_iter().map(String::from).collect();
        tracing::warn!(
            worker = %shared.id(), %kind, handled = ?kinds,
            "no handler for this kind: its jobs are released for other workers"
        );
        self.0.insert(kind.clone());
    }
}

/// A run has ended, and the store has answered.
pub(crate) fn ended(shared: &Shared, run: &Arc<Run>, result: &RunResult, outcome: Outcome) {
    run.end_trace(outcome);
    let lease = &run.lease;
    match (result, outcome) {
        (_, Outcome::LeaseLost) => lose(shared, run),
        (RunResult::Failed { error, .. }, Outcome::Retrying { .. } | Outcome::Dead) => {
            tracing::warn!(
                job = %lease.id(), kind = %lease.kind, attempt = lease.attempt,
                took = ?run.running_for(), %error, outcome = outcome.as_str(), "a run failed"
            );
        }
        (RunResult::Failed { mark: Some(mark), .. }, _) => {
            shared.undecodable.add(&lease.kind, mark.error.as_str(), shared.clock.now());
            tracing::warn!(
                job = %lease.id(), kind = %lease.kind, times = mark.times, error = %mark.error,
                outcome = outcome.as_str(), "a payload could not be read"
            );
        }
        _ => tracing::debug!(
            job = %lease.id(), kind = %lease.kind, took = ?run.running_for(),
            outcome = outcome.as_str(), "a run ended"
        ),
    }
    if !shared.hooks().is_empty() {
        let ctx = Ctx::new(Arc::clone(run));
        call_hooks(shared.hooks(), |hooks| hooks.on_outcome(&ctx, &outcome));
    }
}

/// The lease of this run is gone: its handler may stop.
pub(crate) fn lose(shared: &Shared, run: &Arc<Run>) {
    // Several calls may learn of it; only the first one counts it and tells the hooks.
    if run.cancel(Flag::Lost) {
        metrics::counter!(LEASES_LOST.name).increment(1);
        tracing::warn!(job = %run.lease.id(), queue = %run.lease.token.queue, "lease lost");
        let ctx = Ctx::new(Arc::clone(run));
        call_hooks(shared.hooks(), |hooks| hooks.on_lease_lost(&ctx));
    }
}

/// A handler keeps running after its run was given up.
pub(crate) fn stuck(shared: &Shared, run: &Arc<Run>) {
    let lease = &run.lease;
    tracing::error!(
        job = %lease.id(), kind = %lease.kind, running_for = ?run.running_for(),
        "a handler keeps running after its run was given up; its slot stays in use"
    );
    shared.counters.add_stuck();
    let ctx = Ctx::new(Arc::clone(run));
    call_hooks(shared.hooks(), |hooks| hooks.on_stuck(&ctx));
}
