//! R7.3: jobs that share a partition key.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::queue::{KeyOnDead, KeyOnWait, Order};
use queuekit_core::{
    Ack, Backend, JobId, NackKind, PartitionKey, Priority, QueuePatch, State, Status,
};

use crate::World;
use crate::kit::{HOUR, MINUTE, build, default_queue, draft, in_parallel, keyed, queue, request};

/// R7.3: jobs of a key run one at a time, in the order of their enqueue, whatever their priority.
/// Guard: the order inside a key is the sequence alone.
pub async fn r7_3_a_key_is_fifo_whatever_the_priority(world: &dyn World) {
    let priorities = [Priority::LOW, Priority::CRITICAL, Priority::NORMAL, Priority::HIGH];
    let drafts = priorities.map(|priority| keyed("k").priority(priority));
    let ids = world.enqueue_all(drafts).await;
    for id in ids {
        let leases = world.reserve(10).await;
        assert_eq!(leases.iter().map(|lease| lease.id()).collect::<Vec<_>>(), [id]);
        world.assert_nothing_to_lease().await;
        world.complete(&leases[0]).await;
    }
}

/// R7.3: a key does not block other keys, jobs without a key, or the same key in another queue.
/// Guard: exclusion is by (queue, key).
pub async fn r7_3_other_keys_and_queues_run_on(world: &dyn World) {
    let drafts = [keyed("a"), keyed("a"), keyed("b"), draft(), draft()];
    let ids = world.enqueue_all(drafts).await;
    let elsewhere = world.enqueue_all((0..3).map(|_| keyed("a").queue("other"))).await;
    assert_eq!(world.reserve_ids(10).await, [ids[0], ids[2], ids[3], ids[4]]);
    assert_eq!(world.serve_all(&queue("other")).await, elsewhere);
}

/// R7.3: a head that waits blocks the later ones; a delay does not reorder a key.
/// Guard: `block` is the default.
pub async fn r7_3_a_waiting_head_blocks(world: &dyn World) {
    let head = world.enqueue(keyed("k").delay(HOUR)).await;
    let next = world.enqueue(keyed("k").priority(Priority::CRITICAL)).await;
    world.assert_nothing_to_lease().await;
    world.advance(HOUR).await;
    let lease = world.reserve_one().await;
    assert_eq!(lease.id(), head);
    world.fail(&lease, HOUR).await;
    world.assert_nothing_to_lease().await;
    world.advance(HOUR).await;
    let lease = world.reserve_one().await;
    assert_eq!(lease.id(), head);
    world.release(&lease, HOUR).await;
    world.assert_nothing_to_lease().await;
    world.advance(HOUR).await;
    assert_eq!(world.serve_all(&default_queue()).await, [head, next]);
}

/// R7.3: under `skip` later jobs may run before a waiting head, and the head runs when it is due.
/// Guard: the setting `key_on_wait`.
pub async fn r7_3_under_skip_a_waiting_head_is_passed(world: &dyn World) {
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    world.configure(&default_queue(), skip).await;
    let scheduled = world.enqueue(keyed("k").delay(HOUR)).await;
    let failing = world.lease(keyed("k")).await;
    let last = world.enqueue(keyed("k")).await;
    world.assert_nothing_to_lease().await;
    world.fail(&failing, 2 * HOUR).await;
    let lease = world.reserve_one().await;
    assert_eq!(lease.id(), last);
    world.advance(HOUR).await;
    assert_eq!(
        world.status(scheduled).await,
        Status::Blocked,
        "the job should be blocked while one of its key runs"
    );
    world.complete(&lease).await;
    assert_eq!(world.serve_all(&default_queue()).await, [scheduled]);
    world.advance(HOUR).await;
    assert_eq!(world.serve_all(&default_queue()).await, [failing.id()]);
    let head = world.enqueue(keyed("k").delay(HOUR)).await;
    let sooner = world.enqueue(keyed("k").delay(MINUTE)).await;
    world.advance(MINUTE).await;
    assert_eq!(world.serve_all(&default_queue()).await, [sooner]);
    world.advance(HOUR).await;
    assert_eq!(world.serve_all(&default_queue()).await, [head]);
}

/// R7.3: under `skip` a job can run once it is due, even if another job of its key became due
/// before it.
/// Guard: the search for due jobs of a key does not end at the first.
pub async fn r7_3_under_skip_each_job_counts_from_its_time(world: &dyn World) {
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    world.configure(&default_queue(), skip).await;
    let later = Duration::from_secs(10);
    let urgent = world.enqueue(keyed("k").priority(Priority::CRITICAL).delay(2 * later)).await;
    let low = world.enqueue(keyed("k").priority(Priority::LOW).delay(later)).await;
    let plain = world.enqueue(draft()).await;
    world.advance(MINUTE).await;
    assert_eq!(world.serve_all(&default_queue()).await, [urgent, plain, low]);
}

