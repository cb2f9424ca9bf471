//! What an operation does to a record: which transition it takes, and what that sets.

use std::time::Duration;

use super::{Held, Record, Transition};
use crate::backend::{
    Ack, AckOutcome, DeadLetter, DeadLetterOutcome, DeadLetterTarget, Lease, Nack, NackOutcome,
    Nonce, Reserve,
};
use crate::capability::{CancelOutcome, CheckpointOutcome, NewCheckpoint, Report};
use crate::clock::Timestamp;
use crate::job::{Checkpoint, ErrorText, Failure, LogLine, Release, State};
use crate::limits::{FAILURES_KEPT, LOG_LINES_KEPT, RELEASES_KEPT};

/// The text of the failure of a lease that expired, and the reason of a job that died of it.
pub const LEASE_EXPIRED: &str = "lease expired";

/// The transition that an operation takes, or its outcome if it changes nothing.
impl Record {
    /// What an ack does (contract R3.3).
    ///
    /// # Errors
    /// The outcome of an ack that changes nothing.
    pub fn check_ack(&self, ack: &Ack) -> Result<Transition, AckOutcome> {
        if self.state == State::Completed && self.was_last_held_by(&ack.lease) {
            return Err(AckOutcome::AlreadyDone);
        }
        self.is_held_by(&ack.lease).then_some(Transition::Ack).ok_or(AckOutcome::LeaseLost)
    }

    /// What a nack does (contract R4).
    ///
    /// # Errors
    /// The outcome of a nack that changes nothing.
    pub fn check_nack(&self, nack: &Nack) -> Result<Transition, NackOutcome> {
        if !self.is_held_by(&nack.lease) {
            return Err(NackOutcome::LeaseLost);
        }
        Ok(super::nack(nack.kind, self.attempts, self.max_attempts, self.cancel_requested))
    }

    /// What a dead-letter does (contract R6.1).
    ///
    /// # Errors
    /// The outcome of a dead-letter that changes nothing.
    pub fn check_dead_letter(&self, dead: &DeadLetter) -> Result<Transition, DeadLetterOutcome> {
        let is_dead = self.state == State::Dead;
        match &dead.target {
            DeadLetterTarget::Lease(lease) if is_dead && self.was_last_held_by(lease) => {
                Err(DeadLetterOutcome::AlreadyDone)
            }
            DeadLetterTarget::Lease(lease) if self.is_held_by(lease) => {
                Ok(Transition::DeadLetterLease)
            }
            DeadLetterTarget::Lease(_) => Err(DeadLetterOutcome::LeaseLost),
            DeadLetterTarget::Job { .. } if is_dead => Err(DeadLetterOutcome::AlreadyDone),
            DeadLetterTarget::Job { force, .. } => {
                super::dead_letter(self.state, *force).ok_or(DeadLetterOutcome::Conflict)
            }
        }
    }

    /// What a cancel does (contract R6.6).
    ///
    /// # Errors
    /// The outcome of a cancel that changes nothing.
    pub fn check_cancel(&self) -> Result<Transition, CancelOutcome> {
        super::cancel(self.state).ok_or(match self.state {
            State::Cancelled => CancelOutcome::AlreadyDone,
            _ => CancelOutcome::Conflict,
        })
    }

    /// What reserve does with it once its lease has expired.
    pub fn on_expiry(&self) -> Transition {
        super::expired(self.attempts, self.max_attempts, self.cancel_requested)
    }
}

/// What a transition sets. Each leaves the state to [`enter`](Record::enter).
impl Record {
    /// Takes the state that the transition ends in; `seq` is a sequence that no job has had.
    pub fn enter(&mut self, state: State, seq: u64, now: Timestamp) {
        self.state = state;
        self.finished_at = state.is_terminal().then_some(now);
        if state.is_terminal() {
            self.end_seq = seq;
        }
    }

    /// A lease is granted to the worker of the request (contract R5.2).
    pub fn grant(&mut self, request: &Reserve, now: Timestamp) -> Lease {
        self.attempts += 1;
        self.lease_seq += 1;
        self.nonce = request.nonce;
        self.lease_expires_at = now + request.ttl.get();
        self.started_at = Some(now);
        self.worker = Some(request.worker.clone());
        self.lease(now)
    }

