//! Ending leases and jobs.

use std::time::Duration;

use queuekit_core::{
    Ack, AckOutcome, Burial, BuryOutcome, JobId, Lease, LeaseToken, Nack, NackKind, NackOutcome,
    Result,
};

use crate::World;

impl<'w> dyn World + 'w {
    /// Records one success.
    pub async fn ack(&self, token: &LeaseToken) -> AckOutcome {
        only(self.backend().ack(&[Ack::new(token.clone())]).await)
    }

    /// Records one success that must take effect.
    pub async fn complete(&self, lease: &Lease) {
        assert_eq!(self.ack(&lease.token).await, AckOutcome::Acked, "{:?}", lease.token);
    }

    /// Records one failure, release or cancellation.
    pub async fn nack(&self, token: &LeaseToken, kind: NackKind, delay: Duration) -> NackOutcome {
        let nack = Nack::new(token.clone(), kind, "it went wrong", delay);
        only(self.backend().nack(&[nack]).await)
    }

    /// Fails a run that has attempts left; the job is due after the delay.
    pub async fn fail(&self, lease: &Lease, delay: Duration) {
        let outcome = self.nack(&lease.token, NackKind::Retry, delay).await;
        assert_eq!(outcome, NackOutcome::Retrying { after: delay }, "{:?}", lease.token);
    }

    /// Gives a run back; the job is due after the delay.
    pub async fn release(&self, lease: &Lease, delay: Duration) {
        let outcome = self.nack(&lease.token, NackKind::Release, delay).await;
        assert_eq!(outcome, NackOutcome::Released { after: delay }, "{:?}", lease.token);
    }

    /// Fails a run for good.
    pub async fn kill(&self, lease: &Lease) {
        let outcome = self.nack(&lease.token, NackKind::Fatal, Duration::ZERO).await;
        assert_eq!(outcome, NackOutcome::Dead, "{:?}", lease.token);
    }

    /// Ends a run as called off.
    pub async fn call_off(&self, lease: &Lease) {
        let outcome = self.nack(&lease.token, NackKind::Cancelled, Duration::ZERO).await;
        assert_eq!(outcome, NackOutcome::Cancelled, "{:?}", lease.token);
    }

    /// Moves one job to the dead-letter queue.
    pub async fn bury(&self, burial: Burial) -> BuryOutcome {
        only(self.backend().move_to_dlq(&[burial]).await)
    }

    /// Buries a waiting job.
    pub async fn bury_waiting(&self, id: JobId) {
        assert_eq!(self.bury(Burial::of_job(id, "buried")).await, BuryOutcome::Buried);
    }

    /// Deletes one job.
    pub async fn delete(&self, id: JobId, force: bool) -> Result<bool> {
        self.backend().delete_job(id, force).await
    }
}

/// The outcome for the one item of a call.
pub(super) fn only<T: Copy>(outcomes: Result<Vec<T>>) -> T {
    let outcomes = outcomes.expect("the call");
    assert_eq!(outcomes.len(), 1, "an outcome per item");
    outcomes[0]
}
