//! The run loop of a worker: every decision about its runs is made here.

use std::sync::Arc;

use metrics::{counter, gauge};
use queuekit_core::metrics::{LEASES_EXTENDED, LEASES_LOST, RUNNING, SLOTS, STUCK};
use queuekit_core::{Error, ErrorKind, Reserve, Reserved, Result};
use tokio::sync::watch;
use tokio::time::Instant;

use super::fetch::Fetcher;
use super::in_flight::{Answered, InFlight};
use super::kind_limits::KindLimits;
use super::serving::Serving;
use super::settle::{Batch, Settler, is_outage};
use super::shutdown::{Shutdown, Step, force_in_time};
use super::wait_for_more::wait_for_more;
use crate::run::inbox::RunEvent;
use crate::run::phase::Phase;
use crate::run::result::RunResult;
use crate::run::run::{Flag, Run};
use crate::state::health::{SHOW, Vitals};
use crate::state::meters::Meters;
use crate::state::run_events::{Unhandled, stuck};
use crate::state::shared::Shared;

/// Collects outcomes, settles them, fetches work, starts it, and waits for either.
pub(crate) struct Pump {
    pub(super) shared: Arc<Shared>,
    pub(super) fetcher: Fetcher,
    pub(super) settler: Settler,
    pub(super) phase: watch::Receiver<Phase>,
    /// Ends when there is nothing to do.
    pub(super) until_idle: bool,
    events: Vec<RunEvent>,
    /// Runs that were given up and whose handlers keep running.
    abandoned: isize,
    shutdown: Shutdown,
    fault: Option<Error>,
    gauge: usize,
    slots_gauge: usize,
    pub(super) in_flight: InFlight,
    pub(super) unhandled: Unhandled,
    pub(super) kind_limits: KindLimits,
    pub(super) meters: Meters,
}

impl Pump {
    pub(crate) fn new(shared: Arc<Shared>, until_idle: bool) -> Self {
        Self {
            fetcher: Fetcher::new(Arc::clone(&shared), Serving::new(&shared.settings)),
            settler: Settler::new(Arc::clone(&shared)),
            phase: shared.phases().subscribe(),
            until_idle,
            events: Vec::new(),
            abandoned: 0,
            shutdown: Shutdown::No,
            fault: None,
            gauge: 0,
            slots_gauge: 0,
            in_flight: InFlight::new(Arc::clone(&shared)),
            unhandled: Unhandled::default(),
            kind_limits: KindLimits::new(&shared.settings.kind_limits),
            meters: Meters::default(),
            shared,
        }
    }

    /// Runs until the worker has to end, or there is nothing to do.
    ///
    /// # Errors
    /// A permanent fault of the store, if the worker would otherwise wait for ever.
    pub(crate) async fn run(mut self) -> Result<()> {
        let in_time = force_in_time(Arc::clone(&self.shared), self.phase.clone());
        let turning = show_that_it_turns(Arc::clone(&self.shared.vitals));
        self.gauge();
        show_from_zero();
        tokio::select! {
            () = self.work() => {}
            () = turning => {}
            // A call of the store may hang for longer than anybody waits for the end.
            () = in_time => {}
        }
        self.settler.give_up();
        self.count_left_behind();
        gauge!(SLOTS.name).decrement(self.slots_gauge as f64);
        self.fault.map_or(Ok(()), Err)
    }

    async fn work(&mut self) {
        loop {
            self.collect();
            self.end_step();
            self.settler.flush_reports().await;
            if self.settler.repeat().await {
                // A stored outcome may have made a job ready.
                self.fetcher.look_now();
            }
            self.settle_and_fetch().await;
            if self.is_done() {
                return;
            }
            self.wait().await;
        }
    }

    /// Takes in what handlers and heartbeat have told.
    fn collect(&mut self) {
        self.let_go_of_stopped();
        let mut events = std::mem::take(&mut self.events);
        self.shared.inbox().swap(&mut events);
        // One lock of the registry for the whole batch, instead of one per run.
        let returned = events.iter().filter_map(|event| match event {
            RunEvent::Ended(run, _) | RunEvent::Returned(run) => Some(run),
            RunEvent::GivenUp(..) => None,
        });
        self.shared.registry.returned(returned);
        // A slot is free, so the worker need not wait for its next poll.
        if !events.is_empty() {
            self.fetcher.look_now();
        }
        for event in events.drain(..) {
            match event {
                RunEvent::Ended(run, result) => {
                    self.returned(&run);
                    self.settler.add(run, result);
                }
                RunEvent::GivenUp(run, result) => {
                    self.abandoned += 1;
                    self.settler.add(run, result);
                }
                RunEvent::Returned(run) => {
                    self.returned(&run);
                    self.abandoned -= 1;
                }
            }
        }
        self.events = events;
        // A ring is kept while no slot is free, so that the first free slot looks at once.
        if self.free_slots() > 0 && self.shared.inbox().take_rung() {
            self.fetcher.look_now();
        }
        self.gauge();
    }

