//! Leasing jobs (contract R5): a call settles leases first, then goes from queue to queue.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use queuekit_core::capability::{Exchanged, Settlement};
use queuekit_core::{AckOutcome, Error, NackOutcome, QueueName, Reserve, Reserved, Result};

use crate::RedisStore;
use crate::address::Address;
use crate::indeterminate::in_part;
use crate::repeat::Call;
use crate::settle::MOST;
use crate::step::{Answer, Ask, Part, Round, exchange, share};

/// How long a reserve places the keys of a queue anew before it continues.
const PLACING: Duration = Duration::from_millis(500);

impl RedisStore {
    pub(crate) async fn reserve_jobs(&self, request: &Reserve) -> Result<Reserved> {
        let exchanged = self.exchange_jobs("reserve", &Settlement::default(), request).await?;
        Ok(exchanged.reserved)
    }

    /// With one queue all is one step; else the settlement goes first.
    pub(crate) async fn exchange_jobs(
        &self,
        operation: &'static str,
        settlement: &Settlement,
        request: &Reserve,
    ) -> Result<Exchanged> {
        self.shared.limits.admit_reserve(request.limit)?;
        let (acks, nacks) = (&settlement.acks, &settlement.nacks);
        let only = match request.queues.names() {
            [only] if request.limit > 0 => Some(only),
            _ => None,
        };
        let all_there = only.is_some_and(|only| {
            settlement.len() <= MOST
                && acks.iter().all(|ack| ack.lease.queue == *only)
                && nacks.iter().all(|nack| nack.lease.queue == *only)
        });
        let (mut exchanged, mut round) =
            (Exchanged::default(), Round::new(request, self.shared.op_timeout));
        let mut settled = false;
        if all_there {
            round.settles = exchange::parts(acks, nacks).into_iter().next().map(|(_, part)| part);
        } else if !settlement.is_empty() {
            (exchanged.acks, exchanged.nacks) = self.settle(operation, acks, nacks).await?;
            settled = true;
        }
        if request.limit == 0 {
            return Ok(exchanged);
        }
        match self.go_round(operation, &mut round).await {
            Ok(()) => {}
            // The answer returns what was settled, even if the rest failed.
            Err(error) if settled => {
                tracing::debug!(%error, "nothing is reserved");
                return Ok(exchanged);
            }
            Err(error) => return Err(error),
        }
        if let (Some(only), Some((part, outcomes))) = (only, round.settled.take()) {
            let rest = self.settle_rest(operation, Call::Once, only, &part, outcomes);
            let outcomes = rest.await.map_err(in_part)?;
            exchanged.acks = vec![AckOutcome::NotFound; acks.len()];
            exchanged.nacks = vec![NackOutcome::NotFound; nacks.len()];
            part.put(&outcomes, &mut exchanged.acks, &mut exchanged.nacks);
            self.stir_after(only, &part, &outcomes);
        }
        exchanged.reserved = round.reserved();
        Ok(exchanged)
    }

    /// Serves the queues of reachable nodes even if one node of a Cluster is unreachable.
    async fn go_round<'a>(&self, operation: &'static str, round: &mut Round<'a>) -> Result<()> {
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
            let settles = part.as_ref().map(Part::whole_request).unwrap_or_default();
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
                tracing::debug!(%error, "expired leases are left to the next call");
            }
        }
    }
}
