//! A reserve that goes from queue to queue (contract R5.10, R7.5).

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use queuekit_core::backend::Division;
use queuekit_core::lifecycle::Budget;
use queuekit_core::{Error, Lease, QueueName, Reserve, Reserved, Result};

use super::exchange::{Answer, Outcomes, Part};
use crate::RedisStore;
use crate::address::Address;
use crate::call::Call;

/// The request to one queue.
pub(super) struct Ask<'a> {
    pub(super) request: &'a Reserve,
    pub(super) most: usize,
    pub(super) budget: Budget,
    until: Instant,
}

/// How long a reserve places the keys of a queue anew before it continues.
const PLACING: Duration = Duration::from_millis(500);

pub(super) struct Round<'a> {
    request: &'a Reserve,
    division: Division<'a>,
    /// The end of its time.
    until: Instant,
    budget: Budget,
    leases: Vec<Lease>,
    /// For each queue that was asked, when to look again.
    next_in: Vec<(QueueName, Option<Duration>)>,
    moving: bool,
    /// The settlement for the first queue.
    pub(super) settles: Option<Part<'a>>,
    pub(super) settled: Option<(Part<'a>, Outcomes)>,
}

impl RedisStore {
    /// Serves the queues of reachable nodes even if one node of a Cluster is unreachable.
    pub(super) async fn go_round<'a>(
        &self,
        operation: &'static str,
        round: &mut Round<'a>,
    ) -> Result<()> {
        let begun = Instant::now();
        let several = round.request.queues.names().len() > 1;
        if !(several && self.shared.topology.is_cluster()) {
            return self.ask_in_turn(operation, round).await;
        }
        match self.glance_at_all(operation, round).await {
            // No node has answered, and there is time left to wait for one.
            Err(_) if begun.elapsed() < Duration::from_secs(1) => {
                *round = Round::new(round.request, self.shared.op_timeout);
                self.ask_in_turn(operation, round).await
            }
            answer => answer,
        }
    }

    async fn ask_in_turn<'a>(&self, operation: &'static str, round: &mut Round<'a>) -> Result<()> {
        while let Some((queue, most)) = round.division.next() {
            if !round.leases.is_empty() && round.time_left().is_zero() {
                break;
            }
            let part = round.settles.take();
            let settles = part.as_ref().map(Part::request).unwrap_or_default();
            let ask = round.ask(most);
            match self.exchange_on(operation, Call::Once, queue, settles, Some(ask)).await {
                Ok(answer) => self.took(round, queue, part, answer).await,
                // The answer returns what was leased, even if other queues failed.
                Err(error) if round.leases.is_empty() => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "the other queues are left to the next call");
                    break;
                }
            }
        }
        if !round.time_left().is_zero() {
            self.reclaim_elsewhere(operation, Call::Once, round).await;
        }
        Ok(())
    }

    /// Passes over the queues of nodes that do not answer; an error if none does.
    async fn glance_at_all<'a>(
        &self,
        operation: &'static str,
        round: &mut Round<'a>,
    ) -> Result<()> {
        let begun = Instant::now();
        let mut away: Vec<Address> = Vec::new();
        let (mut answered, mut failed): (bool, Option<Error>) = (false, None);
        while let Some((queue, most)) = round.division.next() {
            let shared = &*self.shared;
            let node = shared.topology.address_of(&shared.keyspace.marker(queue));
            let late = begun.elapsed() >= shared.op_timeout;
            if late || node.as_ref().is_some_and(|node| away.contains(node)) {
                round.passed(queue);
                continue;
            }
            let ask = round.ask(most);
            match self.exchange_on(operation, Call::Glance, queue, Vec::new(), Some(ask)).await {
                Ok(answer) => {
                    answered = true;
                    self.took(round, queue, None, answer).await;
                }
                Err(error) => {
                    tracing::warn!(%error, %queue, "the queue is left to the next call");
                    failed.get_or_insert(error);
                    away.extend(node);
                    round.passed(queue);
                }
            }
        }
        self.reclaim_elsewhere(operation, Call::Glance, round).await;
        failed.filter(|_| !answered).map_or(Ok(()), Err)
    }

    async fn took<'a>(
        &self,
        round: &mut Round<'a>,
        queue: &QueueName,
        part: Option<Part<'a>>,
        answer: Answer,
    ) {
        let moving = answer.moving;
        round.took(queue, part, answer);
        // The answer returns what was granted, even if this fails.
        if moving && let Err(error) = self.place(queue, round.time_left().min(PLACING)).await {
            tracing::debug!(%error, %queue, "the next call places the rest of its keys");
        }
    }

    /// Takes back leases of the other queues that ran out: a full batch may come from the first
    /// queues alone (contract R5.6).
    async fn reclaim_elsewhere(&self, operation: &'static str, call: Call, round: &Round<'_>) {
        let mut left: Vec<&QueueName> =
            round.request.queues.names().iter().filter(|name| !round.visited(name)).collect();
        let Some(budget) = share(round.budget, &mut left) else {
            return;
        };
        let ask = |queue: &QueueName| {
            let (queue, ask) = (queue.clone(), Ask { budget, ..round.ask(0) });
            async move { self.exchange_on(operation, call, &queue, Vec::new(), Some(ask)).await }
        };
        for answer in join_all(left.into_iter().map(ask)).await {
            if let Err(error) = answer {
                tracing::debug!(%error, "leases that ran out are left to the next call");
            }
        }
    }
}