    /// Settles all that can be settled and fetches all that can be run.
    async fn settle_and_fetch(&mut self) {
        loop {
            // A store that answers without waiting must not starve the handlers.
            tokio::task::consume_budget().await;
            while let Some(answered) = self.in_flight.take() {
                self.exchanged(answered).await;
            }
            let outcomes = self.settler.unanswered();
            if !self.in_flight.is_empty() && !self.in_flight.is_worth_a_call(outcomes) {
                // These few outcomes wait and go out with those of the calls under way.
                return;
            }
            let batch = self.settler.next_batch();
            if !self.in_flight.is_empty() && !self.in_flight.may_begin(&batch) {
                // Too small for a call of its own now: it grows until a call under way is answered.
                self.settler.put_back(batch);
                return;
            }
            let request = self.fetcher.request(self.free_slots()).unwrap_or_else(|error| {
                self.fetcher.failed(&error, None);
                None
            });
            match request {
                None if batch.is_empty() => return,
                None => self.settler.settle(batch).await,
                Some(request) if self.in_flight.may_begin(&batch) => {
                    self.in_flight.begin(batch, request);
                }
                Some(request) => self.exchange(batch, request).await,
            }
        }
    }

    /// Settles a batch and fetches the next, in one step where the store can.
    async fn exchange(&mut self, batch: Batch, request: Reserve) {
        let asked_at = std::time::Instant::now();
        let backend = Arc::clone(self.shared.backend());
        let exchange = backend.capabilities().exchange.filter(|_| !batch.is_empty());
        let Some(exchange) = exchange else {
            self.settler.settle(batch).await;
            let answer = backend.reserve(&request).await;
            return self.reserved(&request, answer, asked_at);
        };
        let answer = exchange.exchange(&batch.settlement(), &request).await;
        self.exchanged(Answered { batch, request, answer, asked_at }).await;
    }

    async fn exchanged(&mut self, answered: Answered) {
        let Answered { batch, request, answer, asked_at } = answered;
        match answer {
            Ok(mut exchanged) => {
                let reserved = std::mem::take(&mut exchanged.reserved);
                // A bad answer about outcomes does not spoil the leases that came with it.
                if let Err(error) = self.settler.answered(batch, &exchanged) {
                    tracing::error!(%error, "the answer of an exchange does not fit it");
                }
                self.reserved(&request, Ok(reserved), asked_at);
            }
            // The call may have taken effect. Both halves can be repeated: leases fence the
            // outcomes, and leases that the lost answer granted expire.
            Err(error) if is_outage(&error) => {
                self.settler.failed(batch, &error);
                self.reserved(&request, Err(error), asked_at);
            }
            Err(error) => {
                // Something in the batch, or the request: told apart by separate calls.
                self.shared.store_error(&error);
                self.settler.settle(batch).await;
                let backend = Arc::clone(self.shared.backend());
                let answer = backend.reserve(&request).await;
                self.reserved(&request, answer, asked_at);
            }
        }
    }

    fn reserved(
        &mut self,
        request: &Reserve,
        answer: Result<Reserved>,
        asked_at: std::time::Instant,
    ) {
        let error = match answer {
            Ok(reserved) => {
                self.shared.vitals.store_answered();
                let leases = self.fetcher.granted(reserved, request.limit);
                return self.dispatch(leases, asked_at);
            }
            Err(error) => error,
        };
        if *error.kind() == ErrorKind::Closed {
            // Shutdown is not an error.
            self.shared.phases().advance(Phase::Forced);
            return;
        }
        self.shared.store_error(&error);
        self.fetcher.failed(&error, Some(request.nonce));
        // A worker that serves keeps trying, because an operator may repair the store. With
        // `until_idle`, the caller waits for the worker to end, and has to get the error.
        if self.until_idle && !error.is_retryable() {
            self.fault = Some(error);
            self.shared.phases().advance(Phase::Forced);
        }
    }

    /// Slots to fill: none while too many outcomes are unanswered.
    fn free_slots(&self) -> usize {
        let (bound, ordered) = (self.shared.settings.slots, &self.shared.ordered);
        let is_serving = self.shared.phase() == Phase::Serving && !ordered.is_quiet();
        // While the store does not take outcomes, further runs would only add to them.
        if !is_serving || self.settler.unanswered() > bound {
            return 0;
        }
        let busy = self.shared.registry.busy();
        // A call under way may be granted all that it asks for. An order can set fewer slots than
        // are in use.
        let free = ordered.slots().saturating_sub(busy + self.in_flight.asked_for());
        free.min(self.fetcher.serving.room())
    }

