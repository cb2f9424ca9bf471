//! The run loop of a worker: every decision about its runs is made here.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use queuekit_core::{Error, ErrorKind, Lease, Reserve, Reserved, Result};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::ending::{Ending, Step, patience};
use crate::execute;
use crate::fetch::Fetcher;
use crate::flights::{FLIGHT, Flights, Landed};
use crate::heartbeat::LOOK;
use crate::inbox::Event;
use crate::notices::{Unhandled, stuck};
use crate::run::{Flag, Run};
use crate::serving::Serving;
use crate::settle::{Batch, Settler, is_outage};
use crate::shared::{Phase, Shared};
use crate::verdict::Verdict;

/// Collects outcomes, settles them, fetches work, starts it, and waits for either.
pub(crate) struct Pump {
    shared: Arc<Shared>,
    fetcher: Fetcher,
    settler: Settler,
    phase: watch::Receiver<Phase>,
    /// Ends when there is nothing to do.
    until_idle: bool,
    events: Vec<Event>,
    /// Runs that were given up and whose handlers go on.
    abandoned: isize,
    ending: Ending,
    fault: Option<Error>,
    gauge: usize,
    flights: Flights,
    unhandled: Unhandled,
}

impl Pump {
    pub(crate) fn new(shared: Arc<Shared>, serving: Serving, until_idle: bool) -> Self {
        Self {
            fetcher: Fetcher::new(Arc::clone(&shared), serving),
            settler: Settler::new(Arc::clone(&shared)),
            phase: shared.phase.subscribe(),
            until_idle,
            events: Vec::new(),
            abandoned: 0,
            ending: Ending::No,
            fault: None,
            gauge: 0,
            flights: Flights::new(Arc::clone(&shared)),
            unhandled: Unhandled::default(),
            shared,
        }
    }

    /// Runs until the worker is told to end, or there is nothing to do.
    ///
    /// # Errors
    /// A fault of the store that waiting will not cure, where nobody would wait.
    pub(crate) async fn run(mut self) -> Result<()> {
        let patience = patience(Arc::clone(&self.shared), self.phase.clone());
        tokio::select! {
            () = self.work() => {}
            // A call of the store may hang for longer than anybody waits for the end.
            () = patience => {}
        }
        self.settler.give_up();
        self.count_left_behind();
        self.fault.map_or(Ok(()), Err)
    }

