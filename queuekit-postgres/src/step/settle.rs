//! Ending leases (contract R3, R4, R6.1), fenced.

use std::collections::{BTreeSet, HashSet};

use queuekit_core::lifecycle::{self, Transition};
use queuekit_core::{
    Ack, AckOutcome, DeadLetter, DeadLetterOutcome, DeadLetterTarget, ErrorText, JobId, LeaseToken,
    Nack, NackOutcome, State,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Change;
use crate::error::{Outcome, unreadable};
use crate::params::{Typed, not_at_all, once, typed};
use crate::queues::QueueRow;
use crate::row::{Record, job_id, job_uuid, nonce_uuid};
use crate::session::Session;
use crate::statements::Sql;

/// Acks in the form that the statement takes.
pub(super) struct AckCall<'a> {
    acks: &'a [Ack],
    ids: Vec<Uuid>,
    seqs: Vec<i64>,
    nonces: Vec<Uuid>,
    results: Vec<Option<&'a [u8]>>,
    queues: Vec<&'a str>,
}

/// Completes jobs. Outside a transaction, the statement is one of its own.
pub(crate) async fn ack(
    session: &Session<'_>,
    acks: &[Ack],
    alone: bool,
) -> Outcome<Vec<AckOutcome>> {
    let call = AckCall::new(acks);
    if !alone {
        let rows = session.query(Sql::Ack, &call.params()).await?;
        return call.outcomes(session, &rows).await;
    }
    let rows = session.settle(Sql::Ack, &call.params()).await?;
    session.has_applied();
    call.outcomes(session, &rows).await
}

impl<'a> AckCall<'a> {
    pub(super) fn new(acks: &'a [Ack]) -> Self {
        let mut order: Vec<&Ack> = acks.iter().filter(|ack| ack.lease.is_coherent()).collect();
        order.sort_by_key(|ack| ack.lease.id);
        order.dedup_by(|later, first| later.lease == first.lease);
        let leases = || order.iter().map(|ack| &ack.lease);
        Self {
            acks,
            ids: leases().map(|lease| job_uuid(lease.id)).collect(),
            seqs: once(leases().map(|lease| lease.lease_seq.cast_signed()).collect()),
            nonces: once(leases().map(|lease| nonce_uuid(lease.nonce)).collect()),
            results: not_at_all(order.iter().map(|ack| ack.result.as_deref()).collect()),
            queues: once(leases().map(|lease| lease.queue.as_str()).collect()),
        }
    }

    pub(super) fn params(&self) -> [Typed<'_>; 5] {
        let Self { ids, seqs, nonces, results, queues, acks: _ } = self;
        [typed(ids), typed(seqs), typed(nonces), typed(results), typed(queues)]
    }

    pub(super) async fn outcomes(
        &self,
        session: &Session<'_>,
        rows: &[Row],
    ) -> Outcome<Vec<AckOutcome>> {
        let row = rows.first().ok_or_else(|| unreadable("the answer to an ack"))?;
        let acked: i64 = row.try_get("acked")?;
        if acked == self.acks.len() as i64 {
            return Ok(vec![AckOutcome::Acked; self.acks.len()]);
        }
        let told: Option<Vec<Uuid>> = row.try_get("ids")?;
        let all = || if acked > 0 { self.ids.clone() } else { Vec::new() };
        let acked = told.unwrap_or_else(all).into_iter().map(job_id);
        outcomes(session, self.acks, acked.collect()).await
    }
}

/// The outcome of each ack, if the statement completed only some: the stored jobs show why.
async fn outcomes(
    session: &Session<'_>,
    acks: &[Ack],
    mut acked: HashSet<JobId>,
) -> Outcome<Vec<AckOutcome>> {
    let ids: BTreeSet<JobId> = acks.iter().map(|ack| ack.lease.id).collect();
    let change = Change::read(session, ids.into_iter().map(job_uuid).collect()).await?;
    let mut outcomes = Vec::with_capacity(acks.len());
    for ack in acks {
        let lease = &ack.lease;
        outcomes.push(match change.job_of_lease(lease)? {
            None => AckOutcome::NotFound,
            Some((record, true))
                if record.state == State::Completed && record.was_last_held_by(lease) =>
            {
                match acked.remove(&lease.id) {
                    true => AckOutcome::Acked,
                    false => AckOutcome::AlreadyDone,
                }
            }
            Some(_) => AckOutcome::LeaseLost,
        });
    }
    Ok(outcomes)
}

