//! Leasing jobs (contract R5).

use std::time::Duration;

use queuekit_core::capability::{Exchanged, Settlement};
use queuekit_core::lifecycle::Budget;
use queuekit_core::{JobId, QueueName, Reserve, Reserved, Result};

use super::agenda::{lock, place};
use super::lease::{Answer, Granted, LeaseCall};
use super::reclaim::{Doom, reclaim, refuse};
use super::settle::AckCall;
use super::{Change, ack, nack};
use crate::PostgresStore;
use crate::call::Call;
use crate::error::{Failure, Outcome};
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::{millis, nonce_uuid, unsigned};
use crate::session::Session;
use crate::statements::Sql;

/// One call: the leases it settles first, and the jobs it asks for.
pub(crate) struct Round<'a> {
    pub(super) store: &'a PostgresStore,
    settlement: Option<&'a Settlement>,
    pub(super) request: &'a Reserve,
    /// Most jobs of each queue, in the order in which they are served.
    quotas: Vec<(QueueName, usize)>,
}

/// The result of a round.
struct Done {
    settled: Option<(Vec<queuekit_core::AckOutcome>, Vec<queuekit_core::NackOutcome>)>,
    stirred: Vec<QueueRow>,
    leases: Vec<Granted>,
    /// Jobs that were leased and must not be: the answer does not return them.
    doomed: Vec<(JobId, Doom)>,
    budget: Budget,
    /// It has to be made again in the long way, under locks.
    unfinished: bool,
    /// When the next job is due, if the round found out.
    next_due_in: Option<Option<Duration>>,
}

impl PostgresStore {
    pub(crate) async fn reserve_jobs(&self, request: &Reserve) -> Result<Reserved> {
        Ok(self.round("reserve", None, request).await?.reserved)
    }

    pub(crate) async fn round(
        &self,
        operation: &'static str,
        settlement: Option<&Settlement>,
        request: &Reserve,
    ) -> Result<Exchanged> {
        self.shared.limits.admit_reserve(request.limit)?;
        let quotas = self.quotas(request).await?;
        let mut round = Round { store: self, settlement, request, quotas };
        let mut done = None;
        if round.may_be_quick() {
            let quick = self.call(operation, Call::Once, &round, |round, session| {
                Box::pin(round.quickly(session))
            });
            let mut quick = quick.await?;
            self.refuse_doomed(operation, &mut quick).await;
            if !quick.unfinished {
                return round.answer(quick).await;
            }
            // The settlement is committed: the rest is a call of its own.
            round.settlement = None;
            done = Some(quick);
        } else if let Some(acked) = round.settle_apart(operation).await? {
            round.settlement = None;
            done = Some(acked);
        }
        let got = done.as_ref().map_or(0, |done| done.leases.len());
        let budget = done.as_ref().map_or(Budget::of(request.limit), |done| done.budget);
        let mut long = None;
        for savepoints in [false, true] {
            let input = (&round, got, budget, savepoints);
            let call = self.call(operation, Call::Once, input, |input, session| {
                let (round, got, budget, savepoints) = *input;
                Box::pin(async move {
                    let done = round.carefully(session, got, budget, savepoints).await;
                    if !matches!(done, Ok(Some(_))) {
                        // The jobs it took are back at their places.
                        round.store.shared.hints.forget();
                    }
                    done
                })
            });
            long = match (call.await, &done) {
                (Ok(long), _) => long,
                // The answer returns what was done, even if the rest failed (contract R5.10).
                (Err(error), Some(quick)) if quick.has_changed() => {
                    tracing::debug!(%error, "the next call does the rest of this one");
                    break;
                }
                (Err(error), _) => return Err(error),
            };
            if long.is_some() {
                break;
            }
        }
        let mut long = long.unwrap_or(Done { budget, ..Done::new(request.limit) });
        if let Some(quick) = done {
            long.settled = quick.settled;
            long.stirred.extend(quick.stirred);
            let got = std::mem::replace(&mut long.leases, quick.leases);
            long.leases.extend(got);
        }
        round.answer(long).await
    }

    /// Dead-letters or releases jobs that were leased and must not be. If that fails, the leases
    /// run out by themselves, and a later call meets the jobs again.
    async fn refuse_doomed(&self, operation: &'static str, quick: &mut Done) {
        if quick.doomed.is_empty() {
            return;
        }
        let input = (std::mem::take(&mut quick.doomed), quick.budget);
        let refused = self.call(operation, Call::Repeatable, input, |input, session| {
            Box::pin(async move {
                let (doomed, mut budget) = (&input.0, input.1);
                session.begin().await?;
                let ids = doomed.iter().map(|(id, _)| *id);
                refuse(Change::of_leases(session, ids).await?, doomed, &mut budget).await?;
                session.commit().await?;
                Ok(budget)
            })
        });
        match refused.await {
            Ok(budget) => {
                quick.budget = budget;
                quick.unfinished = budget.dead_letters > 0;
            }
            Err(error) => tracing::debug!(%error, "jobs that cannot run stay leased until expiry"),
        }
    }
}

