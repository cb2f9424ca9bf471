//! R6.1 and R6.2: the dead-letter queue, and deleting.

use queuekit_core::limits::ERROR_BYTES;
use queuekit_core::{
    AckOutcome, DeadLetter, DeadLetterOutcome, ErrorKind, ErrorText, JobFilter, NackKind,
    NackOutcome, State,
};

use crate::World;
use crate::kit::{HOUR, draft, kind_of};

/// R6.1: the holder dead-letters its job, with any text as the reason.
/// Guard: dead-lettering by lease is one write.
pub async fn r6_1_the_holder_dead_letters(world: &dyn World) {
    for reason in [ErrorText::from("poison"), ErrorText::from("a\0b"), "é".repeat(9_000).into()] {
        let lease = world.lease(draft()).await;
        let dead_letter =
            DeadLetter { reason: reason.clone(), ..DeadLetter::of_lease(lease.token.clone(), "") };
        assert_eq!(world.dead_letter(dead_letter).await, DeadLetterOutcome::DeadLettered);
        let job = world.job(lease.id()).await;
        assert_eq!((job.state, job.attempts), (State::Dead, 1));
        assert!(reason.as_str().len() <= ERROR_BYTES);
        assert_eq!(job.reason, Some(reason));
        assert!(job.finished_at.is_some() && job.lease_expires_in.is_none());
    }
    world.assert_nothing_to_lease().await;
}

/// R6.1: anyone dead-letters a waiting job by its id.
/// Guard: dead-lettering by id accepts pending jobs.
pub async fn r6_1_a_waiting_job_is_dead_lettered_by_id(world: &dyn World) {
    let ids = [world.enqueue(draft()).await, world.enqueue(draft().delay(HOUR)).await];
    for id in ids {
        assert_eq!(
            world.dead_letter(DeadLetter::of_job(id, "operator")).await,
            DeadLetterOutcome::DeadLettered
        );
        let job = world.job(id).await;
        assert_eq!((job.state, job.attempts), (State::Dead, 0));
        assert_eq!(job.reason, Some("operator".into()));
    }
    world.advance(2 * HOUR).await;
    world.assert_nothing_to_lease().await;
}

/// R6.1: a running job is dead-lettered by id with force only, which breaks its lease.
/// Guard: the state in the condition of a dead-lettering by id.
pub async fn r6_1_a_running_job_is_dead_lettered_by_force_only(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let before = world.dump().await;
    let dead_letter = DeadLetter::of_job(lease.id(), "operator");
    assert_eq!(world.dead_letter(dead_letter).await, DeadLetterOutcome::Conflict);
    world.assert_unchanged(&before).await;
    let dead_letter = DeadLetter::forced(lease.id(), "operator");
    assert_eq!(world.dead_letter(dead_letter).await, DeadLetterOutcome::DeadLettered);
    assert_eq!(world.ack(&lease.token).await, AckOutcome::LeaseLost);
    assert_eq!(world.state(lease.id()).await, State::Dead);
}

/// R6.1: a job with an expired lease still counts as running: it too is dead-lettered by id with
/// force only.
/// Guard: expiry alone changes no state.
pub async fn r6_1_an_expired_job_counts_as_running(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.advance(HOUR).await;
    let dead_letter = DeadLetter::of_job(lease.id(), "operator");
    assert_eq!(world.dead_letter(dead_letter).await, DeadLetterOutcome::Conflict);
    assert_eq!(kind_of(world.delete(lease.id(), false).await), ErrorKind::Conflict);
    world.complete(&lease).await;
}

/// R6.1: dead-lettering a dead job is AlreadyDone, and the reason stays; dead-lettering another
/// ended job is a conflict.
/// Guard: a dead-lettering never overwrites an ended state.
pub async fn r6_1_an_ended_job_is_not_dead_lettered_again(world: &dyn World) {
    let dead = world.enqueue(draft()).await;
    assert_eq!(
        world.dead_letter(DeadLetter::of_job(dead, "first")).await,
        DeadLetterOutcome::DeadLettered
    );
    let completed = world.lease(draft()).await;
    world.complete(&completed).await;
    let cancelled = world.lease(draft()).await;
    world.call_off(&cancelled).await;
    let before = world.dump().await;
    for dead_letter in [DeadLetter::of_job, DeadLetter::forced] {
        assert_eq!(
            world.dead_letter(dead_letter(dead, "second")).await,
            DeadLetterOutcome::AlreadyDone
        );
        for id in [completed.id(), cancelled.id()] {
            assert_eq!(
                world.dead_letter(dead_letter(id, "second")).await,
                DeadLetterOutcome::Conflict
            );
        }
    }
    world.assert_unchanged(&before).await;
    assert_eq!(world.job(dead).await.reason, Some("first".into()));
}

/// R6.1: the dead-letter queue can be listed, with its reasons.
/// Guard: dead jobs are indexed by their state.
pub async fn r6_1_dead_jobs_are_listed(world: &dyn World) {
    let ids = world.enqueue_n(3).await;
    world.dead_letter_waiting(ids[1]).await;
    let dead = world.list(JobFilter::default().status(State::Dead)).await;
    assert_eq!(dead.iter().map(|job| job.id).collect::<Vec<_>>(), [ids[1]]);
    assert_eq!(dead[0].reason, Some("dead_lettered".into()));
}

/// R6.2: a job that is not running can be deleted in any state; no reader finds it afterwards.
/// Guard: delete removes the job from every index.
pub async fn r6_2_what_nobody_runs_is_deleted(world: &dyn World) {
    for state in [State::Pending, State::Completed, State::Dead, State::Cancelled] {
        let lease = world.lease(draft()).await;
        match state {
            State::Completed => world.complete(&lease).await,
            State::Dead => world.kill(&lease).await,
            State::Cancelled => world.call_off(&lease).await,
            _ => world.fail(&lease, HOUR).await,
        }
        assert!(world.delete(lease.id(), false).await.expect("delete_job"), "{state}");
        assert!(world.find(lease.id()).await.is_none());
        assert!(!world.delete(lease.id(), false).await.expect("delete_job"), "twice");
        assert_eq!(world.ack(&lease.token).await, AckOutcome::NotFound);
    }
    assert!(world.all_jobs().await.is_empty());
    let counts = world.queue(&crate::kit::default_queue()).await.counts;
    assert!(counts.iter().all(|(_, count)| count.value == 0), "{counts:?}");
    world.advance(2 * HOUR).await;
    world.assert_nothing_to_lease().await;
}

/// R6.2: a running job is deleted with force only; its holder then finds nothing.
/// Guard: the state in the condition of delete.
pub async fn r6_2_a_running_job_is_deleted_by_force_only(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let before = world.dump().await;
    assert_eq!(kind_of(world.delete(lease.id(), false).await), ErrorKind::Conflict);
    world.assert_unchanged(&before).await;
    assert!(world.delete(lease.id(), true).await.expect("delete_job"));
    assert_eq!(world.ack(&lease.token).await, AckOutcome::NotFound);
    let outcome = world.nack(&lease.token, NackKind::Retry, HOUR).await;
    assert_eq!(outcome, NackOutcome::NotFound);
    world.advance(2 * HOUR).await;
    world.assert_nothing_to_lease().await;
}