/// In the transaction that was begun.
pub(crate) async fn nack(
    session: &Session<'_>,
    nacks: &[Nack],
) -> Outcome<(Vec<NackOutcome>, Vec<QueueRow>)> {
    let mut change = Change::of_leases(session, nacks.iter().map(|nack| nack.lease.id)).await?;
    let mut outcomes = Vec::with_capacity(nacks.len());
    for nack in nacks {
        outcomes.push(nack_one(&mut change, nack).await?);
    }
    Ok((outcomes, change.finish().await?))
}

async fn nack_one(change: &mut Change<'_>, nack: &Nack) -> Outcome<NackOutcome> {
    let Some((record, of_queue)) = change.job_of_lease(&nack.lease)? else {
        return Ok(NackOutcome::NotFound);
    };
    if !of_queue || !record.is_held_by(&nack.lease) {
        return Ok(NackOutcome::LeaseLost);
    }
    let (attempts, most, cancelled) =
        (record.attempts, record.max_attempts, record.cancel_requested);
    let transition = lifecycle::nack(nack.kind, attempts, most, cancelled);
    let id = nack.lease.id;
    if nack.kind.is_failure() {
        change.add_failure(id, &nack.error);
    }
    change.count_error(id, transition, nack.kind.is_failure(), nack.error.as_str());
    if transition == Transition::Release {
        change.add_release(id, nack);
    }
    let (now, after) = (change.now, nack.delay());
    change
        .apply(id, transition, |record| {
            record.nonce = None;
            match transition {
                Transition::RetryLater => record.scheduled_at = now + after,
                Transition::Release => {
                    record.attempts = record.attempts.saturating_sub(1);
                    record.releases += 1;
                    record.scheduled_at = now + after;
                }
                Transition::Exhaust | Transition::Fatal => {
                    record.reason = Some(nack.error.as_str().to_owned());
                }
                _ => {}
            }
        })
        .await?;
    Ok(lifecycle::nack_outcome(transition, after))
}

/// In the transaction that was begun.
pub(crate) async fn dead_letter(
    session: &Session<'_>,
    dead_letters: &[DeadLetter],
) -> Outcome<(Vec<DeadLetterOutcome>, Vec<QueueRow>)> {
    let by_lease =
        |dead_letter: &DeadLetter| matches!(dead_letter.target, DeadLetterTarget::Lease(_));
    let ids = dead_letters.iter().map(|dead_letter| match &dead_letter.target {
        DeadLetterTarget::Lease(lease) => lease.id,
        DeadLetterTarget::Job { id, .. } => *id,
    });
    let mut change = if dead_letters.iter().all(by_lease) {
        Change::of_leases(session, ids).await?
    } else {
        Change::of_jobs(session, ids, true).await?
    };
    let mut outcomes = Vec::with_capacity(dead_letters.len());
    for dead_letter in dead_letters {
        outcomes.push(match &dead_letter.target {
            DeadLetterTarget::Lease(lease) => {
                dead_letter_lease(&mut change, lease, &dead_letter.reason).await?
            }
            DeadLetterTarget::Job { id, force } => {
                dead_letter_job(&mut change, *id, *force, &dead_letter.reason).await?
            }
        });
    }
    Ok((outcomes, change.finish().await?))
}

async fn dead_letter_lease(
    change: &mut Change<'_>,
    lease: &LeaseToken,
    reason: &ErrorText,
) -> Outcome<DeadLetterOutcome> {
    let Some((record, of_queue)) = change.job_of_lease(lease)? else {
        return Ok(DeadLetterOutcome::NotFound);
    };
    let last_held = of_queue && record.was_last_held_by(lease);
    match record.state {
        State::Dead if last_held => return Ok(DeadLetterOutcome::AlreadyDone),
        State::Running if last_held => {}
        _ => return Ok(DeadLetterOutcome::LeaseLost),
    }
    change.dead_letter(lease.id, Transition::DeadLetterLease, reason).await?;
    Ok(DeadLetterOutcome::DeadLettered)
}

async fn dead_letter_job(
    change: &mut Change<'_>,
    id: JobId,
    force: bool,
    reason: &ErrorText,
) -> Outcome<DeadLetterOutcome> {
    let state = match change.record(id).map(|record: &Record| record.state) {
        None => return Ok(DeadLetterOutcome::NotFound),
        Some(State::Dead) => return Ok(DeadLetterOutcome::AlreadyDone),
        Some(state) => state,
    };
    let Some(transition) = lifecycle::dead_letter(state, force) else {
        return Ok(DeadLetterOutcome::Conflict);
    };
    change.dead_letter(id, transition, reason).await?;
    Ok(DeadLetterOutcome::DeadLettered)
}
