//! R6.3, R6.4, R6.6: bringing back, rescheduling, calling off.

use std::collections::BTreeSet;
use std::time::Duration;

use queuekit_core::capability::{CancelOutcome, RescheduleOutcome, RetryOutcome};
use queuekit_core::limits::DELAY;
use queuekit_core::queue::KeyOnDead;
use queuekit_core::{AckOutcome, EnqueueOutcome, JobId, Lease, QueuePatch, State, Status};

use crate::World;
use crate::kit::{
    DAY, HOUR, MILLISECOND, MINUTE, Moment, assert_invalid, default_queue, draft, keyed, unique,
};

/// R6.3: a retried job keeps its id and its history, and its attempts start again.
/// Guard: retry is an update, never delete and enqueue.
pub async fn r6_3_retry_starts_anew_and_keeps_the_history(world: &dyn World) {
    for (end, failures) in [(State::Dead, 2), (State::Cancelled, 1)] {
        let lease = world.lease(draft().max_attempts(2)).await;
        world.fail(&lease, Duration::ZERO).await;
        let lease = world.reserve_one().await;
        match end {
            State::Dead => world.kill(&lease).await,
            _ => world.call_off(&lease).await,
        }
        world.advance(HOUR).await;
        let later = world.enqueue(draft()).await;
        world.bring_back(lease.id()).await;
        let job = world.job(lease.id()).await;
        assert_eq!((job.state, job.status, job.attempts), (State::Pending, Status::Ready, 0));
        assert_eq!(job.errors.len(), failures, "{end}");
        assert_eq!((job.reason, job.finished_at), (None, None));
        assert!(job.scheduled_at >= job.created_at + HOUR, "{end}: the schedule is not fresh");
        let leases = world.reserve(2).await;
        let order: Vec<JobId> = leases.iter().map(Lease::id).collect();
        assert_eq!(order, [later, lease.id()], "{end}: the sequence is not fresh");
        for lease in &leases {
            world.complete(lease).await;
        }
    }
}

/// R6.3: dead and cancelled jobs can be retried; for a job that has not ended, or is completed,
/// retry is a conflict.
/// Guard: the state in the condition of retry.
pub async fn r6_3_only_dead_and_cancelled_jobs_come_back(world: &dyn World) {
    for state in State::ALL {
        let lease = world.lease(draft()).await;
        match state {
            State::Pending => world.fail(&lease, DAY).await,
            State::Running => {}
            State::Completed => world.complete(&lease).await,
            State::Dead => world.kill(&lease).await,
            State::Cancelled => world.call_off(&lease).await,
        }
        let before = world.dump().await;
        let outcome = world.retry(lease.id()).await;
        if matches!(state, State::Dead | State::Cancelled) {
            assert_eq!(outcome, RetryOutcome::Retried, "{state}");
            assert_eq!(world.ack(&lease.token).await, AckOutcome::LeaseLost);
        } else {
            assert_eq!(outcome, RetryOutcome::Conflict, "{state}");
            world.assert_unchanged(&before).await;
        }
        world.delete(lease.id(), true).await.expect("delete_job");
    }
}

/// R6.3: a job can be retried only if no other job holds its idempotency key; it then holds the key
/// again.
/// Guard: retry takes the key in its one step.
pub async fn r6_3_retry_takes_its_idempotency_key_again(world: &dyn World) {
    let draft = || unique("k").unique_until_done();
    let lease = world.lease(draft()).await;
    world.kill(&lease).await;
    let other = world.enqueue(draft()).await;
    let before = world.dump().await;
    assert_eq!(world.retry(lease.id()).await, RetryOutcome::Conflict);
    world.assert_unchanged(&before).await;
    world.delete(other, false).await.expect("delete_job");
    world.bring_back(lease.id()).await;
    let outcome = world.try_enqueue(draft()).await;
    assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: lease.id() });
}

/// R6.3: a job whose key is taken does not prevent the retry of others in the batch.
/// Guard: a conflict is an outcome of its item, not a failure of the call.
pub async fn r6_3_a_taken_key_keeps_no_other_from_coming_back(world: &dyn World) {
    let drafts = [draft(), unique("k").unique_until_done(), draft()];
    let dead = world.enqueue_all(drafts).await;
    for id in &dead {
        world.dead_letter_waiting(*id).await;
    }
    world.enqueue(unique("k").unique_until_done()).await;
    let outcomes = world.admin().retry(&dead).await.expect("retry");
    let retried = RetryOutcome::Retried;
    assert_eq!(outcomes, [retried, RetryOutcome::Conflict, retried]);
}

