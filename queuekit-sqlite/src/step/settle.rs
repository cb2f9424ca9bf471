//! Ending leases (contract R3, R4, R6.1), fenced.

use queuekit_core::lifecycle::{self, Transition};
use queuekit_core::{
    Ack, AckOutcome, DeadLetter, DeadLetterOutcome, DeadLetterTarget, Error, ErrorKind, ErrorText,
    JobId, LeaseToken, Nack, NackOutcome, Result, State,
};

use super::Step;
use super::completions::Completions;
use crate::row::Record;

impl Step<'_> {
    pub(crate) fn ack(&mut self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.limits.admit_results(acks)?;
        let mut completions = Completions::default();
        let ack_one = |ack: &Ack| self.ack_one(ack, &mut completions);
        let outcomes = acks.iter().map(ack_one).collect::<Result<_>>()?;
        self.complete_all(completions)?;
        Ok(outcomes)
    }

    pub(crate) fn nack(&mut self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        nacks.iter().map(|nack| self.nack_one(nack)).collect()
    }

    pub(crate) fn dead_letter(
        &mut self,
        dead_letters: &[DeadLetter],
    ) -> Result<Vec<DeadLetterOutcome>> {
        let dead_letter = |dead_letter: &DeadLetter| match &dead_letter.target {
            DeadLetterTarget::Lease(lease) => self.dead_letter_lease(lease, &dead_letter.reason),
            DeadLetterTarget::Job { id, force } => {
                self.dead_letter_job(*id, *force, &dead_letter.reason)
            }
        };
        dead_letters.iter().map(dead_letter).collect()
    }

    pub(crate) fn delete_job(&mut self, id: JobId, force: bool) -> Result<bool> {
        let Some(mut record) = self.job(id)? else {
            return Ok(false);
        };
        let Some(transition) = lifecycle::delete(record.state, force) else {
            let message = "it is running; delete it by force, or cancel it first";
            return Err(Error::new(ErrorKind::Conflict, message).on(id));
        };
        self.apply(&mut record, transition, |_| {})?;
        Ok(true)
    }

    /// The job of a lease, and whether it is in the lease's queue.
    pub(super) fn job_of_lease(&mut self, lease: &LeaseToken) -> Result<Option<(Record, bool)>> {
        let Some(record) = self.job(lease.id)? else {
            return Ok(None);
        };
        let queue = self.queue_of(&record)?;
        let of_queue = self.queues[queue].name == lease.queue;
        Ok(Some((record, of_queue)))
    }

    fn ack_one(&mut self, ack: &Ack, completions: &mut Completions) -> Result<AckOutcome> {
        let Some((mut record, of_queue)) = self.job_of_lease(&ack.lease)? else {
            return Ok(AckOutcome::NotFound);
        };
        let last_held = of_queue && record.was_last_held_by(&ack.lease);
        match record.state {
            State::Completed if last_held => return Ok(AckOutcome::AlreadyDone),
            State::Running if last_held && completions.has(&record) => {
                return Ok(AckOutcome::AlreadyDone);
            }
            State::Running if last_held => {}
            _ => return Ok(AckOutcome::LeaseLost),
        }
        record.size += ack.result.as_ref().map_or(0, bytes::Bytes::len) as i64;
        record.result.clone_from(&ack.result);
        if !self.complete_later(&record, completions)? {
            self.apply(&mut record, Transition::Ack, |_| {})?;
        }
        Ok(AckOutcome::Acked)
    }

    fn nack_one(&mut self, nack: &Nack) -> Result<NackOutcome> {
        let Some((mut record, of_queue)) = self.job_of_lease(&nack.lease)? else {
            return Ok(NackOutcome::NotFound);
        };
        if !of_queue || !record.is_held_by(&nack.lease) {
            return Ok(NackOutcome::LeaseLost);
        }
        let transition = lifecycle::nack(
            nack.kind,
            record.attempts,
            record.max_attempts,
            record.cancel_requested,
        );
        if nack.kind.is_failure() {
            self.add_failure(&record, &nack.error)?;
        }
        self.count_error(&record, transition, nack.kind.is_failure(), nack.error.as_str())?;
        if transition == Transition::Release {
            self.add_release(&record, nack)?;
        }
        let (now, after) = (self.now, nack.delay());
        self.apply(&mut record, transition, |record| {
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
        })?;
        Ok(lifecycle::nack_outcome(transition, after))
    }

    fn dead_letter_lease(
        &mut self,
        lease: &LeaseToken,
        reason: &ErrorText,
    ) -> Result<DeadLetterOutcome> {
        let Some((mut record, of_queue)) = self.job_of_lease(lease)? else {
            return Ok(DeadLetterOutcome::NotFound);
        };
        let last_held = of_queue && record.was_last_held_by(lease);
        match record.state {
            State::Dead if last_held => return Ok(DeadLetterOutcome::AlreadyDone),
            State::Running if last_held => {}
            _ => return Ok(DeadLetterOutcome::LeaseLost),
        }
        self.end_dead(&mut record, Transition::DeadLetterLease, reason)?;
        Ok(DeadLetterOutcome::DeadLettered)
    }

    fn dead_letter_job(
        &mut self,
        id: JobId,
        force: bool,
        reason: &ErrorText,
    ) -> Result<DeadLetterOutcome> {
        let Some(mut record) = self.job(id)? else {
            return Ok(DeadLetterOutcome::NotFound);
        };
        if record.state == State::Dead {
            return Ok(DeadLetterOutcome::AlreadyDone);
        }
        let Some(transition) = lifecycle::dead_letter(record.state, force) else {
            return Ok(DeadLetterOutcome::Conflict);
        };
        self.end_dead(&mut record, transition, reason)?;
        Ok(DeadLetterOutcome::DeadLettered)
    }
}
