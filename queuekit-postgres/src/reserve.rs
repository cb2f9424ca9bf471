//! Settling and leasing jobs in one call (contract R5): which steps it takes, and what it answers.

use std::collections::HashMap;

use queuekit_core::capability::{Exchanged, Settlement};
use queuekit_core::{Lease, QueueName, Queues, Reserve, Reserved, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::step::{self, Done, Granted, Payloads, Round};

/// A number of jobs for each queue.
type Quotas = Vec<(QueueName, usize)>;

impl PostgresStore {
    pub(crate) async fn reserve_jobs(&self, request: &Reserve) -> Result<Reserved> {
        Ok(self.settle_and_reserve("reserve", None, request).await?.reserved)
    }

    pub(crate) async fn settle_and_reserve(
        &self,
        operation: &'static str,
        settlement: Option<&Settlement>,
        request: &Reserve,
    ) -> Result<Exchanged> {
        let shared = &*self.shared;
        shared.limits.admit_reserve(request.limit)?;
        let (quotas, shares) = self.quotas(request).await?;
        let (known, hints) = (&shared.known, &shared.hints);
        let mut round = Round { settlement, request, quotas, shares, known, hints };
        let mut done = if round.may_be_fast() {
            let mut done = self.try_fast(operation, &round).await?;
            self.clear(operation, &mut done).await;
            done
        } else {
            self.settle_first(operation, &round).await?
        };
        if done.unfinished {
            if done.settled.is_some() {
                // It is committed: the rest is a call of its own.
                round.settlement = None;
            }
            // The rest changes when the next job is due.
            done.next_due_in = None;
            match self.careful(operation, &round, &done).await {
                Ok(rest) => done = done.and(rest),
                // The answer returns what was done, even if the rest failed (contract R5.10).
                Err(error) if done.has_changed() => {
                    tracing::debug!(%error, "the next call does the rest of this one");
                }
                Err(error) => return Err(error),
            }
        }
        self.answer(&round, done).await
    }

    /// How many jobs of each queue are wanted: the whole limit of each queue in the order listed,
    /// or, with weights, shares of the limit by what each queue has; and with weights the shares of
    /// their first turns, by weight alone, of the queues that have jobs.
    async fn quotas(&self, request: &Reserve) -> Result<(Quotas, Quotas)> {
        let names = request.queues.names();
        let Queues::Weighted(_) = &request.queues else {
            let quotas = names.iter().map(|name| (name.clone(), request.limit)).collect();
            return Ok((quotas, Vec::new()));
        };
        let input = (&self.shared.hints, names, request.limit);
        let first = self.first_lock(names.iter());
        let available =
            self.call_behind(first, "reserve", Call::Repeatable, input, |input, session| {
                let (hints, names, limit) = *input;
                Box::pin(async move {
                    let available = step::available(session, hints, names, limit).await;
                    // If it failed, the keys that it placed are back in the agenda.
                    available.inspect_err(|_| hints.forget())
                })
            });
        let mut available: HashMap<QueueName, usize> = available.await?;
        // In the order of their turns: the answer may be full before the last.
        let mut quotas: Vec<(QueueName, usize)> = Vec::with_capacity(names.len());
        let mut shares = Vec::with_capacity(names.len());
        request.queues.divide(request.limit, |name, share| {
            let left = available.entry(name.clone()).or_default();
            let got = share.min(*left);
            *left -= got;
            match quotas.iter_mut().find(|(queue, _)| queue == name) {
                Some((_, quota)) => *quota += got,
                None => {
                    quotas.push((name.clone(), got));
                    if *left > 0 || got > 0 {
                        shares.push((name.clone(), share));
                    }
                }
            }
            Ok(got.into())
        })?;
        // Nothing is leased from the other queues, but their expired leases are reclaimed.
        for name in names {
            if !quotas.iter().any(|(queue, _)| queue == name) {
                quotas.push((name.clone(), 0));
            }
        }
        Ok((quotas, shares))
    }

    /// Settles before the queues' locks are taken, if there are only acks: so acks do not wait for
    /// them. The jobs are leased after that.
    async fn settle_first(&self, operation: &'static str, round: &Round<'_>) -> Result<Done> {
        let mut done = Done { unfinished: true, ..Done::new(round.request) };
        if let Some(acks) = round.acks_alone() {
            let acked = self.call(operation, Call::Repeatable, acks, |acks, session| {
                Box::pin(step::ack(session, acks, true))
            });
            done.settled = Some((acked.await?, Vec::new()));
        }
        Ok(done)
    }

    /// Does everything in one statement, which finds out whether it can.
    async fn try_fast(&self, operation: &'static str, round: &Round<'_>) -> Result<Done> {
        let fast = self
            // A repeat would lease further jobs.
            .call(operation, Call::Once, round, |round, session| Box::pin(round.try_fast(session)));
        fast.await
    }

    /// Dead-letters or releases jobs that were leased and must not be. If that fails, the leases
    /// run out by themselves, and a later call meets the jobs again.
    async fn clear(&self, operation: &'static str, done: &mut Done) {
        if done.refused.is_empty() {
            return;
        }
        let input = (std::mem::take(&mut done.refused), done.budget);
        let cleared = self.call(operation, Call::Repeatable, input, |input, session| {
            Box::pin(step::clear(session, &input.0, input.1))
        });
        match cleared.await {
            Ok(budget) => {
                done.budget = budget;
                done.unfinished = budget.dead_letters > 0;
            }
            Err(error) => tracing::debug!(%error, "jobs that cannot run stay leased until expiry"),
        }
    }

    /// Does the rest under the locks of the queues with partition keys. The first try has no
    /// savepoints: most rounds meet only jobs that can be leased.
    async fn careful(
        &self,
        operation: &'static str,
        round: &Round<'_>,
        done: &Done,
    ) -> Result<Done> {
        for savepoints in [false, true] {
            let input = (round, done.leases.len(), done.budget, savepoints);
            let first = self.first_lock(round.quotas.iter().map(|(name, _)| name));
            let rest = self.call_behind(first, operation, Call::Once, input, |input, session| {
                let (round, got, budget, savepoints) = *input;
                Box::pin(async move {
                    let rest = round.careful(session, got, budget, savepoints).await;
                    if !matches!(rest, Ok(Some(_))) {
                        // The jobs it took are back at their places.
                        round.hints.forget();
                    }
                    rest
                })
            });
            if let Some(rest) = rest.await? {
                return Ok(rest);
            }
        }
        Ok(Done { budget: done.budget, ..Done::new(round.request) })
    }

    /// The queue whose lock a call on these queues takes first, by the cached rows.
    fn first_lock<'a>(&self, names: impl Iterator<Item = &'a QueueName>) -> Option<i32> {
        let rows = names.filter_map(|name| self.shared.known.get(name));
        rows.filter(|row| row.keyed).map(|row| row.id).min()
    }

    async fn answer(&self, round: &Round<'_>, done: Done) -> Result<Exchanged> {
        let request = round.request;
        let full = done.leases.len() == request.limit && request.limit > 0;
        let more = done.budget.more(request.limit, done.leases.len());
        if done.budget.answer.is_full() {
            give_back(round, &done.leases);
        }
        let next_due_in = match done.next_due_in {
            _ if full || request.limit == 0 => None,
            // The statement does not see the leases it granted itself.
            Some(known) => {
                let own = (!done.leases.is_empty()).then(|| request.ttl.get());
                known.into_iter().chain(own).min()
            }
            // Only a hint, so its failure does not fail the call: without it the caller polls.
            None => {
                let next = self.call("reserve", Call::Repeatable, round, |round, session| {
                    Box::pin(round.next_due_in(session))
                });
                next.await.unwrap_or_else(|error| {
                    tracing::debug!(%error, "could not read when the next job is due");
                    None
                })
            }
        };
        self.stir(done.stirred.iter().map(|row| &row.name));
        let (acks, nacks) = done.settled.unwrap_or_default();
        let leases = self.with_payloads(done.leases).await;
        Ok(Exchanged { acks, nacks, reserved: Reserved::new(leases, next_due_in, more) })
    }

    /// Adds to leases the payloads of their events. A lease whose payload cannot be read is not
    /// returned: it runs out, and the job is leased again later.
    async fn with_payloads(&self, granted: Vec<Granted>) -> Vec<Lease> {
        let wanted: Vec<_> = granted
            .iter()
            .filter_map(|granted| Some((granted.event?, granted.lease.token.id)))
            .collect();
        let payloads = if wanted.is_empty() {
            Payloads::default()
        } else {
            let read = self.call("reserve", Call::Repeatable, wanted, |wanted, session| {
                Box::pin(step::payloads(session, wanted))
            });
            read.await.unwrap_or_else(|error| {
                tracing::debug!(%error, "unread deliveries stay leased until their leases expire");
                Payloads::default()
            })
        };
        granted.into_iter().filter_map(|granted| payloads.complete(granted)).collect()
    }
}

/// Gives back the shares of queues that the bytes of the answer left nothing for.
fn give_back(round: &Round<'_>, leases: &[Granted]) {
    let of = |name: &QueueName| leases.iter().filter(|it| it.lease.token.queue == *name).count();
    let shares = round.shares.iter();
    let given: Vec<_> = shares.map(|(name, share)| (name.clone(), *share, of(name))).collect();
    round.request.queues.give_back(&given);
}
