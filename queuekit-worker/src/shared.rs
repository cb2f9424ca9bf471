//! What every part of one worker holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use queuekit_core::capability::Leases;
use queuekit_core::{Backend, Client, Error, LeaseTtl, QueueName, RetryPolicy, WorkerId};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::hooks::{Hooks, call_hooks};
use crate::inbox::Inbox;
use crate::kinds::Kinds;
use crate::middleware::Middleware;
use crate::registry::Registry;
use crate::state::State;
use crate::summary::Counters;

/// One worker: its settings, its runs, its counters.
pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) id: WorkerId,
    pub(crate) name: String,
    pub(crate) queues: Vec<QueueName>,
    pub(crate) slots: usize,
    pub(crate) ttl: LeaseTtl,
    pub(crate) poll_interval: Duration,
    pub(crate) upkeep_interval: Duration,
    pub(crate) timeout_grace: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) kinds: Kinds,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    pub(crate) state: State,
    pub(crate) registry: Registry,
    pub(crate) inbox: Inbox,
    pub(crate) counters: Counters,
    pub(crate) phase: watch::Sender<Phase>,
    /// A run has begun whose timeout is nearer than the next look at timeouts.
    pub(crate) short_timeout: Notify,
    stopped: AtomicBool,
}

/// How far a worker is on its way to its end; it only goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(crate) enum Phase {
    /// It takes work.
    Serving,
    /// It finishes what it has until then.
    Draining { until: Instant },
    /// It releases what it has.
    Forced,
}

/// What the builder has gathered.
pub(crate) struct Parts {
    pub(crate) client: Client,
    pub(crate) id: WorkerId,
    pub(crate) name: String,
    pub(crate) queues: Vec<QueueName>,
    pub(crate) slots: usize,
    pub(crate) ttl: LeaseTtl,
    pub(crate) poll_interval: Duration,
    pub(crate) upkeep_interval: Duration,
    pub(crate) timeout_grace: Duration,
    pub(crate) retry: RetryPolicy,
    pub(crate) kinds: Kinds,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) hooks: Vec<Arc<dyn Hooks>>,
    pub(crate) state: State,
}

impl Shared {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            backend: Arc::clone(parts.client.backend()),
            client: parts.client,
            id: parts.id,
            name: parts.name,
            queues: parts.queues,
            slots: parts.slots,
            ttl: parts.ttl,
            poll_interval: parts.poll_interval,
            upkeep_interval: parts.upkeep_interval,
            timeout_grace: parts.timeout_grace,
            retry: parts.retry,
            kinds: parts.kinds,
            middleware: parts.middleware,
            hooks: parts.hooks,
            state: parts.state,
            registry: Registry::default(),
            inbox: Inbox::default(),
            counters: Counters::default(),
            phase: watch::Sender::new(Phase::Serving),
            short_timeout: Notify::new(),
            stopped: AtomicBool::new(false),
        }
    }

    /// The store's leases; checked when the worker starts.
    pub(crate) fn leases(&self) -> Option<&dyn Leases> {
        self.backend.capabilities().leases
    }

    /// Goes to a later phase, or to an earlier end of draining.
    pub(crate) fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let forward = match (*phase, to) {
                (Phase::Draining { until }, Phase::Draining { until: sooner }) => sooner < until,
                (phase, to) => to > phase,
            };
            if forward {
                *phase = to;
            }
            forward
        });
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The pump has ended: lets go of everything that refers back to this.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.inbox.close();
        self.registry.clear();
    }

    /// Tells of a call that failed and will be repeated.
    pub(crate) fn store_error(&self, error: &Error) {
        tracing::warn!(worker = %self.id, %error, "a call of the store failed");
        metrics::counter!("queuekit_store_errors_total", "kind" => error.kind().as_str())
            .increment(1);
        call_hooks(&self.hooks, |hooks| hooks.on_store_error(error));
    }
}

/// The random number that makes waits differ between workers.
pub(crate) fn chance() -> f64 {
    fastrand::f64()
}
