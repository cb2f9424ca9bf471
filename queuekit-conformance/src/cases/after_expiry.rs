//! The traces of a job: after a lease ran out, after a retry, after its removal.

use std::time::Duration;

use queuekit_core::capability::{Report, ReportOutcome};
use queuekit_core::{Progress, State};

use crate::World;
use crate::kit::{HOUR, default_queue, draft, worker};

/// R4.5: an expired lease is in the history, with its number and its worker.
/// Guard: the entry that the reclaim appends.
pub async fn r4_5_an_expiry_is_remembered(world: &dyn World) {
    let lost = world.lease(draft().max_attempts(2)).await;
    world.expire().await;
    let last = world.reserve_as(worker("second"), 1, HOUR).await.remove(0);
    let errors = world.job(lost.id()).await.errors;
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].error.as_str(), "lease expired");
    assert_eq!((errors[0].attempt, errors[0].lease_seq), (1, lost.token.lease_seq));
    world.advance(2 * HOUR).await;
    world.assert_nothing_to_lease().await;
    let job = world.job(last.id()).await;
    assert_eq!(job.state, State::Dead);
    assert_eq!(job.errors.len(), 2, "the final expiry should be in the history");
    assert_eq!(job.errors[1].worker, Some(worker("second")));
}

/// R6.3: a retried job has no releases, and its deadline counts from the retry.
/// Guard: retry resets releases and deadline, not only attempts.
pub async fn r6_3_retry_counts_releases_and_deadline_anew(world: &dyn World) {
    let lease = world.lease(draft().deadline(HOUR)).await;
    world.release(&lease, Duration::ZERO).await;
    let lease = world.reserve_one().await;
    world.kill(&lease).await;
    assert_eq!(world.job(lease.id()).await.releases, 1);
    world.advance(2 * HOUR).await;
    world.bring_back(lease.id()).await;
    let job = world.job(lease.id()).await;
    assert_eq!(job.releases, 0);
    world.assert_left(job.deadline_in, HOUR);
    assert_eq!(
        world.reserve_one().await.id(),
        lease.id(),
        "the deadline should count from the retry"
    );
}

/// R6.2: a job that is stored after another one was deleted, under the same id or another, begins
/// without history, log lines and progress.
/// Guard: delete removes what is stored separately from the job.
pub async fn r6_2_a_deleted_job_leaves_nothing_to_the_next(world: &dyn World) {
    for same_id in [true, false] {
        let lease = world.lease(draft()).await;
        let report = Report::new(
            lease.token.clone(),
            Some(Progress::new(0.5, "half way")),
            vec!["one".to_owned()],
        );
        assert_eq!(world.report(report).await, ReportOutcome::Reported);
        world.fail(&lease, Duration::ZERO).await;
        assert!(world.delete(lease.id(), false).await.expect("delete_job"));
        let next = if same_id { draft().id(lease.id()) } else { draft() };
        let lease = world.lease(next).await;
        let job = world.job(lease.id()).await;
        assert_eq!((job.errors, job.logs, job.progress), (Vec::new(), Vec::new(), None));
        world.complete(&lease).await;
        assert!(world.delete(lease.id(), false).await.expect("delete_job"));
    }
}

/// R6.7: removing a queue removes its jobs in every ended state.
/// Guard: the list of states in the removal.
pub async fn r6_7_a_queue_takes_its_ended_jobs_along(world: &dyn World) {
    let mut ids = Vec::new();
    for state in [State::Completed, State::Dead, State::Cancelled] {
        let lease = world.lease(draft()).await;
        match state {
            State::Completed => world.complete(&lease).await,
            State::Dead => world.kill(&lease).await,
            _ => world.call_off(&lease).await,
        }
        ids.push(lease.id());
    }
    assert!(world.admin().remove_queue(&default_queue(), true).await.expect("remove_queue"));
    for id in ids {
        assert!(world.find(id).await.is_none());
        assert!(!world.delete(id, true).await.expect("delete_job"));
    }
}