/// R6.3: a retry may be delayed. The job waits that long, and its deadline counts from then.
/// Guard: the delay moves the due time and the deadline.
pub async fn r6_3_a_retry_may_be_delayed(world: &dyn World) {
    for end in [State::Dead, State::Cancelled] {
        comes_back_late(world, end).await;
    }
}

async fn comes_back_late(world: &dyn World, end: State) {
    let drafts = [draft(), draft().deadline(MINUTE), keyed("k"), keyed("k"), keyed("l")];
    let ids = world.enqueue_all(drafts).await;
    for id in &ids {
        match end {
            State::Dead => world.dead_letter_waiting(*id).await,
            _ => assert_eq!(world.cancel(*id).await, CancelOutcome::Cancelled),
        }
    }
    let delayed = [(ids[0], 2 * HOUR), (ids[1], 2 * HOUR), (ids[2], 2 * HOUR), (ids[4], 4 * HOUR)];
    let outcomes = world.admin().retry_after(&delayed).await.expect("retry_after");
    assert_eq!(outcomes, [RetryOutcome::Retried; 4]);
    assert_eq!(world.status(ids[0]).await, Status::Scheduled);
    // It comes back after another of its key, and waits for it.
    world.bring_back(ids[3]).await;
    assert_eq!(world.status(ids[3]).await, Status::Blocked);
    world.assert_nothing_to_lease().await;
    world.advance_to(Moment::Before, 2 * HOUR).await;
    world.assert_nothing_to_lease().await;
    world.advance(world.slack().max(MILLISECOND)).await;
    let leases = world.reserve(10).await;
    let leased: BTreeSet<JobId> = leases.iter().map(Lease::id).collect();
    assert_eq!(leased, ids[..3].iter().copied().collect());
    assert!(leases.iter().all(|lease| lease.attempt == 1), "{leases:?}");
    for lease in leases {
        if lease.id() == ids[1] {
            world.assert_left(lease.deadline_in, MINUTE);
        }
        world.complete(&lease).await;
    }
    let next = world.reserve_one().await;
    assert_eq!(next.id(), ids[3]);
    world.complete(&next).await;
    world.advance(2 * HOUR).await;
    let last = world.reserve_one().await;
    assert_eq!(last.id(), ids[4]);
    world.complete(&last).await;
}

/// R6.3: a delay of more than 366 days is refused, and nothing of the call is done.
/// Guard: all delays are checked before the first job is changed.
pub async fn r6_3_a_retry_is_delayed_by_366_days_at_most(world: &dyn World) {
    let ids = world.enqueue_n(2).await;
    for id in &ids {
        world.dead_letter_waiting(*id).await;
    }
    let retries = [(ids[0], DELAY), (ids[1], DELAY + MILLISECOND)];
    assert_invalid(world.admin().retry_after(&retries).await, "delay");
    assert_eq!(world.state(ids[0]).await, State::Dead);
    let outcomes = world.admin().retry_after(&retries[..1]).await.expect("retry_after");
    assert_eq!(outcomes, [RetryOutcome::Retried]);
}

/// R6.3: a full queue does not prevent a retry.
/// Guard: retry ignores `max_pending`.
pub async fn r6_3_retry_ignores_max_pending(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.kill(&lease).await;
    world.configure(&default_queue(), QueuePatch::default().max_pending(1)).await;
    world.enqueue(draft()).await;
    world.bring_back(lease.id()).await;
}

/// R6.3: a retried job with a partition key is the last of its key; under `hold` a dead head keeps
/// its place.
/// Guard: retry assigns a new sequence, except to a dead head under `hold`.
pub async fn r6_3_retry_under_hold_keeps_the_place_in_the_key(world: &dyn World) {
    for policy in [KeyOnDead::Continue, KeyOnDead::Hold] {
        world.configure(&default_queue(), QueuePatch::default().key_on_dead(policy)).await;
        let head = world.lease(keyed("k")).await;
        let next = world.enqueue(keyed("k")).await;
        world.kill(&head).await;
        world.bring_back(head.id()).await;
        let expected = match policy {
            KeyOnDead::Hold => [head.id(), next],
            KeyOnDead::Continue => [next, head.id()],
        };
        assert_eq!(world.serve_all(&default_queue()).await, expected, "{policy:?}");
    }
}

