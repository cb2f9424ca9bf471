//! R12, retention: how long ended jobs are kept, and upkeep that does it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::poll;
use queuekit_core::capability::{CancelOutcome, RetryOutcome};
use queuekit_core::queue::{Keep, Retention};
use queuekit_core::{
    Ack, AckOutcome, DeadLetter, JobDraft, JobId, Lease, Nack, NackKind, NackOutcome, QueuePatch,
    State, Status,
};

use crate::World;
use crate::kit::{DAY, HOUR, MINUTE, default_queue, draft, in_parallel, keyed, queue, worker};

async fn keep(world: &dyn World, done: Keep, dead: Keep) {
    let retention = Retention::ALL.done(done).dead(dead);
    world.configure(&default_queue(), QueuePatch::default().retention(retention)).await;
}

fn keep_for(age: Duration) -> Keep {
    Keep::ALL.max_age(age)
}

/// A completed job.
async fn completed(world: &dyn World, draft: JobDraft) -> JobId {
    let lease = world.lease(draft).await;
    world.complete(&lease).await;
    lease.id()
}

async fn stored(world: &dyn World, ids: &[JobId]) -> Vec<bool> {
    let mut stored = Vec::new();
    for id in ids {
        stored.push(world.find(*id).await.is_some());
    }
    stored
}

/// R12: by default completed and cancelled jobs stay 24 h, dead ones until they are deleted.
/// Guard: the defaults of retention.
pub async fn r12_retention_by_default(world: &dyn World) {
    let done = completed(world, draft()).await;
    let cancelled = world.lease(draft()).await;
    world.call_off(&cancelled).await;
    let dead = world.lease(draft()).await;
    world.kill(&dead).await;
    let ids = [done, cancelled.id(), dead.id()];
    world.advance(23 * HOUR).await;
    assert_eq!(world.prune().await, 0);
    world.advance(2 * HOUR).await;
    assert_eq!(world.prune().await, 2);
    assert_eq!(stored(world, &ids).await, [false, false, true]);
    world.advance(1000 * DAY).await;
    assert_eq!(world.prune().await, 0);
    let counts = world.queue(&default_queue()).await.counts;
    assert_eq!(counts.get(Status::Completed).value, 0);
    assert_eq!(counts.get(Status::Dead).value, 1);
}

/// R12: retention by age counts from the end, and never removes a job that has not ended.
/// Guard: prune tests the state and `finished_at`.
pub async fn r12_retention_by_age_counts_from_the_end(world: &dyn World) {
    keep(world, keep_for(HOUR), keep_for(2 * HOUR)).await;
    let running = world.enqueue(draft()).await;
    assert_eq!(world.reserve_as(worker("w"), 1, 12 * HOUR).await.len(), 1);
    let failed = world.lease(draft()).await;
    world.fail(&failed, 300 * HOUR).await;
    let scheduled = world.enqueue(draft().delay(300 * HOUR)).await;
    let late = world.enqueue(draft()).await;
    world.advance(6 * HOUR).await;
    assert_eq!(world.prune().await, 0);
    let dead = world.reserve_one().await;
    assert_eq!(dead.id(), late);
    world.kill(&dead).await;
    world.advance(HOUR).await;
    assert_eq!(world.prune().await, 0, "the dead stay for two hours");
    world.advance(HOUR).await;
    assert_eq!(world.prune().await, 1);
    let ids = [running, failed.id(), scheduled, late];
    assert_eq!(stored(world, &ids).await, [true, true, true, false]);
}

/// R12: retention by age counts from the end of a job, not from the start of its run.
/// Guard: `finished_at` is set at the end.
pub async fn r12_retention_by_age_spares_a_long_run(world: &dyn World) {
    keep(world, keep_for(HOUR), Keep::ALL).await;
    let id = world.enqueue(draft()).await;
    let lease = world.reserve_as(worker("w"), 1, 12 * HOUR).await.remove(0);
    world.advance(5 * HOUR).await;
    world.complete(&lease).await;
    assert_eq!(world.prune().await, 0, "a job that has just ended should be kept");
    world.advance(HOUR).await;
    assert_eq!(world.prune().await, 1);
    assert_eq!(stored(world, &[id]).await, [false]);
}

/// R12: completed and cancelled jobs share one number.
/// Guard: both states are counted together, and the older end is removed first.
pub async fn r12_retention_by_number_counts_both_ends(world: &dyn World) {
    keep(world, Keep::ALL.max_jobs(2), Keep::ALL).await;
    let mut ids = Vec::new();
    for n in 0..4 {
        let lease = world.lease(draft()).await;
        match n % 2 {
            0 => world.complete(&lease).await,
            _ => world.call_off(&lease).await,
        }
        ids.push(lease.id());
        world.advance(Duration::from_secs(5)).await;
    }
    world.advance(HOUR).await;
    assert_eq!(world.prune().await, 2);
    assert_eq!(stored(world, &ids).await, [false, false, true, true]);
}

