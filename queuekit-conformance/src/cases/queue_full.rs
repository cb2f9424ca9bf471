//! R2.8: a queue that is full.

use std::time::Duration;

use queuekit_core::{BackendExt, JobDraft};
use queuekit_core::{EnqueueOutcome, ErrorKind, NewJob, QueuePatch};

use crate::World;
use crate::kit::{build, default_queue, draft, queue, unique};

async fn limit(world: &dyn World, max_pending: u64) {
    let patch = QueuePatch::default().max_pending(max_pending);
    world.configure(&default_queue(), patch).await;
}

fn is_full(outcome: &EnqueueOutcome) -> bool {
    matches!(outcome, EnqueueOutcome::QueueFull { retry_after } if !retry_after.is_zero())
}

/// R2.8: at `max_pending` a job is refused with a hint, and nothing is stored for it.
/// Guard: the count of pending jobs in enqueue.
pub async fn r2_8_a_full_queue_stores_nothing_more(world: &dyn World) {
    limit(world, 3).await;
    world.enqueue_n(3).await;
    let before = world.dump().await;
    let refused = build(draft());
    let outcomes = world.backend().enqueue(std::slice::from_ref(&refused)).await.expect("enqueue");
    assert!(is_full(&outcomes[0]), "{outcomes:?}");
    assert!(world.find(refused.id()).await.is_none());
    world.assert_unchanged_but_for_places(&before).await;
    let error = world.backend().enqueue_one(refused).await.expect_err("full");
    assert!(matches!(error.kind(), ErrorKind::QueueFull { .. }), "{error}");
    assert!(error.is_retryable());
    world.enqueue(draft().queue("other")).await;
}

/// R2.8: with one caller the limit is exact, also within one call.
/// Guard: each item of a call counts the items before it.
pub async fn r2_8_the_limit_is_exact_for_one_caller(world: &dyn World) {
    limit(world, 3).await;
    world.enqueue(draft()).await;
    let jobs: Vec<NewJob> = (0..5).map(|_| build(draft())).collect();
    let outcomes = world.backend().enqueue(&jobs).await.expect("enqueue");
    assert!(outcomes[..2].iter().all(|outcome| outcome.is_created()), "{outcomes:?}");
    assert!(outcomes[2..].iter().all(is_full), "{outcomes:?}");
}

/// R2.8: in a call over several queues, each queue has its own limit.
/// Guard: an item counts only the items before it in its own queue.
pub async fn r2_8_each_queue_of_a_call_has_its_own_room(world: &dyn World) {
    for name in ["a", "b"] {
        let patch = QueuePatch::default().max_pending(2);
        world.configure(&queue(name), patch).await;
    }
    let jobs = ["a", "b", "a", "b", "a"].map(|name| build(draft().queue(name)));
    let outcomes = world.backend().enqueue(&jobs).await.expect("enqueue");
    assert!(outcomes[..4].iter().all(|outcome| outcome.is_created()), "{outcomes:?}");
    assert!(is_full(&outcomes[4]), "{outcomes:?}");
}

/// R2.8: a limit that another handle sets is in force at once.
/// Guard: the step that stores a job reads the limit.
pub async fn r2_8_a_limit_set_elsewhere_is_in_force(world: &dyn World) {
    let handles = world.handles().await;
    let (here, there) = (&handles[0], &handles[handles.len() - 1]);
    let enqueue = async || here.enqueue(&[build(draft())]).await.expect("enqueue")[0];
    assert!(enqueue().await.is_created());
    let admin = there.capabilities().admin.expect("Admin");
    let patch = QueuePatch::default().max_pending(1);
    admin.configure(&default_queue(), &patch).await.expect("configure");
    let outcome = enqueue().await;
    assert!(is_full(&outcome), "{outcome:?}");
}

/// R2.8: only pending jobs count: each lease makes room, and without a limit nothing is refused.
/// Guard: the limit counts pending jobs, and is read from the queue's settings.
pub async fn r2_8_only_pending_jobs_count(world: &dyn World) {
    limit(world, 1).await;
    world.enqueue(draft().delay(Duration::from_secs(3600))).await;
    assert!(is_full(&world.try_enqueue(draft()).await), "a scheduled job should count as pending");
    limit(world, 2).await;
    let lease = world.lease(draft()).await;
    world.enqueue(draft()).await;
    assert!(is_full(&world.try_enqueue(draft()).await));
    // A run that fails is not refused its place.
    world.fail(&lease, Duration::ZERO).await;
    limit(world, 3).await;
    for state in ["completed", "dead", "cancelled"] {
        let lease = world.reserve_one().await;
        match state {
            "completed" => world.complete(&lease).await,
            "dead" => world.kill(&lease).await,
            _ => world.call_off(&lease).await,
        }
        world.enqueue(draft()).await;
        assert!(
            is_full(&world.try_enqueue(draft()).await),
            "a job that is {state} should make room for one job only"
        );
    }
    let patch = QueuePatch::default().max_pending(None);
    world.configure(&default_queue(), patch).await;
    world.enqueue_n(5).await;
}

/// R2.8: a full queue still recognizes repeats and duplicates (R2.4, R2.5).
/// Guard: id and key are checked before the limit.
pub async fn r2_8_a_full_queue_still_knows_its_jobs(world: &dyn World) {
    limit(world, 1).await;
    let job: NewJob = build(unique("k"));
    world.backend().enqueue(std::slice::from_ref(&job)).await.expect("enqueue");
    let duplicate = EnqueueOutcome::Duplicate { existing: job.id() };
    let again: JobDraft = unique("k");
    assert_eq!(world.try_enqueue(again).await, duplicate);
    let repeat = [job.repeated()];
    assert_eq!(world.backend().enqueue(&repeat).await.expect("enqueue"), [duplicate]);
    assert!(world.find_queue(&queue("default")).await.is_some());
}

/// R2.8: a full queue recognizes a job without a key by its id.
/// Guard: the id is checked before the limit.
pub async fn r2_8_a_full_queue_knows_a_job_by_its_id(world: &dyn World) {
    limit(world, 1).await;
    let job: NewJob = build(draft());
    world.backend().enqueue(std::slice::from_ref(&job)).await.expect("enqueue");
    let duplicate = EnqueueOutcome::Duplicate { existing: job.id() };
    let again = [job.clone()];
    assert_eq!(world.backend().enqueue(&again).await.expect("enqueue"), [duplicate]);
    let repeat = [job.repeated()];
    assert_eq!(world.backend().enqueue(&repeat).await.expect("enqueue"), [duplicate]);
}
