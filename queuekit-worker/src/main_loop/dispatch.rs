//! Starts the jobs that were granted, and gives back those that cannot be started.

use std::sync::Arc;
use std::time::Instant;

use queuekit_core::{Clock, Lease};

use super::kind_limits::Admission;
use super::pump::Pump;
use crate::handler::start::start;
use crate::heartbeat::LOOK;
use crate::run::phase::Phase;
use crate::run::result::RunResult;
use crate::run::run::Run;

impl Pump {
    /// Starts what was granted.
    pub(super) fn dispatch(&mut self, leases: Vec<Lease>, asked_at: Instant) {
        if leases.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let times = (asked_at, Instant::now());
        let runs = {
            let (mut find, now) = (shared.settings.kinds.finder(), shared.clock.now());
            self.meters.tidy();
            let make = |lease: Lease, slot| {
                let handler = find(&lease);
                let meter = self.meters.of(&lease, handler.is_some(), &shared.runs);
                meter.waited(now.since(lease.scheduled_at));
                Arc::new(Run::new(&shared.context, lease, handler, slot, times, meter))
            };
            // Counted from the call, because the store may have granted the lease right after it.
            shared.registry.add(leases, asked_at + shared.settings.ttl.get() / 3, make)
        };
        let serving = shared.phase() == Phase::Serving;
        for run in runs {
            match run.handler {
                Some(handler) if serving => self.admit(run, handler),
                // Granted by a call that was under way when the drain began.
                Some(_) => self.refuse(run, RunResult::of_shutdown()),
                None => {
                    self.unhandled.warn_once(&shared, &run.lease.kind);
                    let result = RunResult::without_handler(run.lease.releases);
                    self.refuse(run, result);
                }
            }
        }
        self.gauge();
    }

    /// Starts a run, unless its kind has no room.
    fn admit(&mut self, run: Arc<Run>, handler: usize) {
        let admission = self.kind_limits.admit(&run, handler);
        if admission == Admission::Release {
            let result = RunResult::over_limit(run.lease.releases);
            return self.refuse(run, result);
        }
        // A run that waits for its kind takes up room of its queue too.
        self.fetcher.serving.taken(&run.lease.token.queue);
        if admission == Admission::Start {
            self.start(run, handler);
        }
    }

    /// A handler has returned, and its slot is free: a run of its kind may have waited for that.
    pub(super) fn returned(&mut self, run: &Run) {
        if let Some(took) = run.took() {
            run.meter.ran(took);
        }
        self.fetcher.serving.freed(&run.lease.token.queue);
        if let Some((next, handler)) = self.kind_limits.returned(&run.lease.kind) {
            self.start(next, handler);
        }
    }

    /// Gives up runs that wait for their kind to have room, where they should not run any more.
    pub(super) fn let_go_of_stopped(&mut self) {
        let serving = self.shared.phase() == Phase::Serving;
        for run in self.kind_limits.let_go(|run| !serving || run.is_cancelled()) {
            self.fetcher.serving.freed(&run.lease.token.queue);
            let result = RunResult::not_started(&run);
            self.refuse(run, result);
        }
    }

    fn start(&self, run: Arc<Run>, handler: usize) {
        run.unhold();
        let shared = &self.shared;
        let short = run.timeout().is_some_and(|timeout| timeout < LOOK);
        let handler = shared.settings.kinds.handler(handler);
        start(run, handler, &shared.middleware, &shared.listeners);
        // The watcher may sleep for longer than this timeout.
        if short {
            shared.short_timeout.notify_one();
        }
    }

    /// Gives a run back that was never started.
    fn refuse(&mut self, run: Arc<Run>, result: RunResult) {
        // No handler will end this run, and the heartbeat must not give it up.
        run.claim();
        self.shared.registry.returned([&run]);
        self.settler.add(run, result);
    }
}