/// R12: retention by number keeps the newest ended jobs, and keeps all that ended less than 60 s
/// ago.
/// Guard: the order of pruning, and the grace of 60 s.
pub async fn r12_retention_by_number_keeps_the_newest(world: &dyn World) {
    let two = Keep::ALL.max_jobs(2);
    keep(world, two, two).await;
    for state in [State::Completed, State::Dead] {
        let mut ids = Vec::new();
        for _ in 0..5 {
            let lease = world.lease(draft()).await;
            match state {
                State::Dead => world.kill(&lease).await,
                _ => world.complete(&lease).await,
            }
            ids.push(lease.id());
            world.advance(Duration::from_secs(5)).await;
        }
        assert_eq!(world.prune().await, 0, "{state}: all ended less than 60 s ago");
        world.advance(HOUR).await;
        assert_eq!(world.prune().await, 3, "{state}");
        assert_eq!(stored(world, &ids).await, [false, false, false, true, true], "{state}");
    }
}

/// R12: retention by bytes keeps the newest jobs that fit, with the same grace.
/// Guard: payloads and results are counted.
pub async fn r12_retention_by_bytes_keeps_the_newest(world: &dyn World) {
    keep(world, Keep::ALL.max_bytes(2500), Keep::ALL).await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(completed(world, JobDraft::new("work", vec![0; 1000])).await);
        world.advance(Duration::from_secs(5)).await;
    }
    assert_eq!(world.prune().await, 0, "jobs that ended less than 60 s ago should be kept");
    world.advance(HOUR).await;
    assert_eq!(world.prune().await, 3);
    assert_eq!(stored(world, &ids).await, [false, false, false, true, true]);
}

/// R12: results are kept, so they count.
/// Guard: the bytes of results.
pub async fn r12_retention_by_bytes_counts_results(world: &dyn World) {
    keep(world, Keep::ALL.max_bytes(2500), Keep::ALL).await;
    let mut ids = Vec::new();
    for draft in [draft(), keyed("k"), draft(), keyed("k"), draft()] {
        let lease = world.lease(draft).await;
        let ack = Ack::new(lease.token.clone()).with_result(vec![0; 1000]);
        let outcomes = world.backend().ack(&[ack]).await.expect("ack");
        assert_eq!(outcomes, [AckOutcome::Acked]);
        ids.push(lease.id());
        world.advance(Duration::from_secs(5)).await;
    }
    world.advance(HOUR).await;
    assert_eq!(world.prune().await, 3);
    assert_eq!(stored(world, &ids).await, [false, false, false, true, true]);
}

/// R5.4: retention tests its conditions at the moment of the write: a job is retried or pruned,
/// never both.
/// Guard: the condition is part of prune's delete.
pub async fn r5_4_a_job_is_brought_back_or_pruned_never_both(world: &dyn World) {
    keep(world, keep_for(10 * MINUTE), keep_for(10 * MINUTE)).await;
    let handles = world.handles().await;
    for _ in 0..10 {
        let ids = world.enqueue_n(20).await;
        for id in &ids {
            world.dead_letter_waiting(*id).await;
        }
        world.advance(HOUR).await;
        let (one, two) = (Arc::clone(&handles[0]), Arc::clone(&handles[handles.len() - 1]));
        let batch = ids.clone();
        let retry = tokio::spawn(async move {
            one.capabilities().admin.expect("Admin").retry(&batch).await.expect("retry")
        });
        let prune = tokio::spawn(async move {
            two.capabilities().upkeep.expect("Upkeep").prune().await.expect("prune")
        });
        let retried = retry.await.expect("the task");
        prune.await.expect("the task");
        for (id, outcome) in ids.iter().zip(retried) {
            let state = world.find(*id).await.map(|job| job.state);
            match outcome {
                RetryOutcome::Retried => assert_eq!(state, Some(State::Pending)),
                RetryOutcome::NotFound => assert_eq!(state, None),
                RetryOutcome::Conflict => panic!("a dead job without a key is no conflict"),
            }
        }
        world.serve_all(&default_queue()).await;
        world.advance(HOUR).await;
        world.prune().await;
    }
}

