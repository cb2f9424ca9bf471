//! R6.9: why a job is not running.

use std::time::Duration;

use queuekit_core::capability::{AdminExt, Served, Why};
use queuekit_core::queue::{KeyOnDead, KeyOnWait};
use queuekit_core::{JobId, QueuePatch, State};

use crate::World;
use crate::kit::{HOUR, TTL, beat_of, default_queue, draft, keyed, kind, partition_key, worker};

async fn why(world: &dyn World, id: JobId) -> Why {
    let why = world.admin().why(id).await.expect("why").expect("the job is stored");
    assert!(!why.to_string().is_empty());
    why
}

/// R6.9: `why` says why a job waits: for its time, its retry, its queue, its key or a worker.
/// Guard: the order in which the reasons are tested.
pub async fn r6_9_why_a_waiting_job_waits(world: &dyn World) {
    let scheduled = world.enqueue(draft().delay(HOUR)).await;
    match why(world, scheduled).await {
        Why::Scheduled { in_ } => world.assert_left(Some(in_), HOUR),
        other => panic!("{other:?}"),
    }
    let failed = world.lease(draft()).await;
    world.fail(&failed, HOUR).await;
    match why(world, failed.id()).await {
        Why::WaitingForRetry { in_, attempts: 1, max_attempts: 3 } => {
            world.assert_left(Some(in_), HOUR)
        }
        other => panic!("{other:?}"),
    }
    let head = world.enqueue(keyed("k")).await;
    let behind = world.enqueue(keyed("k")).await;
    match why(world, behind).await {
        Why::Blocked { key, behind } => {
            assert_eq!(key, partition_key("k"));
            assert_eq!(behind, Some(head));
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(why(world, head).await, Why::NoLiveWorker { .. }));
    beat(world, "other").await;
    assert!(
        matches!(why(world, head).await, Why::NoLiveWorker { .. }),
        "a live worker of another kind should not count"
    );
    beat(world, "work").await;
    assert!(matches!(why(world, head).await, Why::Ready { .. }));
    world.admin().pause(&default_queue()).await.expect("pause");
    let paused = Why::Paused { queue: default_queue(), reason: None, ends_in: None };
    assert_eq!(why(world, head).await, paused);
}

/// R6.9: for a released job that is not due, `why` says that no live worker serves its kind.
/// Guard: for a released job, the live workers are tested before the time.
pub async fn r6_9_why_a_released_job_waits(world: &dyn World) {
    beat(world, "other").await;
    let unserved = Why::NoLiveWorker { queue: default_queue(), kind: kind("work") };
    let released = world.lease(draft()).await;
    world.release(&released, HOUR).await;
    assert_eq!(why(world, released.id()).await, unserved);
    let failed = world.lease(draft()).await;
    world.fail(&failed, Duration::ZERO).await;
    let failed = world.reserve_one().await;
    world.release(&failed, HOUR).await;
    assert_eq!(why(world, failed.id()).await, unserved, "after a failure");
    let scheduled = world.enqueue(draft().delay(HOUR)).await;
    let why_scheduled = why(world, scheduled).await;
    assert!(matches!(why_scheduled, Why::Scheduled { .. }), "not released: {why_scheduled:?}");
    beat(world, "work").await;
    let served = why(world, released.id()).await;
    assert!(matches!(served, Why::Scheduled { .. }), "{served:?}");
    let served = why(world, failed.id()).await;
    assert!(matches!(served, Why::WaitingForRetry { .. }), "{served:?}");
}

/// R6.9: for a job whose key a dead head holds, `why` names that head, whatever the job's place.
/// Guard: a dead head is looked up before waiting jobs.
pub async fn r6_9_why_names_the_dead_head_that_holds(world: &dyn World) {
    let hold = QueuePatch::default().key_on_dead(KeyOnDead::Hold);
    world.configure(&default_queue(), hold).await;
    let ids = world.enqueue_all((0..3).map(|_| keyed("k"))).await;
    let head = world.reserve_one().await;
    world.kill(&head).await;
    for id in &ids[1..] {
        let held = Why::Blocked { key: partition_key("k"), behind: Some(head.id()) };
        assert_eq!(why(world, *id).await, held);
    }
}

/// R6.9: for a blocked job, `why` names the running job of its key, or without one the job before
/// it.
/// Guard: the running job of a key is looked up first.
pub async fn r6_9_why_names_who_runs(world: &dyn World) {
    let ids = world.enqueue_all((0..3).map(|_| keyed("k"))).await;
    let head = world.reserve_one().await;
    for id in &ids[1..] {
        let blocked = Why::Blocked { key: partition_key("k"), behind: Some(head.id()) };
        assert_eq!(why(world, *id).await, blocked);
    }
}

/// R6.9: the same holds if the running job has overtaken a job that waits for its time.
/// Guard: a running job is named before a waiting one.
pub async fn r6_9_why_names_who_runs_before_who_waits(world: &dyn World) {
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    world.configure(&default_queue(), skip).await;
    world.enqueue(keyed("k").delay(HOUR)).await;
    let runs = world.lease(keyed("k")).await;
    let last = world.enqueue(keyed("k")).await;
    let blocked = Why::Blocked { key: partition_key("k"), behind: Some(runs.id()) };
    assert_eq!(why(world, last).await, blocked);
}

/// R6.9: for a ready job, `why` counts the jobs that are served before it.
/// Guard: the count ends at the job's place in the order.
pub async fn r6_9_why_counts_who_is_served_before(world: &dyn World) {
    beat(world, "work").await;
    for (before, id) in (0..).zip(world.enqueue_n(3).await) {
        assert_eq!(why(world, id).await, Why::Ready { jobs_before: Some(before) });
    }
}

async fn beat(world: &dyn World, serves: &str) {
    let mut beat = beat_of(&format!("w-{serves}"));
    beat.kinds = Served::first([kind(serves)]);
    world.beat(&beat).await;
}

/// R6.9: `why` describes jobs that run or have ended too.
/// Guard: the reason is derived at the call, not stored.
pub async fn r6_9_why_a_job_does_not_wait(world: &dyn World) {
    let lease = world.lease(draft()).await;
    match why(world, lease.id()).await {
        Why::Running { worker: holder, lease_expires_in } => {
            assert_eq!(holder, worker("w"));
            world.assert_left(Some(lease_expires_in), TTL);
        }
        other => panic!("{other:?}"),
    }
    world.advance(TTL + Duration::from_secs(5)).await;
    match why(world, lease.id()).await {
        Why::Expired { worker: holder, ago } => {
            assert_eq!(holder, worker("w"));
            assert!(ago >= Duration::from_secs(5), "{ago:?}");
        }
        other => panic!("{other:?}"),
    }
    world.complete(&lease).await;
    let completed = why(world, lease.id()).await;
    assert!(matches!(completed, Why::Ended { state: State::Completed, .. }), "{completed:?}");
    let dead_lettered = world.enqueue(draft()).await;
    world.dead_letter_waiting(dead_lettered).await;
    let dead = Why::Ended { state: State::Dead, reason: Some("dead_lettered".to_owned()) };
    assert_eq!(why(world, dead_lettered).await, dead);
}
