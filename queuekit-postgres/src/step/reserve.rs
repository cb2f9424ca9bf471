//! Leasing jobs (contract R5).

use std::time::Duration;

use queuekit_core::backend::AnswerBytes;
use queuekit_core::capability::Settlement;
use queuekit_core::lifecycle::Budget;
use queuekit_core::{Ack, AckOutcome, JobId, NackOutcome, QueueName, Reserve};

use super::hints::Hints;
use super::lease::{Answer, Granted, LeaseCall, bytes};
use super::reclaim::{Refusal, reclaim, refuse};
use super::settle::AckCall;
use super::{Change, ack, dirty_keys, nack};
use crate::error::{Failure, Outcome};
use crate::params::params;
use crate::queues::{self, Known, QueueRow};
use crate::row::{millis, nonce_uuid, unsigned};
use crate::session::Session;
use crate::statements::Sql;

/// One call: the leases it settles first, and the jobs it asks for.
pub(crate) struct Round<'a> {
    /// None once it is committed.
    pub(crate) settlement: Option<&'a Settlement>,
    pub(crate) request: &'a Reserve,
    /// Most jobs of each queue, in the order in which they are served.
    pub(crate) quotas: Vec<(QueueName, usize)>,
    /// With weights, the share of each queue's first turn.
    pub(crate) shares: Vec<(QueueName, usize)>,
    pub(crate) known: &'a Known,
    pub(crate) hints: &'a Hints,
}

/// What was done of a round, by each of its steps alike.
pub(crate) struct Done {
    pub(crate) settled: Option<(Vec<AckOutcome>, Vec<NackOutcome>)>,
    pub(crate) stirred: Vec<QueueRow>,
    pub(crate) leases: Vec<Granted>,
    /// Jobs that were leased and must not be: the answer does not return them.
    pub(crate) refused: Vec<(JobId, Refusal)>,
    pub(crate) budget: Budget,
    /// The rest has to be done under the locks of the queues.
    pub(crate) unfinished: bool,
    /// When the next job is due, if the step found out.
    pub(crate) next_due_in: Option<Option<Duration>>,
}