    async fn work(&mut self) {
        loop {
            self.collect();
            self.end_step();
            self.settler.flush_reports().await;
            if self.settler.repeat().await {
                // What was told may have made a job ready.
                self.fetcher.hurry();
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
        let mut events = std::mem::take(&mut self.events);
        self.shared.inbox.swap(&mut events);
        let returned = events.iter().filter_map(|event| match event {
            Event::Ended(run, _) | Event::Returned(run) => Some(run),
            Event::GivenUp(..) => None,
        });
        self.shared.registry.returned(returned);
        if !events.is_empty() {
            self.fetcher.hurry();
        }
        for event in events.drain(..) {
            match event {
                Event::Ended(run, verdict) => {
                    self.fetcher.serving.freed(&run.lease.token.queue);
                    self.settler.add(run, verdict);
                }
                Event::GivenUp(run, verdict) => {
                    self.abandoned += 1;
                    self.settler.add(run, verdict);
                }
                Event::Returned(run) => {
                    self.fetcher.serving.freed(&run.lease.token.queue);
                    self.abandoned -= 1;
                }
            }
        }
        self.events = events;
        if self.free_slots() > 0 && self.shared.inbox.take_rung() {
            self.fetcher.hurry();
        }
        self.gauge();
    }

    /// Settles all that can be settled and fetches all that can be run.
    async fn settle_and_fetch(&mut self) {
        loop {
            // A store that answers without waiting must not starve the handlers.
            tokio::task::consume_budget().await;
            while let Some(landed) = self.flights.take() {
                self.exchanged(landed).await;
            }
            if !self.flights.is_empty() && self.settler.unanswered() < FLIGHT {
                // What is there goes with what the flights bring.
                return;
            }
            let batch = self.settler.next_batch();
            if !self.flights.is_empty() && !self.flights.may_depart(&batch) {
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
                Some(request) if self.flights.may_depart(&batch) => {
                    self.flights.depart(batch, request);
                }
                Some(request) => self.exchange(batch, request).await,
            }
        }
    }

    /// Settles a batch and fetches the next, in one step where the store can.
    async fn exchange(&mut self, batch: Batch, request: Reserve) {
        let asked_at = std::time::Instant::now();
        let backend = Arc::clone(&self.shared.backend);
        let exchange = backend.capabilities().exchange.filter(|_| !batch.is_empty());
        let Some(exchange) = exchange else {
            self.settler.settle(batch).await;
            let answer = backend.reserve(&request).await;
            return self.reserved(&request, answer, asked_at);
        };
        let answer = exchange.exchange(&batch.settlement(), &request).await;
        self.exchanged(Landed { batch, request, answer, asked_at }).await;
    }

    async fn exchanged(&mut self, landed: Landed) {
        let Landed { batch, request, answer, asked_at } = landed;
        match answer {
            Ok(mut exchanged) => {
                let reserved = std::mem::take(&mut exchanged.reserved);
                if let Err(error) = self.settler.answered(batch, &exchanged) {
                    tracing::error!(%error, "exchange");
                }
                self.reserved(&request, Ok(reserved), asked_at);
            }
            Err(error) if is_outage(&error) => {
                self.settler.failed(batch, &error);
                self.reserved(&request, Err(error), asked_at);
            }
            Err(error) => {
                // Something in the batch, or the request: told apart by separate calls.
                self.shared.store_error(&error);
                self.settler.settle(batch).await;
                let backend = Arc::clone(&self.shared.backend);
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
                let leases = self.fetcher.granted(reserved, request.limit);
                return self.dispatch(leases, asked_at);
            }
            Err(error) => error,
        };
        if *error.kind() == ErrorKind::Closed {
            // Shutdown is not an error.
            self.shared.advance(Phase::Forced);
            return;
        }
        self.shared.store_error(&error);
        self.fetcher.failed(&error, Some(request.nonce));
        if self.until_idle && !error.is_retryable() {
            self.fault = Some(error);
            self.shared.advance(Phase::Forced);
        }
    }

    /// Starts what was granted.
    fn dispatch(&mut self, leases: Vec<Lease>, asked_at: std::time::Instant) {
        if leases.is_empty() {
            return;
        }
        let shared = &self.shared;
        let times = (asked_at, std::time::Instant::now());
        let runs = {
            let mut find = shared.kinds.finder();
            let make = |lease: Lease, slot| {
                let handler = find(&lease);
                Arc::new(Run::new(shared, lease, handler, slot, times))
            };
            shared.registry.add(leases, asked_at + shared.ttl.get() / 3, make)
        };
        let serving = shared.phase() == Phase::Serving;
        let mut short = false;
        for run in runs {
            match run.handler {
                Some(handler) if serving => {
                    self.fetcher.serving.taken(&run.lease.token.queue);
                    short |= run.timeout().is_some_and(|timeout| timeout < LOOK);
                    execute::start(run, handler);
                }
                Some(_) => self.refuse(run, Verdict::of_shutdown()),
                None => {
                    self.unhandled.warn_once(&self.shared, &run.lease.kind);
                    let verdict = Verdict::without_handler(run.lease.releases);
                    self.refuse(run, verdict);
                }
            }
        }
        if short {
            self.shared.short_timeout.notify_one();
        }
        self.gauge();
    }

    /// Gives a run back that was never started.
    fn refuse(&mut self, run: Arc<Run>, verdict: Verdict) {
        run.claim();
        self.shared.registry.returned([&run]);
        self.settler.add(run, verdict);
    }

    /// Slots to fill: none while too many outcomes are unanswered.
    fn free_slots(&self) -> usize {
        let bound = self.shared.slots;
        if self.shared.phase() != Phase::Serving || self.settler.unanswered() > bound {
            return 0;
        }
        let busy = self.shared.registry.busy();
        let free = self.shared.slots.saturating_sub(busy + self.flights.asked_for());
        free.min(self.fetcher.serving.room())
    }

    /// Goes towards the end, if the worker is told to and where it is time to.
    fn end_step(&mut self) {
        let now = Instant::now();
        while self.shared.phase() == Phase::Forced {
            match self.ending.step(now, self.live()) {
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
            if run.abandon() {
                self.abandoned += 1;
                self.settler.add(run, Verdict::of_shutdown());
            }
        }
    }

    fn is_done(&self) -> bool {
        let settled =
            self.settler.is_empty() && self.shared.inbox.len() == 0 && self.flights.is_empty();
        let finished = settled && self.live() == 0;
        match self.shared.phase() {
            Phase::Serving => self.until_idle && finished && self.fetcher.found_nothing(),
            Phase::Draining { .. } => finished,
            Phase::Forced => {
                let busy = self.shared.registry.busy();
                self.ending.is_over(Instant::now(), settled, busy)
            }
        }
    }

    /// Waits until there may be something to do.
    async fn wait(&mut self) {
        let free = self.free_slots() > 0;
        let at = self.next_step(free);
        tokio::select! {
            biased;
            () = self.shared.inbox.arrived() => gather(&self.shared).await,
            Some(landed) = self.flights.next(), if !self.flights.is_empty() => {
                self.exchanged(landed).await;
            }
            _ = self.phase.changed() => {}
            () = tokio::time::sleep_until(at) => {}
        }
    }

    fn next_step(&self, free: bool) -> Instant {
        // With flights in the air, the next look comes when one has landed.
        let look = (free && self.flights.is_empty()).then(|| self.fetcher.look_at());
        let end = self.ending.next(self.settler.is_empty());
        let idle = Instant::now() + self.shared.poll_interval;
        let steps = [look, self.settler.repeat_at(), end];
        steps.into_iter().flatten().min().unwrap_or(idle)
    }

    /// Runs whose handlers go on and whose outcome nobody has decided.
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
        metrics::gauge!("queuekit_running").decrement(self.gauge as f64);
    }

    fn gauge(&mut self) {
        let busy = self.shared.registry.busy();
        if busy != self.gauge {
            metrics::gauge!("queuekit_running").increment(busy as f64 - self.gauge as f64);
            self.gauge = busy;
        }
    }
}

/// Others may be about to end too, and one larger batch is cheaper than two: waits while they
/// do, but not until the slots run dry.
async fn gather(shared: &Shared) {
    let enough = shared.slots / 2;
    let mut ended = 0;
    loop {
        yield_once().await;
        let now = shared.inbox.len();
        if now >= enough || now == ended {
            return;
        }
        ended = now;
    }
}

/// Lets other tasks run, in a way that leaves this one where any thread can take it up: tokio's
/// own yield ties it to a thread, which a handler may then block.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
