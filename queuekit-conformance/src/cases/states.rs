//! R1: states, statuses and the counting of attempts.

use std::time::Duration;

use queuekit_core::queue::{KeyOnWait, Order};
use queuekit_core::{
    AckOutcome, DeadLetter, DeadLetterOutcome, Job, JobDraft, JobFilter, JobId, NackKind,
    NackOutcome, QueueName, QueuePatch, State, Status,
};

use crate::World;
use crate::kit::{DAY, HOUR, MINUTE, default_queue, draft, keyed, queue, worker};

/// R1.1: every job shows exactly one status, in every filter, count and view.
/// Guard: one derivation of the status behind get, list and count.
pub async fn r1_1_every_job_shows_one_status_everywhere(world: &dyn World) {
    let jobs = one_of_each_status(world).await;
    for (status, id) in &jobs {
        let job = world.job(*id).await;
        assert_eq!((job.status, job.state), (*status, status.state()), "{status}");
        let filter = JobFilter::default().queue(default_queue()).status(*status);
        assert_eq!(world.list_ids(filter).await, [*id], "listed as {status}");
    }
    let counts = world.queue(&default_queue()).await.counts;
    for (status, count) in counts.iter() {
        assert_eq!((count.value, count.exact), (1, true), "counted as {status}");
    }
    for state in State::ALL {
        let listed = world.list(JobFilter::default().status(state)).await;
        assert!(listed.iter().all(|job| job.state == state), "{state}");
        assert_eq!(listed.len() as u64, counts.of_state(state).value, "{state}");
    }
}

/// One job of each status, all in the queue `default`.
async fn one_of_each_status(world: &dyn World) -> Vec<(Status, JobId)> {
    let mut jobs = Vec::new();
    for status in [Status::Completed, Status::Dead, Status::Cancelled, Status::Failed] {
        let lease = world.lease(draft()).await;
        match status {
            Status::Completed => world.complete(&lease).await,
            Status::Dead => world.kill(&lease).await,
            Status::Cancelled => world.call_off(&lease).await,
            _ => world.fail(&lease, DAY).await,
        }
        jobs.push((status, lease.id()));
    }
    jobs.push((Status::Running, world.enqueue(keyed("k")).await));
    assert_eq!(world.reserve_as(worker("w"), 1, 6 * HOUR).await.len(), 1);
    jobs.push((Status::Expired, world.lease(draft()).await.id()));
    world.expire().await;
    // From here on nothing is reserved, so nothing is reclaimed.
    jobs.push((Status::Blocked, world.enqueue(keyed("k")).await));
    jobs.push((Status::Ready, world.enqueue(draft()).await));
    jobs.push((Status::Scheduled, world.enqueue(draft().delay(DAY)).await));
    jobs
}

/// R1.1: `blocked` takes precedence; the head of a key is not blocked by its own delay.
/// Guard: the key is tested before the time.
pub async fn r1_1_blocked_goes_before_scheduled(world: &dyn World) {
    let head = world.enqueue(keyed("k").delay(HOUR)).await;
    let behind = world.enqueue(keyed("k").delay(HOUR)).await;
    assert_eq!(world.status(head).await, Status::Scheduled);
    assert_eq!(world.status(behind).await, Status::Blocked);
    world.advance(HOUR).await;
    assert_eq!(world.status(head).await, Status::Ready);
    assert_eq!(world.status(behind).await, Status::Blocked);
    let lease = world.reserve_one().await;
    assert_eq!(world.status(behind).await, Status::Blocked);
    world.complete(&lease).await;
    assert_eq!(world.status(behind).await, Status::Ready);
}

/// R1.1: lists, counts and `get_job` agree on which jobs are blocked, in every order of the queue.
/// Guard: the free leases of a key, and its jobs that wait for their time.
pub async fn r1_1_blocked_is_told_alike_however_keys_are_served(world: &dyn World) {
    for on_wait in [KeyOnWait::Block, KeyOnWait::Skip] {
        let name = queue(&format!("{on_wait:?}"));
        world.configure(&name, QueuePatch::default().key_on_wait(on_wait)).await;
        world.enqueue(keyed("k").queue(&name)).await;
        world.reserve_one_from(&name).await;
        let behind = world.enqueue(keyed("k").queue(&name)).await;
        assert_alone_blocked(world, &name, behind).await;
    }
    let name = default_queue();
    world.configure(&name, QueuePatch::default().per_key(2)).await;
    world.enqueue(keyed("k").delay(HOUR)).await;
    let behind = world.enqueue(keyed("k")).await;
    assert_alone_blocked(world, &name, behind).await;
}

