//! R3, R4 and R6.1.

use queuekit_core::capability::{ExtendOutcome, Report, ReportOutcome};
use queuekit_core::lifecycle::{self, Transition};
use queuekit_core::{
    Ack, AckOutcome, DeadLetter, DeadLetterOutcome, DeadLetterTarget, LeaseToken, LeaseTtl, Nack,
    NackOutcome, State,
};

use super::Machine;

impl Machine {
    pub(in crate::model) fn ack(&mut self, ack: &Ack) -> AckOutcome {
        let Some(job) = self.job(ack.lease.id) else {
            return AckOutcome::NotFound;
        };
        if job.state == State::Completed && job.token.as_ref() == Some(&ack.lease) {
            return AckOutcome::AlreadyDone;
        }
        let Some(at) = self.held(&ack.lease) else {
            return AckOutcome::LeaseLost;
        };
        self.jobs[at].result = ack.result.as_ref().map(|result| result.to_vec());
        self.end(at, Transition::Ack);
        AckOutcome::Acked
    }

    pub(in crate::model) fn nack(&mut self, nack: &Nack) -> NackOutcome {
        if self.job(nack.lease.id).is_none() {
            return NackOutcome::NotFound;
        }
        let Some(at) = self.held(&nack.lease) else {
            return NackOutcome::LeaseLost;
        };
        let now = self.now;
        let after = nack.delay();
        if nack.kind.is_failure() {
            self.fail(at, nack.error.as_str());
        }
        let job = &mut self.jobs[at];
        job.token = None;
        let transition =
            lifecycle::nack(nack.kind, job.attempts, job.max_attempts, job.cancel_requested);
        match transition {
            Transition::RetryLater | Transition::Release => {
                if transition == Transition::Release {
                    job.attempts -= 1;
                    job.releases += 1;
                    job.released.push((job.lease_seq, nack.cause()));
                }
                job.state = State::Pending;
                job.scheduled_at = now + i64::try_from(after.as_millis()).expect("fits");
                self.coverage.took(transition);
                if transition == Transition::Release {
                    NackOutcome::Released { after }
                } else {
                    NackOutcome::Retrying { after }
                }
            }
            Transition::CancelRunning => {
                self.end(at, transition);
                NackOutcome::Cancelled
            }
            _ => {
                job.reason = Some(nack.error.as_str().to_owned());
                self.end(at, transition);
                NackOutcome::Dead
            }
        }
    }

    pub(in crate::model) fn dead_letter(&mut self, dead_letter: &DeadLetter) -> DeadLetterOutcome {
        let (at, transition) = match &dead_letter.target {
            DeadLetterTarget::Lease(lease) => match self.dead_letter_lease(lease) {
                Ok(at) => (at, Transition::DeadLetterLease),
                Err(outcome) => return outcome,
            },
            DeadLetterTarget::Job { id, force } => {
                let Some(at) = self.position(*id) else {
                    return DeadLetterOutcome::NotFound;
                };
                let state = self.jobs[at].state;
                if state == State::Dead {
                    return DeadLetterOutcome::AlreadyDone;
                }
                let Some(transition) = lifecycle::dead_letter(state, *force) else {
                    return DeadLetterOutcome::Conflict;
                };
                self.jobs[at].token = None;
                (at, transition)
            }
        };
        self.jobs[at].reason = Some(dead_letter.reason.as_str().to_owned());
        self.end(at, transition);
        DeadLetterOutcome::DeadLettered
    }

    fn dead_letter_lease(&self, lease: &LeaseToken) -> Result<usize, DeadLetterOutcome> {
        let Some(job) = self.job(lease.id) else {
            return Err(DeadLetterOutcome::NotFound);
        };
        if job.state == State::Dead && job.token.as_ref() == Some(lease) {
            return Err(DeadLetterOutcome::AlreadyDone);
        }
        self.held(lease).ok_or(DeadLetterOutcome::LeaseLost)
    }

    pub(in crate::model) fn extend(&mut self, lease: &LeaseToken, ttl: LeaseTtl) -> ExtendOutcome {
        if self.job(lease.id).is_none() {
            return ExtendOutcome::NotFound;
        }
        let Some(at) = self.held(lease) else {
            return ExtendOutcome::LeaseLost;
        };
        let job = &mut self.jobs[at];
        job.lease_expires_at = self.now + i64::try_from(ttl.get().as_millis()).expect("fits");
        self.coverage.took(Transition::Extend);
        ExtendOutcome::Extended { ttl: ttl.get(), cancel_requested: job.cancel_requested }
    }

    pub(in crate::model) fn report(&mut self, report: &Report) -> ReportOutcome {
        if self.job(report.lease.id).is_none() {
            return ReportOutcome::NotFound;
        }
        let Some(at) = self.held(&report.lease) else {
            return ReportOutcome::LeaseLost;
        };
        self.jobs[at].lines = (self.jobs[at].lines + report.lines.len()).min(100);
        self.coverage.took(Transition::Report);
        ReportOutcome::Reported
    }
}
