//! Ending leases (contract R3, R4, R6.1), fenced.

use super::Faults;
use super::tables::Tables;
use crate::backend::{Ack, AckOutcome, DeadLetter, DeadLetterOutcome, Nack, NackOutcome};
use crate::lifecycle;

impl Tables {
    pub(super) fn ack(&mut self, ack: &Ack, faults: &Faults) -> AckOutcome {
        let Some(record) = self.jobs.get(&ack.lease.id) else {
            return AckOutcome::NotFound;
        };
        let transition = match record.check_ack(ack) {
            Ok(transition) => transition,
            Err(outcome) => return outcome,
        };
        if faults.take_crash_before_ack() || faults.take_lost_lease() {
            self.expire(ack.lease.id);
            return AckOutcome::LeaseLost;
        }
        self.apply(ack.lease.id, transition, |record| record.result = ack.result.clone());
        AckOutcome::Acked
    }

    pub(super) fn nack(&mut self, nack: &Nack, faults: &Faults) -> NackOutcome {
        let Some(record) = self.jobs.get(&nack.lease.id) else {
            return NackOutcome::NotFound;
        };
        let transition = match record.check_nack(nack) {
            Ok(transition) => transition,
            Err(outcome) => return outcome,
        };
        if faults.take_lost_lease() {
            self.expire(nack.lease.id);
            return NackOutcome::LeaseLost;
        }
        let now = self.now;
        self.apply(nack.lease.id, transition, |record| record.nack(nack, transition, now));
        self.count_error(nack.lease.id, transition, nack.kind.is_failure(), &nack.error);
        lifecycle::nack_outcome(transition, nack.delay())
    }

    pub(super) fn dead_letter(&mut self, dead_letter: &DeadLetter) -> DeadLetterOutcome {
        let id = dead_letter.target.id();
        let Some(record) = self.jobs.get(&id) else {
            return DeadLetterOutcome::NotFound;
        };
        match record.check_dead_letter(dead_letter) {
            Ok(transition) => {
                self.end_dead(id, transition, dead_letter.reason.clone());
                DeadLetterOutcome::DeadLettered
            }
            Err(outcome) => outcome,
        }
    }
}
