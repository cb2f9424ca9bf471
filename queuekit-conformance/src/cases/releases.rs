//! R4.8: releases are kept apart from failures.

use std::time::Duration;

use queuekit_core::limits::{FAILURES_KEPT, RELEASES_KEPT};
use queuekit_core::{BackendExt, Lease, Nack, NackKind, NackOutcome, ReleaseCause, State};

use crate::World;
use crate::kit::{HOUR, MINUTE, draft, worker};

/// R4.8: a failure tells when its run started: of a nack of each kind, and of an expired lease.
/// Guard: the instant of the lease goes into the entry.
pub async fn r4_8_a_failure_tells_when_its_run_started(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(3)).await;
    let mut started = Vec::new();
    for run in 0..3 {
        let lease = world.reserve_one().await;
        started.push(world.job(id).await.started_at);
        match run {
            0 => {
                world.advance(MINUTE / 4).await;
                world.fail(&lease, Duration::ZERO).await;
            }
            1 => world.expire().await,
            _ => {
                world.advance(MINUTE / 4).await;
                world.kill(&lease).await;
            }
        }
    }
    let job = world.job(id).await;
    assert_eq!(job.state, State::Dead);
    let told: Vec<_> = job.errors.iter().map(|failure| failure.started_at).collect();
    assert_eq!(told, started);
    assert!(job.errors.iter().all(|failure| failure.started_at < Some(failure.at)), "{job:?}");
}

/// R4.8: a release is listed with its lease, its times, its worker and its cause, and not as a
/// failure.
/// Guard: the entry that a release appends.
pub async fn r4_8_releases_are_kept_apart_from_failures(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    let causes = ReleaseCause::ALL.iter().copied().map(Some).chain([None]);
    let mut expected = Vec::new();
    for (run, cause) in causes.enumerate() {
        let name = worker(&format!("w{run}"));
        let lease = world.reserve_as(name.clone(), 1, HOUR).await.remove(0);
        let started = world.job(id).await.started_at;
        world.advance(MINUTE).await;
        release(world, &lease, cause).await;
        expected.push((lease.token.lease_seq, started, Some(name), cause));
    }
    let job = world.job(id).await;
    assert!(job.errors.is_empty(), "{:?}", job.errors);
    assert!(job.released.iter().all(|release| release.started_at < Some(release.at)), "{job:?}");
    let released = job.released.into_iter();
    let released: Vec<_> = released
        .map(|release| (release.lease_seq, release.started_at, release.worker, release.cause))
        .collect();
    assert_eq!(released, expected);
}

/// R4.8: the last 20 releases are kept, and push no failure out; nor do failures push releases out.
/// Guard: one bound for each of the two.
pub async fn r4_8_the_last_releases_are_kept(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(100)).await;
    let (mut failed, mut released) = (Vec::new(), Vec::new());
    for failures in [true, false, true, false] {
        for _ in 0..if failures { 15 } else { 25 } {
            let lease = world.reserve_one().await;
            if failures {
                world.fail(&lease, Duration::ZERO).await;
                failed.push(lease.token.lease_seq);
            } else {
                release(world, &lease, Some(ReleaseCause::Snooze)).await;
                released.push(lease.token.lease_seq);
            }
        }
        let job = world.job(id).await;
        let kept: Vec<_> = job.errors.iter().map(|failure| failure.lease_seq).collect();
        assert_eq!(kept, failed[failed.len().saturating_sub(FAILURES_KEPT)..]);
        let kept: Vec<_> = job.released.iter().map(|release| release.lease_seq).collect();
        assert_eq!(kept, released[released.len().saturating_sub(RELEASES_KEPT)..]);
    }
}

/// R4.8: a release of a job that is to be cancelled cancels it: it is no release.
/// Guard: the transition decides, not the kind of the nack.
pub async fn r4_8_a_release_that_cancels_is_none(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.request_cancel(lease.id()).await;
    let nack = Nack::new(lease.token.clone(), NackKind::Release, "", Duration::ZERO);
    let nack = nack.because(ReleaseCause::Shutdown);
    let outcome = world.backend().nack_one(nack).await.expect("nack");
    assert_eq!(outcome, NackOutcome::Cancelled);
    assert!(world.job(lease.id()).await.released.is_empty());
}

/// R4.8: releases are shown until the job is deleted: after its end, and after a retry.
/// Guard: no transition removes them, and they do not outlive the job.
pub async fn r4_8_releases_outlast_the_end_and_a_retry(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let id = lease.id();
    release(world, &lease, Some(ReleaseCause::Snooze)).await;
    let released = world.job(id).await.released;
    let lease = world.reserve_one().await;
    world.kill(&lease).await;
    assert_eq!(world.job(id).await.released, released, "dead");
    world.bring_back(id).await;
    assert_eq!(world.job(id).await.released, released, "retried");
    let lease = world.reserve_one().await;
    world.complete(&lease).await;
    assert_eq!(world.job(id).await.released, released, "completed");
    world.delete(id, false).await.expect("delete_job");
    world.enqueue(draft().id(id)).await;
    assert!(world.job(id).await.released.is_empty(), "another job of the same id");
}

async fn release(world: &dyn World, lease: &Lease, cause: Option<ReleaseCause>) {
    let mut nack = Nack::new(lease.token.clone(), NackKind::Release, "", Duration::ZERO);
    if let Some(cause) = cause {
        nack = nack.because(cause);
    }
    let outcome = world.backend().nack_one(nack).await.expect("nack");
    assert_eq!(outcome, NackOutcome::Released { after: Duration::ZERO });
}
