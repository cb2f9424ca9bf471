//! What every part of one worker holds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use queuekit_core::capability::Leases;
use queuekit_core::{Backend, Clock, Error, SystemClock, Timestamp, WorkerId};
use tokio::sync::Notify;

use super::health::Vitals;
use super::ordered::Ordered;
use super::registry::Registry;
use super::rest::Rest;
use super::run_history::RunHistory;
use super::settings::Settings;
use super::summary::Counters;
use super::undecodable::UndecodableKinds;
use crate::handler::execute::Listeners;
use crate::handler::hooks::{Hooks, call_hooks};
use crate::handler::middleware::Middleware;
use crate::run::context::RunContext;
use crate::run::inbox::Inbox;
use crate::run::phase::{Phase, Phases};

/// One worker: its settings, its runs, its counters. A run never refers back to it.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    /// What its runs own of it.
    pub(crate) context: Arc<RunContext>,
    /// What the tasks of its handlers own of it.
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) middleware: Arc<[Arc<dyn Middleware>]>,
    pub(crate) registry: Registry,
    pub(crate) counters: Counters,
    pub(crate) runs: RunHistory,
    pub(crate) undecodable: UndecodableKinds,
    pub(crate) rest: Arc<Rest>,
    /// For figures only.
    pub(crate) clock: SystemClock,
    pub(crate) started_at: Timestamp,
    pub(crate) vitals: Arc<Vitals>,
    pub(crate) ordered: Arc<Ordered>,
    /// A run has begun whose timeout is nearer than the next look at timeouts.
    pub(crate) short_timeout: Notify,
    stopped: AtomicBool,
}

impl Shared {
    pub(crate) fn new(mut settings: Settings, id: WorkerId, beat_interval: Duration) -> Self {
        let context = RunContext::new(
            settings.client.clone(),
            id,
            std::mem::take(&mut settings.values),
            settings.retry.clone(),
            settings.kinds.options(),
        );
        let hooks = std::mem::take(&mut settings.hooks);
        let middleware = std::mem::take(&mut settings.middleware);
        let ordered = Arc::new(Ordered::new(settings.slots));
        let phase = context.phases.subscribe();
        let rest = Arc::<Rest>::default();
        let vitals = Vitals::new(beat_interval, phase, Arc::clone(&ordered), Arc::clone(&rest));
        let clock = SystemClock::default();
        Self {
            settings,
            context: Arc::new(context),
            listeners: Arc::new(Listeners { inbox: Inbox::default(), hooks }),
            middleware: middleware.into(),
            registry: Registry::default(),
            counters: Counters::default(),
            runs: RunHistory::default(),
            undecodable: UndecodableKinds::default(),
            rest,
            started_at: clock.now(),
            clock,
            vitals: Arc::new(vitals),
            ordered,
            short_timeout: Notify::new(),
            stopped: AtomicBool::new(false),
        }
    }

    pub(crate) fn id(&self) -> &WorkerId {
        &self.context.worker
    }

    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        self.settings.client.backend()
    }

    /// The store's leases; checked when the worker starts.
    pub(crate) fn leases(&self) -> Option<&dyn Leases> {
        self.backend().capabilities().leases
    }

    pub(crate) fn inbox(&self) -> &Inbox {
        &self.listeners.inbox
    }

    pub(crate) fn hooks(&self) -> &[Arc<dyn Hooks>] {
        &self.listeners.hooks
    }

    pub(crate) fn phases(&self) -> &Phases {
        &self.context.phases
    }

    pub(crate) fn phase(&self) -> Phase {
        self.context.phases.now()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The main loop has ended.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Reports a call that failed and will be repeated.
    pub(crate) fn store_error(&self, error: &Error) {
        tracing::warn!(worker = %self.id(), %error, "a call of the store failed");
        call_hooks(self.hooks(), |hooks| hooks.on_store_error(error));
    }
}