impl Ask<'_> {
    pub(super) fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

/// Shares the budget among these queues so that all together keep it. If they are too many, it
/// covers some of them, others each time. None if nothing is left.
fn share(budget: Budget, queues: &mut Vec<&QueueName>) -> Option<Budget> {
    let Budget { reclaims, dead_letters } = budget;
    let most = reclaims.min(dead_letters).min(queues.len());
    if most == 0 {
        return None;
    }
    let from = fastrand::usize(..queues.len());
    queues.rotate_left(from);
    queues.truncate(most);
    Some(Budget { reclaims: reclaims / most, dead_letters: dead_letters / most })
}

impl<'a> Round<'a> {
    pub(super) fn new(request: &'a Reserve, time: Duration) -> Self {
        Self {
            request,
            division: request.queues.division(request.limit),
            until: Instant::now() + time,
            budget: Budget::of(request.limit),
            leases: Vec::new(),
            next_in: Vec::new(),
            moving: false,
            settles: None,
            settled: None,
        }
    }

    fn ask(&self, most: usize) -> Ask<'a> {
        Ask { request: self.request, most, budget: self.budget, until: self.until }
    }

    fn time_left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    fn visited(&self, name: &QueueName) -> bool {
        self.next_in.iter().any(|(visited, _)| visited == name)
    }

    fn took(&mut self, queue: &QueueName, part: Option<Part<'a>>, answer: Answer) {
        self.division.got(answer.leases.len());
        self.budget = answer.budget;
        self.leases.extend(answer.leases);
        self.next_in.retain(|(name, _)| name != queue);
        self.next_in.push((queue.clone(), answer.next_in));
        self.moving |= answer.moving;
        self.settled = part.map(|part| (part, answer.outcomes)).or(self.settled.take());
    }

    /// Notes that a queue has not answered.
    fn passed(&mut self, queue: &QueueName) {
        self.division.got(0);
        self.next_in.push((queue.clone(), None));
    }

    pub(super) fn reserved(self) -> Reserved {
        let full = self.leases.len() == self.request.limit;
        let more = self.moving || self.budget.more(self.request.limit, self.leases.len());
        let next_due_in = self.next_in.into_iter().filter_map(|(_, next)| next).min();
        Reserved::new(self.leases, next_due_in.filter(|_| !full), more)
    }
}