async fn assert_alone_blocked(world: &dyn World, name: &QueueName, id: JobId) {
    assert_eq!(world.status(id).await, Status::Blocked, "{name}");
    let filter = JobFilter::default().queue(name.clone()).status(Status::Blocked);
    assert_eq!(world.list_ids(filter).await, [id], "{name}");
    let counts = world.queue(name).await.counts;
    assert_eq!(counts.get(Status::Blocked).value, 1, "{name}");
}

/// R1.1: counts follow the clock without a write.
/// Guard: derived statuses are counted by time, not stored.
pub async fn r1_1_counts_follow_the_clock(world: &dyn World) {
    world.enqueue(draft().delay(HOUR)).await;
    let leased = world.lease(draft()).await;
    world.advance(HOUR).await;
    let counts = world.queue(&default_queue()).await.counts;
    assert_eq!(counts.get(Status::Scheduled).value, 0);
    assert_eq!(counts.get(Status::Ready).value, 1);
    assert_eq!(counts.get(Status::Running).value, 0);
    assert_eq!(counts.get(Status::Expired).value, 1);
    world.complete(&leased).await;
    let counts = world.queue(&default_queue()).await.counts;
    assert_eq!(counts.get(Status::Expired).value, 0);
    assert_eq!(counts.get(Status::Completed).value, 1);
}

/// R1.2: an ended job is never leased again by itself.
/// Guard: the end removes the job from the serving order.
pub async fn r1_2_an_ended_job_never_runs_by_itself(world: &dyn World) {
    let leases = {
        world.enqueue_n(3).await;
        world.reserve(3).await
    };
    world.complete(&leases[0]).await;
    world.kill(&leases[1]).await;
    world.call_off(&leases[2]).await;
    for _ in 0..3 {
        world.advance(HOUR).await;
        world.assert_nothing_to_lease().await;
    }
    for (lease, state) in leases.iter().zip([State::Completed, State::Dead, State::Cancelled]) {
        assert_eq!(world.state(lease.id()).await, state);
    }
}

/// R1.3: a reclaimed job keeps its place, its schedule and its sequence.
/// Guard: reclaim changes state and lease only.
pub async fn r1_3_a_reclaimed_job_keeps_its_place(world: &dyn World) {
    let first = world.enqueue(draft()).await;
    let before = world.job(first).await;
    world.advance(MINUTE).await;
    assert_eq!(world.reserve_ids(1).await, [first]);
    let second = world.enqueue(draft()).await;
    world.expire().await;
    assert_eq!(world.reserve_ids(2).await, [first, second]);
    assert_eq!(world.job(first).await.scheduled_at, before.scheduled_at);
}

/// R1.4: time alone changes nothing that is stored.
/// Guard: no background process, and reads write nothing.
pub async fn r1_4_time_alone_changes_nothing_stored(world: &dyn World) {
    one_of_each_status(world).await;
    let stored = |jobs: Vec<Job>| {
        let mut jobs: Vec<_> = jobs
            .into_iter()
            .map(|mut job| {
                job.status = Status::Ready;
                job.lease_expires_in = None;
                job.deadline_in = None;
                job
            })
            .collect();
        jobs.sort_by_key(|job| job.id);
        jobs
    };
    let before = stored(world.all_jobs().await);
    world.advance(10 * DAY).await;
    assert_eq!(stored(world.all_jobs().await), before);
}

/// R1.5: attempts are counted by the store, in the step that leases.
/// Guard: attempts + 1 in reserve, not in nack.
pub async fn r1_5_attempts_are_counted_at_reserve(world: &dyn World) {
    assert_attempts_are_counted(world, draft()).await;
}

/// R1.5: attempts are counted in a fair queue too, with and without a partition key.
/// Guard: attempts + 1 in the step of a fair queue.
pub async fn r1_5_attempts_are_counted_in_a_fair_queue(world: &dyn World) {
    world.configure(&default_queue(), QueuePatch::default().order(Order::Fair)).await;
    for draft in [draft(), keyed("k")] {
        assert_attempts_are_counted(world, draft).await;
    }
}

async fn assert_attempts_are_counted(world: &dyn World, draft: JobDraft) {
    let id = world.enqueue(draft).await;
    assert_eq!(world.job(id).await.attempts, 0);
    for attempt in 1..=3 {
        let lease = world.reserve_one().await;
        assert_eq!(lease.attempt, attempt);
        assert_eq!(world.job(id).await.attempts, attempt);
        world.expire().await;
    }
    world.assert_nothing_to_lease().await;
    let job = world.job(id).await;
    assert_eq!((job.state, job.attempts), (State::Dead, 3));
}

/// R1.5: a release undoes its attempt and is counted separately.
/// Guard: attempts - 1 and releases + 1 in the same step.
pub async fn r1_5_a_release_is_no_attempt(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(1)).await;
    for releases in 0..5 {
        let lease = world.reserve_one().await;
        assert_eq!((lease.attempt, lease.releases), (1, releases));
        world.release(&lease, Duration::ZERO).await;
        let job = world.job(id).await;
        assert_eq!((job.attempts, job.releases), (0, releases + 1));
    }
}