impl Round<'_> {
    /// Whether one statement can probably do it, by the cached rows; the statement itself finds out
    /// if not.
    fn may_be_quick(&self) -> bool {
        let known = |name: &QueueName| self.store.shared.known.get(name);
        let settles_simply = self.settlement.is_none_or(|settlement| settlement.nacks.is_empty());
        settles_simply
            && !self.quotas.iter().any(|(name, _)| known(name).is_some_and(|row| row.keyed))
    }

    /// Settles before it takes the queues' locks, if there are only acks: so acks do not wait for
    /// them.
    async fn settle_apart(&self, operation: &'static str) -> Result<Option<Done>> {
        let settlement = self.settlement.filter(|settlement| settlement.nacks.is_empty());
        let Some(settlement) = settlement.filter(|settlement| !settlement.acks.is_empty()) else {
            return Ok(None);
        };
        let acks = &settlement.acks;
        let acked = self.store.call(operation, Call::Repeatable, acks, |acks, session| {
            Box::pin(ack(session, acks, true))
        });
        let settled = Some((acked.await?, Vec::new()));
        Ok(Some(Done { settled, ..Done::new(self.request.limit) }))
    }

    async fn quickly(&self, session: &Session<'_>) -> Outcome<Done> {
        let mut done = Done::new(self.request.limit);
        let lease = LeaseCall::new(self, &self.quotas, self.request.limit, false);
        let rows = match self.settlement.filter(|settlement| !settlement.is_empty()) {
            None if self.request.limit == 0 => return Ok(done),
            None => session.settle(Sql::Reserve, &lease.params()).await?,
            Some(settlement) => {
                let acks = AckCall::new(&settlement.acks);
                let calls = ((Sql::Ack, &acks.params()[..]), (Sql::Reserve, &lease.params()[..]));
                let (acked, rows) = session.settle_both(calls.0, calls.1).await?;
                session.has_applied();
                done.settled = Some((acks.outcomes(session, &acked).await?, Vec::new()));
                rows
            }
        };
        let answer = lease.answer(&rows)?;
        done.unfinished = answer.unfinished;
        done.next_due_in = Some(answer.next_due_in);
        done.doomed = answer.doomed();
        done.leases = answer.into_leases(self.request);
        Ok(done)
    }

    /// Does everything in one transaction, under the locks of the queues with partition keys. None
    /// if it meets a job that cannot be leased: then it has to be made again with `savepoints`.
    async fn carefully(
        &self,
        session: &Session<'_>,
        got: usize,
        budget: Budget,
        savepoints: bool,
    ) -> Outcome<Option<Done>> {
        let mut done = Done { budget, ..Done::new(self.request.limit) };
        session.begin_settling().await?;
        let rows = self.lock_queues(session).await?;
        if let Some(settlement) = self.settlement {
            let acked = match settlement.acks.is_empty() {
                true => Vec::new(),
                false => ack(session, &settlement.acks, false).await?,
            };
            let (nacked, stirred) = match settlement.nacks.is_empty() {
                true => Default::default(),
                false => nack(session, &settlement.nacks).await?,
            };
            done.settled = Some((acked, nacked));
            done.stirred = stirred;
        }
        if self.request.limit > got {
            let names: Vec<QueueName> = self.quotas.iter().map(|(name, _)| name.clone()).collect();
            reclaim(session, &names, &self.store.shared.hints, &mut done.budget).await?;
            let mut left = self.request.limit - got;
            for (name, most) in &self.quotas {
                let row = rows.iter().find(|row| row.name == *name);
                let Some(row) = row.filter(|row| !row.settings.paused) else {
                    continue;
                };
                let most = left.min(*most);
                match self.lease_from(session, row, most, &mut done, savepoints).await? {
                    Some(leased) => left -= leased,
                    None => return Ok(None),
                }
            }
        }
        session.commit().await?;
        Ok(Some(done))
    }

    /// Takes the locks of queues with partition keys, by number. Returns all queues.
    async fn lock_queues(&self, session: &Session<'_>) -> Outcome<Vec<QueueRow>> {
        let known = &self.store.shared.known;
        let names: Vec<QueueName> = self.quotas.iter().map(|(name, _)| name.clone()).collect();
        let mut rows: Vec<QueueRow> = names.iter().filter_map(|name| known.get(name)).collect();
        if rows.len() < names.len() {
            rows = queues::named(session, &names).await?;
        }
        loop {
            rows.sort_unstable_by_key(|row| row.id);
            for row in rows.iter().filter(|row| row.keyed) {
                lock(self.store, session, row).await?;
            }
            // Settings may have changed during the wait, or since they were cached.
            let now = queues::named(session, &names).await?;
            known.learn(&now);
            let is_locked =
                |new: &QueueRow| !new.keyed || rows.iter().any(|row| row.id == new.id && row.keyed);
            if now.iter().all(is_locked) {
                return Ok(now);
            }
            if rows.iter().any(|row| row.keyed) {
                // Locks must be taken in order, so this begins anew.
                known.forget(names);
                return Err(Failure::transient("a queue has just begun to use partition keys"));
            }
            rows = now;
        }
    }

    /// Leases from one queue whose lock is held, if it has one.
    async fn lease_from(
        &self,
        session: &Session<'_>,
        row: &QueueRow,
        most: usize,
        done: &mut Done,
        savepoints: bool,
    ) -> Outcome<Option<usize>> {
        let mut got = 0;
        while got < most {
            if row.keyed {
                place(self.store, session, row).await?;
            }
            if savepoints {
                session.control(Sql::Savepoint).await?;
            }
            let answer = self.lease_next(session, row, most - got).await?;
            if let Some(before) = answer.rows.iter().position(|row| row.doom.is_some()) {
                if !savepoints {
                    return Ok(None);
                }
                // It dies in its turn: the next job of its key may then go before others.
                let doomed = answer.doomed_run(before, done.budget.dead_letters);
                session.control(Sql::SavepointRollback).await?;
                self.store.shared.hints.forget();
                if before > 0 {
                    let answer = self.lease_next(session, row, before).await?;
                    got += answer.rows.len();
                    done.leases.extend(answer.into_leases(self.request));
                }
                if doomed.is_empty() {
                    break;
                }
                let ids = doomed.iter().map(|(id, _)| *id);
                let lock_class = self.store.shared.lock_class;
                let change = Change::of_jobs(session, lock_class, ids, true).await?;
                refuse(change, &doomed, &mut done.budget).await?;
                continue;
            }
            let leased = answer.rows.len();
            done.leases.extend(answer.into_leases(self.request));
            got += leased;
            if leased == 0 || row.settings.per_key == 1 {
                break;
            }
        }
        Ok(Some(got))
    }

    async fn lease_next(
        &self,
        session: &Session<'_>,
        row: &QueueRow,
        most: usize,
    ) -> Outcome<Answer> {
        if row.is_fair() {
            return self.lease_fairly(session, row, most).await;
        }
        let quota = [(row.name.clone(), most)];
        let call = LeaseCall::new(self, &quota, most, true);
        let rows = session.query(Sql::Reserve, &call.params()).await?;
        call.answer(&rows)
    }

    async fn lease_fairly(
        &self,
        session: &Session<'_>,
        row: &QueueRow,
        limit: usize,
    ) -> Outcome<Answer> {
        let request = self.request;
        let (limit, nonce) = (limit as i32, nonce_uuid(request.nonce));
        let (ttl, worker) = (millis(request.ttl.get()), request.worker.as_str());
        let params = params![row.id, limit, nonce, ttl, worker];
        let rows = session.query(Sql::ReserveFair, params).await?;
        Answer::read(&rows, std::slice::from_ref(&row.name))
    }

    async fn answer(&self, done: Done) -> Result<Exchanged> {
        let limit = self.request.limit;
        let full = done.leases.len() == limit && limit > 0;
        let more = done.budget.more(limit, done.leases.len());
        let leased = !done.leases.is_empty();
        let next_due_in = match done.next_due_in {
            _ if full || limit == 0 => None,
            // The statement does not see the leases it granted itself.
            Some(known) => {
                let own = leased.then(|| self.request.ttl.get());
                known.into_iter().chain(own).min()
            }
            // Only a hint, so its failure does not fail the call: without it the caller polls.
            None => self.next_due_in().await.unwrap_or_else(|error| {
                tracing::debug!(%error, "could not read when the next job is due");
                None
            }),
        };
        self.store.stir(done.stirred.iter().map(|row| &row.name));
        let (acks, nacks) = done.settled.unwrap_or_default();
        let leases = self.store.with_payloads(done.leases).await;
        let reserved = Reserved::new(leases, next_due_in, more);
        Ok(Exchanged { acks, nacks, reserved })
    }

    async fn next_due_in(&self) -> Result<Option<Duration>> {
        let names: Vec<&str> = self.quotas.iter().map(|(name, _)| name.as_str()).collect();
        let next = self.store.call("reserve", Call::Repeatable, names, |names, session| {
            Box::pin(async move {
                let rows = session.query(Sql::NextDue, params![*names]).await?;
                let in_ms =
                    rows.first().map(|row| row.try_get::<_, Option<i64>>("in_ms")).transpose()?;
                Ok(in_ms.flatten().map(|ms| Duration::from_millis(unsigned(ms))))
            })
        });
        next.await
    }
}

impl Done {
    /// Whether the round has changed anything.
    fn has_changed(&self) -> bool {
        self.settled.is_some() || !self.leases.is_empty()
    }

    fn new(limit: usize) -> Self {
        Self {
            settled: None,
            stirred: Vec::new(),
            leases: Vec::new(),
            doomed: Vec::new(),
            budget: Budget::of(limit),
            unfinished: false,
            next_due_in: None,
        }
    }
}