impl Round<'_> {
    /// Whether one statement can probably do it, by the cached rows; the statement itself finds out
    /// if not.
    pub(crate) fn may_be_fast(&self) -> bool {
        // Core decides what a nack does, between a read and a write: one statement cannot.
        let settles_simply = self.settlement.is_none_or(|settlement| settlement.nacks.is_empty());
        let keyed = |name: &QueueName| self.known.get(name).is_some_and(|row| row.keyed);
        settles_simply && !self.quotas.iter().any(|(name, _)| keyed(name))
    }

    /// The acks, if there is nothing else to settle.
    pub(crate) fn acks_alone(&self) -> Option<&[Ack]> {
        let settlement = self.settlement.filter(|settlement| settlement.nacks.is_empty())?;
        Some(settlement.acks.as_slice()).filter(|acks| !acks.is_empty())
    }

    /// Does everything in one statement, or says that the rest is unfinished.
    pub(crate) async fn try_fast(&self, session: &Session<'_>) -> Outcome<Done> {
        let mut done = Done::new(self.request);
        let (limit, bytes) = (self.request.limit, done.budget.answer);
        let lease = LeaseCall::new((self.request, self.hints), &self.quotas, limit, false, bytes);
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
        answer.count(&mut done.budget.answer);
        done.unfinished = answer.unfinished;
        done.next_due_in = Some(answer.next_due_in);
        done.refused = answer.refused();
        done.leases = answer.into_leases(self.request);
        Ok(done)
    }

    /// Does everything in one transaction, under the locks of the queues with partition keys. None
    /// if it meets a job that cannot be leased: then it has to be made again with `savepoints`.
    pub(crate) async fn careful(
        &self,
        session: &Session<'_>,
        got: usize,
        budget: Budget,
        savepoints: bool,
    ) -> Outcome<Option<Done>> {
        let mut done = Done { budget, ..Done::new(self.request) };
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
        if self.request.limit > got && !done.budget.answer.is_full() {
            let names: Vec<QueueName> = self.quotas.iter().map(|(name, _)| name.clone()).collect();
            reclaim(session, &names, self.hints, &mut done.budget).await?;
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
                if done.budget.answer.is_full() {
                    break;
                }
            }
        }
        session.commit().await?;
        Ok(Some(done))
    }

    /// Takes the locks of queues with partition keys, by number. Returns all queues.
    async fn lock_queues(&self, session: &Session<'_>) -> Outcome<Vec<QueueRow>> {
        let names: Vec<QueueName> = self.quotas.iter().map(|(name, _)| name.clone()).collect();
        let mut rows: Vec<QueueRow> =
            names.iter().filter_map(|name| self.known.get(name)).collect();
        if rows.len() < names.len() {
            rows = queues::named(session, &names).await?;
        }
        loop {
            // Every call takes these locks in the order of their numbers, so no two wait for each
            // other.
            rows.sort_unstable_by_key(|row| row.id);
            for row in rows.iter().filter(|row| row.keyed) {
                session.lock_queue(row.id).await?;
            }
            // Settings may have changed during the wait, or since they were cached.
            let now = queues::named(session, &names).await?;
            self.known.learn(&now);
            let is_locked =
                |new: &QueueRow| !new.keyed || rows.iter().any(|row| row.id == new.id && row.keyed);
            if now.iter().all(is_locked) {
                return Ok(now);
            }
            if rows.iter().any(|row| row.keyed) {
                // Locks must be taken in order, so this begins anew.
                self.known.forget(names);
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
        // Where one job must not be leased there are often many: a round looks at more jobs than it
        // may lease, so that it refuses them at once.
        let mut looks_at = 0;
        while got < most {
            if row.keyed {
                dirty_keys::place(session, self.hints, row).await?;
            }
            if savepoints {
                session.control(Sql::Savepoint).await?;
            }
            let bytes = done.budget.answer;
            let wanted = most - got;
            let answer = self.lease_next(session, row, wanted.max(looks_at), bytes).await?;
            let refused = answer.rows.iter().position(|row| row.refusal.is_some());
            if refused.is_some() && !savepoints {
                return Ok(None);
            }
            if refused.is_some() || answer.rows.len() > wanted {
                session.control(Sql::SavepointRollback).await?;
                self.hints.forget();
                let before = refused.unwrap_or(wanted).min(wanted);
                // It dies in its turn: the next job of its key may then go before others.
                let refused = answer.refused_run(before, done.budget.dead_letters);
                if before > 0 {
                    let answer = self.lease_next(session, row, before, bytes).await?;
                    answer.count(&mut done.budget.answer);
                    got += answer.rows.len();
                    done.leases.extend(answer.into_leases(self.request));
                }
                if got == most || refused.is_empty() {
                    break;
                }
                let ids = refused.iter().map(|(id, _)| *id);
                let change = Change::of_jobs(session, ids, true).await?;
                refuse(change, &refused, &mut done.budget).await?;
                looks_at = done.budget.dead_letters;
                continue;
            }
            let leased = answer.rows.len();
            answer.count(&mut done.budget.answer);
            done.leases.extend(answer.into_leases(self.request));
            got += leased;
            // If a key may have several leases, its next job may be placed now that one is leased.
            if leased == 0 || row.settings.per_key == 1 || done.budget.answer.is_full() {
                break;
            }
        }
        Ok(Some(got))
    }

    /// Leases the next jobs of a queue whose lock the caller holds, if it has one.
    async fn lease_next(
        &self,
        session: &Session<'_>,
        row: &QueueRow,
        most: usize,
        taken: AnswerBytes,
    ) -> Outcome<Answer> {
        if row.is_fair() {
            return self.lease_fairly(session, row, most, taken).await;
        }
        let quota = [(row.name.clone(), most)];
        let call = LeaseCall::new((self.request, self.hints), &quota, most, true, taken);
        let rows = session.query(Sql::Reserve, &call.params()).await?;
        call.answer(&rows)
    }

    async fn lease_fairly(
        &self,
        session: &Session<'_>,
        row: &QueueRow,
        limit: usize,
        taken: AnswerBytes,
    ) -> Outcome<Answer> {
        let request = self.request;
        let (limit, nonce) = (limit as i32, nonce_uuid(request.nonce));
        let (ttl, worker) = (millis(request.ttl.get()), request.worker.as_str());
        let (taken, most) = (bytes(taken.taken()), bytes(taken.most()));
        let params = params![row.id, limit, nonce, ttl, worker, taken, most];
        let rows = session.query(Sql::ReserveFair, params).await?;
        Answer::read(&rows, std::slice::from_ref(&row.name))
    }

    pub(crate) async fn next_due_in(&self, session: &Session<'_>) -> Outcome<Option<Duration>> {
        let names: Vec<&str> = self.quotas.iter().map(|(name, _)| name.as_str()).collect();
        let rows = session.query(Sql::NextDue, params![names]).await?;
        let in_ms = rows.first().map(|row| row.try_get::<_, Option<i64>>("in_ms")).transpose()?;
        Ok(in_ms.flatten().map(|ms| Duration::from_millis(unsigned(ms))))
    }
}

/// Dead-letters or releases jobs that were leased and must not be. Returns what is left of the
/// budget.
pub(crate) async fn clear(
    session: &Session<'_>,
    refused: &[(JobId, Refusal)],
    mut budget: Budget,
) -> Outcome<Budget> {
    session.begin().await?;
    let ids = refused.iter().map(|(id, _)| *id);
    refuse(Change::of_leases(session, ids).await?, refused, &mut budget).await?;
    session.commit().await?;
    Ok(budget)
}

impl Done {
    pub(crate) fn new(request: &Reserve) -> Self {
        Self {
            settled: None,
            stirred: Vec::new(),
            leases: Vec::new(),
            refused: Vec::new(),
            budget: Budget::of(request),
            unfinished: false,
            next_due_in: None,
        }
    }

    /// Whether it has changed anything.
    pub(crate) fn has_changed(&self) -> bool {
        self.settled.is_some() || !self.leases.is_empty()
    }

    /// Both: this, and the rest that was done after it.
    pub(crate) fn and(mut self, rest: Self) -> Self {
        self.leases.extend(rest.leases);
        self.stirred.extend(rest.stirred);
        Self {
            settled: self.settled.or(rest.settled),
            stirred: self.stirred,
            leases: self.leases,
            ..rest
        }
    }
}
