//! R2.5 and R2.6: one job per idempotency key.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::queue::{Keep, Retention};
use queuekit_core::{EnqueueOutcome, JobDraft, JobId, Priority, QueuePatch, State};

use crate::World;
use crate::kit::{
    DAY, HOUR, MINUTE, build, carrying, default_queue, draft, in_parallel, queue, unique,
};

/// R2.5: a second job with the key is a duplicate, and changes nothing in the first.
/// Guard: keys are unique, and an insert does nothing on conflict.
pub async fn r2_5_a_duplicate_changes_nothing(world: &dyn World) {
    let first = world.enqueue(unique("k").delay(HOUR)).await;
    world.advance(MINUTE).await;
    let before = world.dump().await;
    let other = carrying("other")
        .idempotency_key("k")
        .priority(Priority::CRITICAL)
        .max_attempts(9)
        .partition_key("p");
    assert_eq!(world.try_enqueue(other).await, EnqueueOutcome::Duplicate { existing: first });
    world.assert_unchanged_but_for_places(&before).await;
}

/// R2.5: a key belongs to its queue; other queues and other spellings are different keys.
/// Guard: (queue, key) is compared byte for byte.
pub async fn r2_5_a_key_is_of_its_queue_and_exact(world: &dyn World) {
    let keys = ["k", "K", "k ", " k", "k:1", "{k}", "ключ", "k\u{301}", "%", "*", "'", "\""];
    for key in keys {
        world.enqueue(unique(key)).await;
        world.enqueue(unique(key).queue("other")).await;
    }
    for key in keys {
        assert!(!world.try_enqueue(unique(key)).await.is_created(), "{key:?}");
    }
}

/// R2.5: a key of the greatest length works, and its last byte counts.
/// Guard: keys are never truncated.
pub async fn r2_5_the_longest_key_is_compared_whole(world: &dyn World) {
    let (one, two) = ("k".repeat(256), format!("{}x", "k".repeat(255)));
    let first = world.enqueue(unique(&one)).await;
    world.enqueue(unique(&two)).await;
    let outcome = world.try_enqueue(unique(&one)).await;
    assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: first });
}

/// R2.5: the key stays in use in every state of its job, and for the window after its end.
/// Guard: only time after the end frees the key.
pub async fn r2_5_a_key_holds_in_every_state(world: &dyn World) {
    for state in State::ALL {
        let key = format!("of a {state} job");
        let id = reach(world, unique(&key).delay(Duration::ZERO), state).await;
        let outcome = world.try_enqueue(unique(&key)).await;
        assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: id }, "{state}");
        world.delete(id, true).await.expect("delete_job");
    }
}

/// A job in this state.
async fn reach(world: &dyn World, draft: JobDraft, state: State) -> JobId {
    if state == State::Pending {
        return world.enqueue(draft).await;
    }
    let lease = world.lease(draft).await;
    match state {
        State::Completed => world.complete(&lease).await,
        State::Dead => world.kill(&lease).await,
        State::Cancelled => world.call_off(&lease).await,
        State::Pending | State::Running => {}
    }
    lease.id()
}

/// R2.5: the key stays in use while its job waits for a retry.
/// Guard: a nack does not free the key.
pub async fn r2_5_a_key_holds_through_retries(world: &dyn World) {
    let lease = world.lease(unique("k")).await;
    world.fail(&lease, 3 * DAY).await;
    world.advance(2 * DAY).await;
    let outcome = world.try_enqueue(unique("k")).await;
    assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: lease.id() });
}

/// R2.5: a retried job holds its key again, and the window begins with its next end.
/// Guard: retry clears the end of the window.
pub async fn r2_5_a_job_that_was_brought_back_holds_its_key(world: &dyn World) {
    let lease = world.lease(unique("k")).await;
    world.kill(&lease).await;
    world.bring_back(lease.id()).await;
    world.advance(2 * DAY).await;
    let duplicate = EnqueueOutcome::Duplicate { existing: lease.id() };
    assert_eq!(
        world.try_enqueue(unique("k")).await,
        duplicate,
        "a waiting job should hold its key"
    );
    let again = world.reserve_one().await;
    world.complete(&again).await;
    world.advance(HOUR).await;
    assert_eq!(world.try_enqueue(unique("k")).await, duplicate, "within the window");
    world.advance(DAY).await;
    assert!(world.try_enqueue(unique("k")).await.is_created());
}

/// R2.5: the key outlives its job if the job is pruned before the window ends.
/// Guard: keys are stored separately from jobs.
pub async fn r2_5_a_key_outlives_its_pruned_job(world: &dyn World) {
    let age = Keep::ALL.max_age(10 * MINUTE);
    let retention = Retention::ALL.done(age).dead(age);
    world.configure(&default_queue(), QueuePatch::default().retention(retention)).await;
    let lease = world.lease(unique("k")).await;
    world.complete(&lease).await;
    world.advance(HOUR).await;
    assert_eq!(world.prune().await, 1);
    assert!(world.find(lease.id()).await.is_none());
    let outcome = world.try_enqueue(unique("k")).await;
    assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: lease.id() });
    world.advance(DAY).await;
    world.prune().await;
    assert!(world.try_enqueue(unique("k")).await.is_created());
}