    /// Its run did not succeed; the transition is that of [`check_nack`](Self::check_nack).
    pub fn nack(&mut self, nack: &Nack, transition: Transition, now: Timestamp) {
        self.break_lease();
        if nack.kind.is_failure() {
            self.add_failure(now, nack.error.clone());
        }
        match transition {
            Transition::RetryLater => self.scheduled_at = now + nack.delay(),
            Transition::Release => {
                self.attempts -= 1;
                self.releases += 1;
                self.scheduled_at = now + nack.delay();
                self.add_release(now, nack);
            }
            Transition::Exhaust | Transition::Fatal => self.reason = Some(nack.error.clone()),
            _ => {}
        }
    }

    /// Its lease is taken back; the transition is that of [`on_expiry`](Self::on_expiry).
    pub fn expire(&mut self, transition: Transition, now: Timestamp) {
        let text = ErrorText::from(LEASE_EXPIRED);
        self.add_failure(now, text.clone());
        self.reason = (transition == Transition::ExpireDead).then_some(text);
        self.break_lease();
    }

    /// It is dead, for this reason.
    pub fn die(&mut self, transition: Transition, reason: ErrorText) {
        self.reason = Some(reason);
        if transition != Transition::DeadLetterLease {
            // The lease was broken: its holder did not do this.
            self.break_lease();
        }
    }

    /// It is retried after a delay (contract R6.3). The store assigns its place.
    pub fn retry(&mut self, now: Timestamp, delay: Duration) {
        self.attempts = 0;
        self.releases = 0;
        self.scheduled_at = now + delay;
        self.deadline_at = self.deadline.map(|deadline| self.scheduled_at + deadline);
        self.cancel_requested = false;
        self.reason = None;
    }

    /// Its run reports (contract R3.8).
    pub fn report(&mut self, report: &Report, now: Timestamp) {
        if report.progress.is_some() {
            self.progress.clone_from(&report.progress);
        }
        self.logs.extend(report.lines.iter().map(|line| LogLine::new(now, line)));
        let surplus = self.logs.len().saturating_sub(LOG_LINES_KEPT);
        self.logs.drain(..surplus);
    }

    /// Its run stores the result of a step (contract R13.10).
    pub fn put_checkpoint(&mut self, new: &NewCheckpoint, now: Timestamp) -> CheckpointOutcome {
        let of_name = self.checkpoints.iter().find(|stored| stored.name == *new.name());
        let held = Held {
            count: self.checkpoints.len(),
            bytes: self.checkpoints.iter().map(|stored| stored.result.len()).sum(),
            same: of_name.map(|stored| stored.result == *new.result()),
        };
        let outcome = super::checkpoint(held, new.result().len());
        if outcome == CheckpointOutcome::Stored && held.same.is_none() {
            let (name, result) = (new.name().clone(), new.result().clone());
            self.checkpoints.push(Checkpoint { name, at: now, result });
        }
        outcome
    }

    /// An operator wants it to begin anew (contract R13.10). Returns whether it had checkpoints.
    pub fn forget_checkpoints(&mut self) -> bool {
        let forgotten = self.state != State::Running && !self.checkpoints.is_empty();
        if forgotten {
            self.checkpoints.clear();
        }
        forgotten
    }

    fn add_failure(&mut self, now: Timestamp, error: ErrorText) {
        let (attempt, lease_seq) = (self.attempts, self.lease_seq);
        let worker = self.worker.clone();
        let started_at = self.started_at;
        self.errors.push_back(Failure { attempt, lease_seq, at: now, started_at, worker, error });
        let surplus = self.errors.len().saturating_sub(FAILURES_KEPT);
        self.errors.drain(..surplus);
    }

    fn add_release(&mut self, now: Timestamp, nack: &Nack) {
        self.released.push_back(Release {
            lease_seq: self.lease_seq,
            at: now,
            started_at: self.started_at,
            worker: self.worker.clone(),
            cause: nack.cause(),
            undecodable: nack.mark().cloned().map(Box::new),
        });
        let surplus = self.released.len().saturating_sub(RELEASES_KEPT);
        self.released.drain(..surplus);
    }

    /// No token matches zeros.
    fn break_lease(&mut self) {
        self.nonce = Nonce::from_bytes([0; 16]);
    }
}