/// R7.3: under `skip` the jobs of a key that are due run by sequence, in whatever order they became
/// due.
/// Guard: a key is served only once all its jobs that became due are known.
pub async fn r7_3_under_skip_due_jobs_run_by_sequence(world: &dyn World) {
    for order in [Order::Fair, Order::Strict] {
        let name = queue(&format!("{order:?}"));
        let skip = QueuePatch::default().order(order).key_on_wait(KeyOnWait::Skip);
        world.configure(&name, skip).await;
        let delayed = |minutes| keyed("k").queue(&name).delay(minutes * MINUTE);
        let head = world.enqueue(delayed(60)).await;
        let ids = world.enqueue_all([4, 3, 2, 1].map(delayed)).await;
        world.advance(5 * MINUTE).await;
        assert_eq!(world.serve_all(&name).await, ids, "{order:?}");
        world.advance(HOUR).await;
        assert_eq!(world.serve_all(&name).await, [head], "{order:?}");
    }
}

/// R7.3: after a dead head the next job runs; under `hold` the dead head holds the key.
/// Guard: the setting `key_on_dead`.
pub async fn r7_3_a_dead_head_continues_or_holds(world: &dyn World) {
    let waits = [KeyOnWait::Block, KeyOnWait::Skip];
    let policies = [KeyOnDead::Continue, KeyOnDead::Hold];
    for (on_wait, policy) in waits.into_iter().flat_map(|wait| policies.map(|dead| (wait, dead))) {
        let name = queue(&format!("{on_wait:?}-{policy:?}"));
        let patch = QueuePatch::default().key_on_wait(on_wait).key_on_dead(policy);
        world.configure(&name, patch).await;
        let first = world.enqueue(keyed("k").queue(&name)).await;
        let second = world.enqueue(keyed("k").queue(&name)).await;
        let lease = world.reserve_one_from(&name).await;
        world.kill(&lease).await;
        match policy {
            KeyOnDead::Continue => assert_eq!(world.serve_all(&name).await, [second]),
            KeyOnDead::Hold => {
                assert_eq!(world.serve_all(&name).await, []);
                assert_eq!(world.status(second).await, Status::Blocked);
                world.bring_back(first).await;
                assert_eq!(world.serve_all(&name).await, [first, second]);
            }
        }
    }
}

/// R7.3: a key that a dead head holds is free once `key_on_dead` is `continue`.
/// Guard: a change of `key_on_dead` checks every key again.
pub async fn r7_3_a_hold_that_is_lifted_frees_the_key(world: &dyn World) {
    let name = default_queue();
    for order in [Order::Strict, Order::Fair] {
        let hold = QueuePatch::default().order(order).key_on_dead(KeyOnDead::Hold);
        world.configure(&name, hold).await;
        let ids = world.enqueue_all((0..3).map(|_| keyed("k"))).await;
        let head = world.reserve_one().await;
        world.kill(&head).await;
        world.assert_nothing_to_lease().await;
        world.configure(&name, QueuePatch::default().key_on_dead(KeyOnDead::Continue)).await;
        assert_eq!(world.status(ids[1]).await, Status::Ready, "{order:?}");
        assert_eq!(world.serve_all(&name).await, ids[1..], "{order:?}");
        assert_eq!(world.state(head.id()).await, State::Dead);
        assert!(world.delete(head.id(), false).await.expect("delete_job"));
    }
}

/// R7.3: with `per_key` above one, up to that number of a key's jobs run at once, in the same
/// order.
/// Guard: the count of live leases of a key.
pub async fn r7_3_per_key_run_at_once_in_order(world: &dyn World) {
    let patch = QueuePatch::default().per_key(3);
    world.configure(&default_queue(), patch).await;
    let ids = world.enqueue_all((0..7).map(|_| keyed("k"))).await;
    let first = world.reserve(2).await;
    assert_eq!([first[0].id(), first[1].id()], ids[..2]);
    let more = world.reserve(10).await;
    assert_eq!(more.iter().map(|lease| lease.id()).collect::<Vec<_>>(), ids[2..3]);
    world.complete(&first[1]).await;
    assert_eq!(world.reserve_ids(10).await, ids[3..4]);
    assert_eq!(world.status(ids[4]).await, Status::Blocked);
}

/// R7.3: a lower `per_key` takes effect as leases end, a higher one at once.
/// Guard: the count of live leases, not of slots that were granted.
pub async fn r7_3_a_changed_per_key_binds_as_leases_end(world: &dyn World) {
    let patch = |leases| QueuePatch::default().per_key(leases);
    world.configure(&default_queue(), patch(3)).await;
    let ids = world.enqueue_all((0..8).map(|_| keyed("k"))).await;
    let leases = world.reserve(10).await;
    assert_eq!(leases.len(), 3);
    world.configure(&default_queue(), patch(1)).await;
    for lease in &leases {
        world.assert_nothing_to_lease().await;
        world.complete(lease).await;
    }
    assert_eq!(world.reserve_ids(10).await, ids[3..4]);
    world.configure(&default_queue(), patch(4)).await;
    assert_eq!(world.reserve_ids(10).await, ids[4..7]);
}

