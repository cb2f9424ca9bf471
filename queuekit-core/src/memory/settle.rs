//! Ending leases (contract R3, R4, R6.1), fenced.

use super::Faults;
use super::tables::Tables;
use crate::backend::{
    Ack, AckOutcome, Burial, BurialTarget, BuryOutcome, LeaseToken, Nack, NackKind, NackOutcome,
    Nonce,
};
use crate::job::{ErrorText, JobId, State};
use crate::lifecycle::{self, Transition};

impl Tables {
    pub(super) fn ack(&mut self, ack: &Ack, faults: &Faults) -> AckOutcome {
        let Some(record) = self.jobs.get(&ack.lease.id) else {
            return AckOutcome::NotFound;
        };
        if record.state == State::Completed && record.was_last_held_by(&ack.lease) {
            return AckOutcome::AlreadyDone;
        }
        if !record.is_held_by(&ack.lease) {
            return AckOutcome::LeaseLost;
        }
        if faults.take_crash_before_ack() || faults.take_lost_lease() {
            self.expire(ack.lease.id);
            return AckOutcome::LeaseLost;
        }
        self.apply(ack.lease.id, Transition::Ack, |record| record.result = ack.result.clone());
        AckOutcome::Acked
    }

    pub(super) fn nack(&mut self, nack: &Nack, faults: &Faults) -> NackOutcome {
        let Some(record) = self.jobs.get(&nack.lease.id) else {
            return NackOutcome::NotFound;
        };
        if !record.is_held_by(&nack.lease) {
            return NackOutcome::LeaseLost;
        }
        if faults.take_lost_lease() {
            self.expire(nack.lease.id);
            return NackOutcome::LeaseLost;
        }
        let cancelled = record.cancel_requested;
        let transition =
            lifecycle::nack(nack.kind, record.attempts, record.max_attempts, cancelled);
        let (now, after) = (self.now, nack.delay());
        self.apply(nack.lease.id, transition, |record| {
            record.nonce = Nonce::from_bytes([0; 16]);
            if matches!(nack.kind, NackKind::Retry | NackKind::Fatal) {
                record.add_failure(now, nack.error.clone());
            }
            match transition {
                Transition::RetryLater => record.scheduled_at = now + after,
                Transition::Release => {
                    record.attempts -= 1;
                    record.releases += 1;
                    record.scheduled_at = now + after;
                }
                Transition::Exhaust | Transition::Fatal => {
                    record.reason = Some(nack.error.clone());
                }
                _ => {}
            }
        });
        lifecycle::nack_outcome(transition, after)
    }

    pub(super) fn move_to_dlq(&mut self, burial: &Burial) -> BuryOutcome {
        match &burial.target {
            BurialTarget::Lease(lease) => self.bury_lease(lease, &burial.reason),
            BurialTarget::Job { id, force } => self.bury_job(*id, *force, &burial.reason),
        }
    }

    fn bury_lease(&mut self, lease: &LeaseToken, reason: &ErrorText) -> BuryOutcome {
        let Some(record) = self.jobs.get(&lease.id) else {
            return BuryOutcome::NotFound;
        };
        if record.state == State::Dead && record.was_last_held_by(lease) {
            return BuryOutcome::AlreadyDone;
        }
        if !record.is_held_by(lease) {
            return BuryOutcome::LeaseLost;
        }
        self.bury(lease.id, Transition::BuryLease, reason.clone());
        BuryOutcome::Buried
    }

    fn bury_job(&mut self, id: JobId, force: bool, reason: &ErrorText) -> BuryOutcome {
        let state = match self.jobs.get(&id).map(|record| record.state) {
            None => return BuryOutcome::NotFound,
            Some(State::Dead) => return BuryOutcome::AlreadyDone,
            Some(state) => state,
        };
        match lifecycle::bury(state, force) {
            None => BuryOutcome::Conflict,
            Some(transition) => {
                self.bury(id, transition, reason.clone());
                BuryOutcome::Buried
            }
        }
    }
}