/// R6.4: a waiting job runs now, or at its new time.
/// Guard: reschedule sets `scheduled_at` from now.
pub async fn r6_4_a_waiting_job_is_rescheduled(world: &dyn World) {
    let id = world.enqueue(draft().delay(DAY)).await;
    world.advance(HOUR).await;
    assert_eq!(world.reschedule(id, Duration::ZERO).await, RescheduleOutcome::Rescheduled);
    assert_eq!(world.status(id).await, Status::Ready);
    assert_eq!(world.reschedule(id, HOUR).await, RescheduleOutcome::Rescheduled);
    assert_eq!(world.status(id).await, Status::Scheduled);
    world.assert_nothing_to_lease().await;
    world.advance(59 * MINUTE).await;
    world.assert_nothing_to_lease().await;
    world.advance(MINUTE).await;
    let lease = world.reserve_one().await;
    world.fail(&lease, DAY).await;
    assert_eq!(world.reschedule(id, Duration::ZERO).await, RescheduleOutcome::Rescheduled);
    assert_eq!(world.reserve_one().await.attempt, 2);
}

/// R6.4: only pending jobs are rescheduled.
/// Guard: the state in the condition of reschedule.
pub async fn r6_4_only_pending_jobs_are_rescheduled(world: &dyn World) {
    for state in [State::Running, State::Completed, State::Dead, State::Cancelled] {
        let lease = world.lease(draft()).await;
        match state {
            State::Completed => world.complete(&lease).await,
            State::Dead => world.kill(&lease).await,
            State::Cancelled => world.call_off(&lease).await,
            _ => {}
        }
        let before = world.dump().await;
        let outcome = world.reschedule(lease.id(), HOUR).await;
        assert_eq!(outcome, RescheduleOutcome::Conflict, "{state}");
        world.assert_unchanged(&before).await;
    }
}

/// R6.6: cancel has the documented effect and outcome in every state.
/// Guard: the state in the condition of cancel.
pub async fn r6_6_cancel_answers_by_state(world: &dyn World) {
    let expected = [
        (State::Pending, CancelOutcome::Cancelled),
        (State::Running, CancelOutcome::Requested),
        (State::Cancelled, CancelOutcome::AlreadyDone),
        (State::Completed, CancelOutcome::Conflict),
        (State::Dead, CancelOutcome::Conflict),
    ];
    for (state, expected) in expected {
        let lease = world.lease(draft()).await;
        match state {
            State::Pending => world.fail(&lease, DAY).await,
            State::Running => {}
            State::Completed => world.complete(&lease).await,
            State::Dead => world.kill(&lease).await,
            State::Cancelled => world.call_off(&lease).await,
        }
        let before = world.dump().await;
        assert_eq!(world.cancel(lease.id()).await, expected, "{state}");
        let job = world.job(lease.id()).await;
        match expected {
            CancelOutcome::Cancelled => {
                assert_eq!(job.state, State::Cancelled);
                assert!(job.finished_at.is_some());
                assert_eq!(world.cancel(lease.id()).await, CancelOutcome::AlreadyDone);
            }
            CancelOutcome::Requested => {
                assert!(job.cancel_requested && job.state == State::Running);
                assert_eq!(world.cancel(lease.id()).await, CancelOutcome::Requested);
            }
            _ => world.assert_unchanged(&before).await,
        }
    }
}

/// R6.6: a job that was cancelled before it ran never runs.
/// Guard: cancel removes the job from the serving order.
pub async fn r6_6_a_cancelled_job_never_runs(world: &dyn World) {
    let ids = world.enqueue_n(3).await;
    let later = world.enqueue(draft().delay(HOUR)).await;
    let outcomes = world.admin().cancel(&[ids[0], ids[2], later]).await.expect("cancel");
    assert_eq!(outcomes, [CancelOutcome::Cancelled; 3]);
    world.advance(DAY).await;
    assert_eq!(world.serve_all(&default_queue()).await, [ids[1]]);
}