/// R7.3: an expired lease holds its key until it is reclaimed; then the same job is the first of
/// the key.
/// Guard: a reclaimed job keeps its sequence in the key.
pub async fn r7_3_an_expired_head_runs_again_first(world: &dyn World) {
    let head = world.enqueue(keyed("k")).await;
    let next = world.enqueue(keyed("k")).await;
    for _ in 0..2 {
        assert_eq!(world.reserve_ids(10).await, [head]);
        world.expire().await;
    }
    assert_eq!(world.serve_all(&default_queue()).await, [head, next]);
}

/// R7.3: freeing a slot twice gives only one slot.
/// Guard: a stale lease frees nothing.
pub async fn r7_3_a_stale_end_frees_no_second_slot(world: &dyn World) {
    world.enqueue_all((0..4).map(|_| keyed("k").max_attempts(9))).await;
    let stale = world.reserve_one().await;
    world.expire().await;
    let live = world.reserve_one().await;
    let _ = world.ack(&stale.token).await;
    let _ = world.nack(&stale.token, NackKind::Fatal, Duration::ZERO).await;
    world.assert_nothing_to_lease().await;
    world.complete(&live).await;
    let _ = world.ack(&live.token).await;
    assert_eq!(world.reserve(10).await.len(), 1);
}

/// R7.3: a job that is enqueued while the last job of its key ends is served, however they race.
/// Guard: enqueue and the end of a run agree on which job is next.
pub async fn r7_3_an_enqueue_that_races_the_keys_end_is_served(world: &dyn World) {
    let handles = world.handles().await;
    for round in 0..30 {
        let key = format!("k{round}");
        let last = world.lease(keyed(&key)).await;
        let (one, two) = (Arc::clone(&handles[0]), Arc::clone(&handles[handles.len() - 1]));
        let job = build(keyed(&key));
        let id = job.id();
        let end = tokio::spawn(async move { one.ack(&[Ack::new(last.token)]).await });
        let enqueue = tokio::spawn(async move { two.enqueue(&[job]).await });
        assert!(enqueue.await.expect("the task").expect("enqueue")[0].is_created());
        let _ = end.await.expect("the task").expect("ack");
        assert_eq!(world.serve_all(&default_queue()).await, [id], "round {round}");
    }
}

/// R7.3: at most `per_key` jobs run at once, and in order, with any number of reservers.
/// Guard: exclusion is a constraint, not a check on a snapshot.
pub async fn r7_3_exclusion_holds_among_many_reservers(world: &dyn World) {
    let keys: Vec<String> = (0..4).map(|key| format!("k{key}")).collect();
    let drafts = (0..120).map(|job: usize| keyed(&keys[job % keys.len()]));
    let ids = world.enqueue_all(drafts).await;
    let running = Arc::new(std::sync::Mutex::new(HashMap::<PartitionKey, JobId>::new()));
    let handles = world.handles().await;
    let workers = (0..6).map(|at| {
        let (store, running) = (Arc::clone(&handles[at % handles.len()]), Arc::clone(&running));
        async move { run_keyed(&*store, &running).await }
    });
    let done: usize = in_parallel(workers).await.iter().sum();
    assert_eq!(done, ids.len());
    for id in ids {
        assert_eq!(world.state(id).await, State::Completed);
    }
    world.advance(MINUTE).await;
    world.assert_nothing_to_lease().await;
}

/// Reserves and acks until 50 calls in a row find nothing. Returns how many jobs it ran.
async fn run_keyed(
    store: &dyn Backend,
    running: &std::sync::Mutex<HashMap<PartitionKey, JobId>>,
) -> usize {
    let (mut done, mut idle) = (0, 0);
    while idle < 50 {
        let request = request(default_queue(), 3);
        let leases = store.reserve(&request).await.expect("reserve").leases;
        idle = if leases.is_empty() { idle + 1 } else { 0 };
        for lease in &leases {
            let key = lease.partition_key.clone().expect("a key");
            let other = running.lock().expect("the lock").insert(key, lease.id());
            assert_eq!(other, None, "two jobs of one key run at once");
        }
        tokio::task::yield_now().await;
        for lease in leases {
            let key = lease.partition_key.clone().expect("a key");
            running.lock().expect("the lock").remove(&key);
            let _ = store.ack(&[Ack::new(lease.token)]).await.expect("ack");
            done += 1;
        }
        tokio::task::yield_now().await;
    }
    done
}