/// R2.5: a key that has outlived its job also outlives its queue; the keys of jobs that are removed
/// with the queue are free.
/// Guard: a removal of a queue keeps exactly these keys.
pub async fn r2_5_a_key_that_outlived_its_job_outlives_its_queue(world: &dyn World) {
    let name = default_queue();
    let age = Keep::ALL.max_age(10 * MINUTE);
    let retention = QueuePatch::default().retention(Retention::ALL.done(age).dead(age));
    for force in [false, true] {
        world.configure(&name, retention.clone()).await;
        let lease = world.lease(unique("k")).await;
        world.complete(&lease).await;
        world.advance(HOUR).await;
        assert_eq!(world.prune().await, 1);
        if force {
            let ended = world.lease(unique("ended")).await;
            world.complete(&ended).await;
            world.enqueue(unique("waits")).await;
        }
        assert!(world.admin().remove_queue(&name, force).await.expect("remove_queue"));
        let outcome = world.try_enqueue(unique("k")).await;
        assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: lease.id() }, "{force}");
        let ids = world.enqueue_all(["ended", "waits"].map(unique)).await;
        assert_eq!(world.serve_all(&name).await, ids);
        world.advance(DAY).await;
        world.prune().await;
        let next = world.enqueue(unique("k")).await;
        world.delete(next, false).await.expect("delete_job");
    }
}

/// R2.5: with `unique_until_done` the key holds until the job has ended, and no longer.
/// Guard: the end of such a job frees its key at once.
pub async fn r2_5_unique_until_done_ends_with_the_job(world: &dyn World) {
    for state in [State::Completed, State::Dead, State::Cancelled] {
        let draft = || unique("k").unique_until_done();
        let id = world.enqueue(draft()).await;
        let duplicate = EnqueueOutcome::Duplicate { existing: id };
        assert_eq!(world.try_enqueue(draft()).await, duplicate);
        let lease = world.reserve_one().await;
        assert_eq!(world.try_enqueue(draft()).await, duplicate);
        match state {
            State::Completed => world.complete(&lease).await,
            State::Dead => world.kill(&lease).await,
            _ => world.call_off(&lease).await,
        }
        let next = world.enqueue(draft()).await;
        world.delete(next, false).await.expect("delete_job");
    }
}

/// R2.5: deleting the job on request frees its key at once, in every state.
/// Guard: delete removes the key with the job.
pub async fn r2_5_deleting_the_job_frees_its_key(world: &dyn World) {
    for state in State::ALL {
        let id = reach(world, unique("k"), state).await;
        assert!(world.delete(id, true).await.expect("delete_job"));
        let next = world.enqueue(unique("k")).await;
        assert!(world.delete(next, false).await.expect("delete_job"));
    }
}

/// R2.5: jobs of one call share their keys too, in input order.
/// Guard: each item sees those before it.
pub async fn r2_5_keys_hold_within_one_call(world: &dyn World) {
    let jobs = [unique("k"), draft(), unique("k"), unique("k").queue("b")].map(build);
    let outcomes = world.backend().enqueue(&jobs).await.expect("enqueue");
    let created = |at: usize| EnqueueOutcome::Created { id: jobs[at].id() };
    let duplicate = EnqueueOutcome::Duplicate { existing: jobs[0].id() };
    assert_eq!(outcomes, [created(0), created(1), duplicate, created(3)]);
}

/// R2.6: of concurrent enqueues with one key, exactly one is Created, and all name its job.
/// Guard: the uniqueness of keys is a constraint, not a check before an insert.
pub async fn r2_6_of_enqueues_at_once_one_creates(world: &dyn World) {
    let handles = world.handles().await;
    for round in 0..20 {
        let key = format!("k{round}");
        let calls = (0..16).map(|turn| {
            let (store, job) = (Arc::clone(&handles[turn % handles.len()]), build(unique(&key)));
            async move { store.enqueue(&[job]).await.expect("enqueue")[0] }
        });
        let outcomes = in_parallel(calls).await;
        let created: Vec<_> = outcomes.iter().filter(|outcome| outcome.is_created()).collect();
        assert_eq!(created.len(), 1, "{outcomes:?}");
        let winner = created[0].job_id();
        assert!(outcomes.iter().all(|outcome| outcome.job_id() == winner), "{outcomes:?}");
    }
    assert_eq!(world.serve_all(&default_queue()).await.len(), 20);
}

/// R2.6: a job that was refused never holds its key.
/// Guard: the key is stored in the step that stores the job.
pub async fn r2_6_a_refused_job_holds_no_key(world: &dyn World) {
    let huge = build(carrying("x".repeat(1024 * 1024 + 1)).idempotency_key("k"));
    let refused = world.backend().enqueue(&[huge]).await;
    refused.expect_err("over the limit");
    let first = world.enqueue(unique("k")).await;
    assert_eq!(world.try_enqueue(unique("k")).await.job_id(), Some(first));
}

/// R2.6: a job that is refused by a full queue does not hold its key either.
/// Guard: the limit is tested before the key is taken.
pub async fn r2_6_a_job_that_found_its_queue_full_holds_no_key(world: &dyn World) {
    let name = queue("small");
    world.configure(&name, QueuePatch::default().max_pending(1)).await;
    let first = world.enqueue(draft().queue("small")).await;
    let full = world.try_enqueue(unique("k").queue("small")).await;
    assert!(matches!(full, EnqueueOutcome::QueueFull { .. }), "{full:?}");
    world.delete(first, false).await.expect("delete_job");
    world.enqueue(unique("k").queue("small")).await;
}