/// R1.5: the fencing number rises with every lease.
/// Guard: `lease_seq` is part of the job, not of the lease.
pub async fn r1_5_lease_seq_rises_with_every_lease(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(10)).await;
    let mut latest = 0;
    for round in 0..6 {
        let lease = world.reserve_one().await;
        assert!(lease.token.lease_seq > latest, "{} after {latest}", lease.token.lease_seq);
        latest = lease.token.lease_seq;
        assert_eq!(world.job(id).await.lease_seq, latest);
        match round % 3 {
            0 => world.fail(&lease, Duration::ZERO).await,
            1 => world.release(&lease, Duration::ZERO).await,
            _ => world.expire().await,
        }
    }
}

/// R1.5: a retried job keeps its fencing number, and its attempts start again at 0.
/// Guard: retry resets attempts, never `lease_seq`.
pub async fn r1_5_retry_never_resets_lease_seq(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.kill(&lease).await;
    world.bring_back(lease.id()).await;
    assert_eq!(world.job(lease.id()).await.attempts, 0);
    let again = world.reserve_one().await;
    assert_eq!(again.attempt, 1);
    assert!(again.token.lease_seq > lease.token.lease_seq);
}

/// R1.6: an ack after a requested cancel still completes.
/// Guard: a cancel request ends nothing by itself.
pub async fn r1_6_an_ack_wins_over_a_requested_cancel(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.request_cancel(lease.id()).await;
    assert!(world.job(lease.id()).await.cancel_requested);
    assert_eq!(world.ack(&lease.token).await, AckOutcome::Acked);
    assert_eq!(world.state(lease.id()).await, State::Completed);
}

/// R1.6: after a cancel request, nack Retry and Release end the job as cancelled, also on the final
/// attempt.
/// Guard: the request is tested before the attempts.
pub async fn r1_6_retry_and_release_end_cancelled(world: &dyn World) {
    for (kind, max_attempts) in
        [(NackKind::Retry, 3), (NackKind::Retry, 1), (NackKind::Release, 3), (NackKind::Release, 1)]
    {
        let lease = world.lease(draft().max_attempts(max_attempts)).await;
        world.request_cancel(lease.id()).await;
        let outcome = world.nack(&lease.token, kind, Duration::ZERO).await;
        assert_eq!(outcome, NackOutcome::Cancelled, "{kind:?} of {max_attempts}");
        assert_eq!(world.state(lease.id()).await, State::Cancelled);
    }
    world.assert_nothing_to_lease().await;
}

/// R1.6: after a cancel request, an expired lease ends the job as cancelled, also on the final
/// attempt.
/// Guard: reclaim tests the request.
pub async fn r1_6_expiry_ends_cancelled(world: &dyn World) {
    for max_attempts in [1, 3] {
        let lease = world.lease(draft().max_attempts(max_attempts)).await;
        world.request_cancel(lease.id()).await;
        world.expire().await;
        world.assert_nothing_to_lease().await;
        assert_eq!(
            world.state(lease.id()).await,
            State::Cancelled,
            "expired with max_attempts {max_attempts} and a cancel requested"
        );
    }
}

/// R1.6: a fatal failure and a dead-lettering end the job as dead despite a cancel request.
/// Guard: the request is tested for retry and release only.
pub async fn r1_6_fatal_and_dead_letter_stay_dead(world: &dyn World) {
    let fatal = world.lease(draft()).await;
    world.request_cancel(fatal.id()).await;
    world.kill(&fatal).await;
    assert_eq!(world.state(fatal.id()).await, State::Dead);

    let dead_lettered = world.lease(draft()).await;
    world.request_cancel(dead_lettered.id()).await;
    let outcome =
        world.dead_letter(DeadLetter::of_lease(dead_lettered.token.clone(), "poison")).await;
    assert_eq!(outcome, DeadLetterOutcome::DeadLettered);
    assert_eq!(world.state(dead_lettered.id()).await, State::Dead);
}

/// R1.6: a retried job is no longer asked to stop.
/// Guard: retry clears the request.
pub async fn r1_6_retry_clears_the_request(world: &dyn World) {
    let lease = world.lease(draft()).await;
    world.request_cancel(lease.id()).await;
    world.call_off(&lease).await;
    world.bring_back(lease.id()).await;
    assert!(!world.job(lease.id()).await.cancel_requested);
    let again = world.reserve_one().await;
    world.fail(&again, Duration::ZERO).await;
    assert_eq!(world.state(lease.id()).await, State::Pending);
}
