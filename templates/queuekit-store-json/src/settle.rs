//! Ending leases: core fences them (R3) and decides what follows.

use queuekit_core::lifecycle;
use queuekit_core::{Ack, AckOutcome, DeadLetter, DeadLetterOutcome, Nack, NackOutcome};

use crate::data::Data;

impl Data {
    pub(crate) fn ack(&mut self, ack: &Ack) -> AckOutcome {
        let Some(record) = self.jobs.get(&ack.lease.id) else { return AckOutcome::NotFound };
        match record.check_ack(ack) {
            Ok(transition) => {
                let result = ack.result.clone();
                self.apply(ack.lease.id, transition, |record| record.result = result);
                AckOutcome::Acked
            }
            Err(outcome) => outcome,
        }
    }

    pub(crate) fn nack(&mut self, nack: &Nack) -> NackOutcome {
        let (id, now) = (nack.lease.id, self.now);
        let Some(record) = self.jobs.get(&id) else { return NackOutcome::NotFound };
        match record.check_nack(nack) {
            Ok(transition) => {
                self.apply(id, transition, |record| record.nack(nack, transition, now));
                lifecycle::nack_outcome(transition, nack.delay())
            }
            Err(outcome) => outcome,
        }
    }

    pub(crate) fn dead_letter(&mut self, dead_letter: &DeadLetter) -> DeadLetterOutcome {
        let id = dead_letter.target.id();
        let Some(record) = self.jobs.get(&id) else { return DeadLetterOutcome::NotFound };
        match record.check_dead_letter(dead_letter) {
            Ok(transition) => {
                self.end_dead(id, transition, dead_letter.reason.clone());
                DeadLetterOutcome::DeadLettered
            }
            Err(outcome) => outcome,
        }
    }
}