/// R5.4: a job that was retried and has ended again since retention read it is kept, although its
/// first end is old.
/// Guard: `finished_at` in the condition of prune's delete.
pub async fn r5_4_what_ends_again_while_retention_runs_is_kept(world: &dyn World) {
    keep(world, keep_for(10 * MINUTE), keep_for(10 * MINUTE)).await;
    let other = world.handles().await.pop().expect("a handle");
    // Twice: what a store does for the first time takes longer.
    for state in [State::Dead, State::Cancelled, State::Dead, State::Cancelled] {
        let ids = world.enqueue_n(100).await;
        match state {
            State::Dead => {
                let dead_letters: Vec<_> =
                    ids.iter().map(|id| DeadLetter::of_job(*id, "first")).collect();
                world.backend().dead_letter(&dead_letters).await.expect("dead_letter");
            }
            _ => drop(world.admin().cancel(&ids).await.expect("cancel")),
        }
        world.advance(HOUR).await;
        let (mut rest, mut again) = (ids.iter().copied(), Vec::new());
        let mut prune = other.capabilities().upkeep.expect("Upkeep").prune();
        // Held up between any two of its steps, while one comes back and ends.
        while poll!(&mut prune).is_pending() {
            if let Some(id) = rest.next()
                && world.retry(id).await == RetryOutcome::Retried
            {
                match state {
                    State::Dead => world.dead_letter_waiting(id).await,
                    _ => assert_eq!(world.cancel(id).await, CancelOutcome::Cancelled),
                }
                again.push(id);
            }
            tokio::task::yield_now().await;
        }
        for (id, is_stored) in again.iter().zip(stored(world, &again).await) {
            assert!(is_stored, "{id} ended again a moment ago: {state}");
        }
        world.prune().await;
        assert_eq!(world.all_jobs().await.len(), again.len(), "{state}");
        world.advance(HOUR).await;
        world.prune().await;
    }
}

/// R13.7: any number of processes may run upkeep at once; together they remove each expired job
/// once.
/// Guard: upkeep needs no leader.
pub async fn r13_7_any_number_may_run_upkeep(world: &dyn World) {
    let ids = world.enqueue_n(300).await;
    for lease in world.reserve(300).await {
        world.complete(&lease).await;
    }
    world.advance(2 * DAY).await;
    let handles = world.handles().await;
    let helpers = (0..4).map(|at| {
        let store = Arc::clone(&handles[at % handles.len()]);
        async move { store.capabilities().upkeep.expect("Upkeep").prune().await.expect("prune") }
    });
    let removed: u64 = in_parallel(helpers).await.iter().map(|report| report.changed).sum();
    assert_eq!(removed + world.prune().await, 300);
    assert_eq!(stored(world, &ids[..3]).await, [false; 3]);
}

/// R13.7: one step of upkeep is short: it removes at most 1,000 jobs, and returns that there is
/// more. The case uses dead jobs, because no store drops those as a whole.
/// Guard: the limit of a step, over all queues.
pub async fn r13_7_a_step_is_bounded_and_says_more(world: &dyn World) {
    for name in ["a", "b"] {
        let drafts = (0..800).map(|_| draft().queue(name));
        world.enqueue_all(drafts).await;
        let leases = world.reserve_many(&queue(name), 800).await;
        let fatal = |lease: Lease| Nack::new(lease.token, NackKind::Fatal, "bad", Duration::ZERO);
        let nacks: Vec<Nack> = leases.into_iter().map(fatal).collect();
        let outcomes = world.backend().nack(&nacks).await.expect("nack");
        assert_eq!(outcomes, vec![NackOutcome::Dead; 800]);
        let retention = Retention::ALL.done(Keep::ALL).dead(keep_for(DAY));
        world.configure(&queue(name), QueuePatch::default().retention(retention)).await;
    }
    world.advance(2 * DAY).await;
    let first = world.upkeep().prune().await.expect("prune");
    assert!(first.changed <= 1000, "one step removed {}", first.changed);
    assert!(first.more, "{} of 1600 are removed", first.changed);
    assert_eq!(first.changed + world.prune().await, 1600);
    assert_eq!(world.all_jobs().await, []);
}

/// R13.7: repair finds nothing to correct in a store that has kept the rules.
/// Guard: what the store derives is changed in the step that changes its source.
pub async fn r13_7_repair_finds_nothing_to_mend(world: &dyn World) {
    world.enqueue_all((0..40).map(|at| draft().partition_key(format!("k{}", at % 7)))).await;
    world.enqueue_all((0..20).map(|at| draft().idempotency_key(format!("k{at}")))).await;
    for (at, lease) in world.reserve(25).await.iter().enumerate() {
        match at % 5 {
            0 => world.complete(lease).await,
            1 => world.fail(lease, HOUR).await,
            2 => world.kill(lease).await,
            3 => assert!(world.delete(lease.id(), true).await.expect("delete_job")),
            _ => {}
        }
    }
    world.expire().await;
    world.reserve(10).await;
    let before = world.dump().await;
    for _ in 0..100 {
        let report = world.upkeep().repair().await.expect("repair");
        assert_eq!(report.changed, 0);
        if !report.more {
            break;
        }
    }
    // A store may look at its partition keys again: what they give stays.
    world.assert_unchanged_but_for_places(&before).await;
}