    /// Takes the next step of a shutdown, if one was requested and its time has come.
    fn end_step(&mut self) {
        let now = Instant::now();
        while self.shared.phase() == Phase::Forced {
            match self.shutdown.step(now, self.live()) {
                Step::Ask => self.runs_left().iter().for_each(|run| {
                    run.cancel(Flag::ShutDown);
                }),
                Step::Release => self.release_all(),
                Step::Wait => return,
            }
        }
    }

    fn release_all(&mut self) {
        for run in self.runs_left() {
            // False if the handler ended in the meantime: then its own outcome counts.
            if run.abandon() {
                self.abandoned += 1;
                self.settler.add(run, RunResult::of_shutdown());
            }
        }
    }

    fn is_done(&self) -> bool {
        // An event in the inbox is an outcome that the settler has not seen yet.
        let settled =
            self.settler.is_empty() && self.shared.inbox().len() == 0 && self.in_flight.is_empty();
        let finished = settled && self.live() == 0;
        match self.shared.phase() {
            Phase::Serving => {
                // A worker that is to take no more finds nothing.
                let is_idle = self.fetcher.found_nothing() || self.shared.ordered.is_quiet();
                self.until_idle && finished && is_idle
            }
            Phase::Draining { .. } => finished,
            Phase::Forced => {
                let busy = self.shared.registry.busy();
                self.shutdown.is_over(Instant::now(), settled, busy)
            }
        }
    }

    /// Waits until there may be something to do.
    async fn wait(&mut self) {
        if let Some(until) = self.rests_until()
            && self.shared.rest.begin()
        {
            return self.rest(until).await;
        }
        let free = self.free_slots() > 0;
        let at = self.next_step(free);
        tokio::select! {
            biased;
            () = self.shared.inbox().arrived() => wait_for_more(&self.shared).await,
            Some(answered) = self.in_flight.next(), if !self.in_flight.is_empty() => {
                self.exchanged(answered).await;
            }
            _ = self.phase.changed() => {}
            () = tokio::time::sleep_until(at) => {}
        }
    }

    fn next_step(&self, free: bool) -> Instant {
        // While a call is under way, the next look comes with its answer.
        let look = (free && self.in_flight.is_empty()).then(|| self.fetcher.look_at());
        let end = self.shutdown.next(self.settler.is_empty());
        let idle = Instant::now() + self.shared.settings.poll_interval;
        let steps = [look, self.settler.repeat_at(), end];
        steps.into_iter().flatten().min().unwrap_or(idle)
    }

    /// Runs whose handlers are running and whose outcome is not decided yet.
    fn live(&self) -> usize {
        // Of one run, the pump may hear that its handler returned before that it was given up.
        self.shared.registry.busy().saturating_add_signed(-self.abandoned)
    }

    fn runs_left(&self) -> Vec<Arc<Run>> {
        let runs = self.shared.registry.lock();
        let left = runs.iter().filter(|entry| !entry.returned);
        left.map(|entry| Arc::clone(&entry.run)).collect()
    }

    /// Handlers that outlive the worker.
    fn count_left_behind(&mut self) {
        for run in self.runs_left() {
            if run.mark(Flag::Stuck) {
                stuck(&self.shared, &run);
            }
        }
        gauge!(RUNNING.name).decrement(self.gauge as f64);
    }

    pub(super) fn gauge(&mut self) {
        let busy = self.shared.registry.busy();
        if busy != self.gauge {
            gauge!(RUNNING.name).increment(busy as f64 - self.gauge as f64);
            self.gauge = busy;
        }
        let slots = self.shared.ordered.slots();
        if slots != self.slots_gauge {
            gauge!(SLOTS.name).increment(slots as f64 - self.slots_gauge as f64);
            self.slots_gauge = slots;
        }
    }
}

/// A series that begins at 1 hides its first event: Prometheus sees no increase.
fn show_from_zero() {
    gauge!(RUNNING.name).increment(0.0);
    for metric in [LEASES_EXTENDED, LEASES_LOST, STUCK] {
        counter!(metric.name).increment(0);
    }
}

/// In the task of the loop, so that it stops when the loop does; a call of the store, which the
/// loop waits for, does not stop it.
async fn show_that_it_turns(vitals: Arc<Vitals>) {
    loop {
        vitals.turned();
        tokio::time::sleep(SHOW).await;
    }
}
