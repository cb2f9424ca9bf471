//! Ending leases and jobs.

use std::fmt::Debug;
use std::time::Duration;

use queuekit_core::{
    Ack, AckOutcome, DeadLetter, DeadLetterOutcome, JobId, Lease, LeaseToken, Nack, NackKind,
    NackOutcome, Result,
};

use super::assert_answers_each;
use crate::World;

impl<'w> dyn World + 'w {
    /// Records one success.
    pub async fn ack(&self, token: &LeaseToken) -> AckOutcome {
        only(self.backend().ack(&[Ack::new(token.clone())]).await)
    }

    /// Records one success that must take effect.
    pub async fn complete(&self, lease: &Lease) {
        let outcome = self.ack(&lease.token).await;
        assert_effect("ack", lease, &outcome, &AckOutcome::Acked);
    }

    /// Records one failure, release or cancellation.
    pub async fn nack(&self, token: &LeaseToken, kind: NackKind, delay: Duration) -> NackOutcome {
        let nack = Nack::new(token.clone(), kind, "it went wrong", delay);
        only(self.backend().nack(&[nack]).await)
    }

    /// Fails a run that has attempts left; the job is due after the delay.
    pub async fn fail(&self, lease: &Lease, delay: Duration) {
        let outcome = self.nack(&lease.token, NackKind::Retry, delay).await;
        assert_effect("nack as Retry", lease, &outcome, &NackOutcome::Retrying { after: delay });
    }

    /// Releases a run; the job is due after the delay.
    pub async fn release(&self, lease: &Lease, delay: Duration) {
        let outcome = self.nack(&lease.token, NackKind::Release, delay).await;
        assert_effect("nack as Release", lease, &outcome, &NackOutcome::Released { after: delay });
    }

    /// Fails a run for good.
    pub async fn kill(&self, lease: &Lease) {
        let outcome = self.nack(&lease.token, NackKind::Fatal, Duration::ZERO).await;
        assert_effect("nack as Fatal", lease, &outcome, &NackOutcome::Dead);
    }

    /// Ends a run as cancelled.
    pub async fn call_off(&self, lease: &Lease) {
        let outcome = self.nack(&lease.token, NackKind::Cancelled, Duration::ZERO).await;
        assert_effect("nack as Cancelled", lease, &outcome, &NackOutcome::Cancelled);
    }

    /// Moves one job to the dead-letter queue.
    pub async fn dead_letter(&self, dead_letter: DeadLetter) -> DeadLetterOutcome {
        only(self.backend().dead_letter(&[dead_letter]).await)
    }

    /// Dead-letters a waiting job.
    pub async fn dead_letter_waiting(&self, id: JobId) {
        let outcome = self.dead_letter(DeadLetter::of_job(id, "dead_lettered")).await;
        let wanted = DeadLetterOutcome::DeadLettered;
        assert_eq!(outcome, wanted, "dead_letter of the waiting job {id} answered another outcome");
    }

    /// Deletes one job.
    pub async fn delete(&self, id: JobId, force: bool) -> Result<bool> {
        self.backend().delete_job(id, force).await
    }
}

/// Asserts what a settlement of a live lease answers.
fn assert_effect<T: PartialEq + Debug>(call: &str, lease: &Lease, outcome: &T, wanted: &T) {
    assert!(
        outcome == wanted,
        "{call} of a live lease answered {outcome:?}, and not {wanted:?}: {:?}",
        lease.token
    );
}

/// The outcome for the one item of a call.
pub(super) fn only<T: Copy>(outcomes: Result<Vec<T>>) -> T {
    let outcomes = outcomes.expect("the call");
    assert_answers_each("a call", outcomes.len(), 1);
    outcomes[0]
}
