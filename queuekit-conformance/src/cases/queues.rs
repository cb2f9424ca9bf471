//! R6.7, R6.9 and R12: pausing, changing and removing queues, and why a job is not running.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use queuekit_core::capability::{AdminExt, ExtendOutcome};
use queuekit_core::queue::{Keep, KeyOnDead, KeyOnWait, Order, Retention};
use queuekit_core::{
    ErrorKind, JobFilter, JobId, Lease, PageSize, Priority, QueuePatch, QueueSettings, Reserve,
    Result, State, Status,
};

use crate::World;
use crate::kit::{
    DAY, HOUR, MINUTE, TTL, build, default_queue, draft, in_parallel, keyed, kind_of, queue, ttl,
    worker,
};
use crate::time_limit::answered;

/// R6.7: in a paused queue nothing is reclaimed or dead-lettered; everything else works.
/// Guard: reserve checks the pause before it changes anything.
pub async fn r6_7_a_paused_queue_does_all_but_reserve(world: &dyn World) {
    let ids = world.enqueue_n(4).await;
    let leases = world.reserve(3).await;
    let doomed = world.enqueue(draft().deadline(TTL)).await;
    world.admin().pause(&default_queue()).await.expect("pause");
    world.expire().await;
    let before = world.dump().await;
    world.assert_nothing_to_lease().await;
    world.assert_unchanged(&before).await;

    world.complete(&leases[0]).await;
    world.fail(&leases[1], HOUR).await;
    let extended = world.extend(&leases[2].token, HOUR).await;
    assert!(matches!(extended, ExtendOutcome::Extended { .. }));
    world.dead_letter_waiting(ids[3]).await;
    world.enqueue(draft()).await;
    assert_eq!(world.state(doomed).await, State::Pending);
    assert!(world.queue(&default_queue()).await.settings.paused);
}

/// R6.7: the same holds if other queues of the request are not paused.
/// Guard: the reclaim checks the pause of each queue.
pub async fn r6_7_a_paused_queue_is_left_alone_beside_others(world: &dyn World) {
    let names = [default_queue(), queue("other")];
    let mut ids = Vec::new();
    for name in &names {
        ids.push(world.enqueue(draft().queue(name)).await);
        world.reserve_one_from(name).await;
    }
    world.admin().pause(&names[0]).await.expect("pause");
    world.expire().await;
    let request = Reserve::new(names.to_vec(), 5, ttl(TTL), worker("w")).expect("a nonce");
    let leases = world.reserve_with(&request).await.leases;
    assert_eq!(leases.iter().map(Lease::id).collect::<Vec<_>>(), ids[1..]);
    assert_eq!(world.status(ids[0]).await, Status::Expired);
}

/// R6.7: a queue can be paused before its first job, and is listed from then on.
/// Guard: configure creates the queue.
pub async fn r6_7_settings_come_before_the_first_job(world: &dyn World) {
    let name = queue("new");
    assert!(world.find_queue(&name).await.is_none());
    world.admin().pause(&name).await.expect("pause");
    assert!(world.queue(&name).await.settings.paused);
    world.enqueue(draft().queue("new")).await;
    assert_eq!(world.reserve_from(&name, 5).await, []);
    world.admin().resume(&name).await.expect("resume");
    assert_eq!(world.reserve_from(&name, 5).await.len(), 1);
}

/// R6.7: a patch changes the settings it names, and no others; the outcome and the list show them.
/// Guard: settings are merged in the store, in one step.
pub async fn r6_7_a_patch_changes_only_what_it_names(world: &dyn World) {
    let name = default_queue();
    let patch = QueuePatch::default().max_pending(7).per_key(5);
    let first = world.configure(&name, patch).await;
    let second = world.configure(&name, QueuePatch::default().dedup_window(DAY / 2)).await;
    let mut expected = first;
    expected.dedup_window = DAY / 2;
    assert_eq!(second, expected);
    assert_eq!(world.queue(&name).await.settings, expected);
    assert_eq!(world.configure(&name, QueuePatch::default()).await, expected);
}

/// R6.7: an empty queue is removed, one with jobs only with force, and one with running jobs never.
/// Guard: the conditions of `remove_queue`, in one step with the removal.
pub async fn r6_7_a_queue_is_removed_when_nobody_needs_it(world: &dyn World) {
    let (admin, name) = (world.admin(), default_queue());
    assert!(!admin.remove_queue(&queue("unknown"), false).await.expect("remove_queue"));
    let lease = world.lease(draft()).await;
    let waiting = world.enqueue(draft().delay(HOUR).idempotency_key("k")).await;
    let before = world.dump().await;
    for force in [false, true] {
        assert_eq!(kind_of(admin.remove_queue(&name, force).await), ErrorKind::Conflict);
    }
    world.assert_unchanged(&before).await;
    world.complete(&lease).await;
    assert_eq!(kind_of(admin.remove_queue(&name, false).await), ErrorKind::Conflict);
    assert!(admin.remove_queue(&name, true).await.expect("remove_queue"));
    assert!(world.find_queue(&name).await.is_none());
    assert!(world.find(waiting).await.is_none() && world.find(lease.id()).await.is_none());
    assert!(world.all_jobs().await.is_empty());

    let again = world.enqueue(draft().idempotency_key("k")).await;
    assert_eq!(
        world.reserve_ids(5).await,
        [again],
        "only the new job should be leased, none of the removed queue"
    );
}

/// R6.7: a removal also removes more jobs than a store removes in one step.
/// Guard: the queue is removed after its last job, never before.
pub async fn r6_7_a_long_queue_goes_with_every_job(world: &dyn World) {
    let mut ids = world.enqueue_n(1000).await;
    ids.extend(world.enqueue_all((0..200).map(|_| draft().partition_key("k"))).await);
    assert!(world.admin().remove_queue(&default_queue(), true).await.expect("remove_queue"));
    for id in [ids[0], ids[600], ids[999], ids[1000], ids[1199]] {
        assert!(world.find(id).await.is_none());
    }
    let again = world.enqueue(draft().partition_key("k")).await;
    assert_eq!(
        world.reserve_ids(5).await,
        [again],
        "only the new job should be leased, none of the removed queue"
    );
}

/// R6.7: if a job is stored while its queue is removed, either the queue is listed or the job is
/// removed too.
/// Guard: creating a queue again adds it to the list of all queues.
pub async fn r6_7_a_queue_that_is_made_while_it_is_removed_is_listed(world: &dyn World) {
    let handles = world.handles().await;
    let (one, other) = (&handles[0], &handles[handles.len() - 1]);
    for n in 0..60 {
        let name = queue(&format!("q{n}"));
        let job = build(draft().queue(name.clone()));
        let (enqueues, removes, id) = (Arc::clone(one), Arc::clone(other), job.id());
        let enqueue = async move { enqueues.enqueue(&[job]).await.map(drop) };
        let removed = name.clone();
        let remove = async move {
            let admin = removes.capabilities().admin.expect("the store has Admin");
            admin.remove_queue(&removed, true).await.map(drop)
        };
        let calls: [BoxFuture<'static, Result<()>>; 2] = [enqueue.boxed(), remove.boxed()];
        for answer in in_parallel(calls).await {
            answer.expect("both are answered");
        }
        let is_listed = world.find_queue(&name).await.is_some();
        let filter = JobFilter::default().queue(name.clone());
        let is_there = world.list_ids(filter).await == [id];
        assert_eq!(is_listed, is_there, "{name}: {is_there}");
        // A store may have fewer queues than there are rounds.
        world.admin().remove_queue(&name, true).await.expect("remove_queue");
    }
}

/// R6.7: an empty queue is removed without force, with its settings.
/// Guard: a queue that is created again has the defaults.
pub async fn r6_7_an_empty_queue_goes_with_its_settings(world: &dyn World) {
    let (admin, name) = (world.admin(), default_queue());
    let keep = Keep::ALL.max_age(HOUR).max_jobs(7).max_bytes(7);
    let settings = QueuePatch::default().paused(true).max_pending(1).dedup_window(HOUR);
    let settings = settings.per_key(7).order(Order::Fair);
    let settings = settings.key_on_wait(KeyOnWait::Skip).key_on_dead(KeyOnDead::Hold);
    let settings = settings.retention(Retention::ALL.done(keep).dead(keep));
    world.configure(&name, settings).await;
    let id = world.enqueue(draft().idempotency_key("k")).await;
    world.delete(id, false).await.expect("delete_job");
    assert!(admin.remove_queue(&name, false).await.expect("remove_queue"));
    assert!(!admin.remove_queue(&name, false).await.expect("remove_queue"));
    let id = world.enqueue(draft().idempotency_key("k")).await;
    assert_eq!(world.queue(&name).await.settings, QueueSettings::default());
    assert_eq!(world.reserve_ids(5).await, [id]);
}

/// R12: a change of the settings of partition keys reaches every key of a queue, however many there
/// are.
/// Guard: the change continues after the first slice of keys.
pub async fn r12_a_change_of_settings_reaches_every_key(world: &dyn World) {
    let keys = 1100;
    let job = |at| draft().partition_key(format!("k{}", at % keys));
    let name = default_queue();
    world.enqueue_all((0..2 * keys).map(job)).await;
    assert_eq!(world.reserve_many(&name, 2 * keys).await.len(), keys, "expected one lease per key");
    world.configure(&name, QueuePatch::default().per_key(2)).await;
    assert_eq!(
        world.reserve_many(&name, 2 * keys).await.len(),
        keys,
        "expected one more lease per key"
    );
}

/// R12, R7.3: a change of `key_on_wait` to `skip` reaches every job that waits, however many there
/// are.
/// Guard: the change looks at each waiting job, and continues after the first slice of them.
pub async fn r12_a_change_to_skip_reaches_every_job(world: &dyn World) {
    let keys = 1100;
    // Of a queue that stays strict, and of one that becomes fair at the same time.
    for order in [Order::Strict, Order::Fair] {
        let name = queue(&format!("{order:?}"));
        let job = |at| draft().queue(&name).partition_key(format!("k{at}"));
        world.enqueue_all((0..keys).map(|at| job(at).delay(HOUR))).await;
        world.enqueue_all((0..keys).map(job)).await;
        assert_eq!(world.reserve_from(&name, 1).await, []);
        let skip = QueuePatch::default().order(order).key_on_wait(KeyOnWait::Skip);
        world.configure(&name, skip).await;
        let leases = world.reserve_many(&name, 2 * keys).await.len();
        assert_eq!(leases, keys, "{order:?}: expected that each head is passed by one job");
    }
}

/// R12: a queue whose order is changed back and forth serves and lists every job once.
/// Guard: a change of `order` moves each waiting job into the new order.
pub async fn r12_a_change_of_order_loses_and_doubles_no_job(world: &dyn World) {
    let name = default_queue();
    let filter = || JobFilter::default().status(State::Pending).limit(PageSize::MAX.get());
    let (mut stored, mut served) = (Vec::new(), Vec::new());
    let orders = [Order::Strict, Order::Fair, Order::Strict, Order::Fair, Order::Strict];
    for order in orders {
        world.configure(&name, QueuePatch::default().order(order)).await;
        for delay in [Duration::ZERO, HOUR] {
            let plain = (0..3).map(|_| draft().delay(delay));
            let keyed = (0..6).map(|at| keyed(["a", "b", "c"][at % 3]).delay(delay));
            stored.extend(world.enqueue_all(plain.chain(keyed)).await);
        }
        for lease in world.reserve(4).await {
            world.complete(&lease).await;
            served.push(lease.id());
        }
        let mut waiting = world.list_ids(filter()).await;
        waiting.extend(&served);
        assert_same_jobs(waiting, &stored);
    }
    for order in [Order::Fair, Order::Strict, Order::Fair] {
        world.configure(&name, QueuePatch::default().order(order)).await;
    }
    world.advance(2 * HOUR).await;
    served.extend(world.serve_all(&name).await);
    assert_same_jobs(served, &stored);
}

/// R12, R7.4: the jobs without a key that wait in a strict queue get their turn once it is fair.
/// Guard: a change of `order` gives jobs without a key the turn that they share.
pub async fn r12_a_change_of_order_reaches_jobs_without_a_key(world: &dyn World) {
    let ids = world.enqueue_n(3).await;
    world.configure(&default_queue(), QueuePatch::default().order(Order::Fair)).await;
    assert_eq!(world.serve_all(&default_queue()).await, ids);
}

/// R12, R7.1: the jobs of keys that took turns in a fair queue are served by priority once it is
/// strict.
/// Guard: a change of `order` places the waiting keys anew.
pub async fn r12_a_change_of_order_reaches_the_keys_that_wait(world: &dyn World) {
    let name = default_queue();
    world.configure(&name, QueuePatch::default().order(Order::Fair)).await;
    let levels = [Priority::NORMAL, Priority::HIGH].repeat(3);
    let job = |(key, level)| keyed(&format!("k{key}")).priority(level);
    world.enqueue_all(levels.into_iter().enumerate().map(job)).await;
    assert_eq!(world.reserve(1).await.len(), 1, "the other keys should have their turns now");
    world.configure(&name, QueuePatch::default().order(Order::Strict)).await;
    let served: Vec<Priority> = world.reserve(9).await.iter().map(|it| it.priority).collect();
    assert_eq!(served.len(), 5);
    assert!(served.is_sorted_by(|first, next| first >= next), "{served:?}");
}

/// Asserts that these are the same jobs, each once, in any order.
fn assert_same_jobs(mut jobs: Vec<JobId>, expected: &[JobId]) {
    let mut expected = expected.to_vec();
    jobs.sort();
    expected.sort();
    assert_eq!(jobs, expected);
}

/// R12: settings are in force within 1 s of their change, on every other handle of the store.
/// Guard: a handle refreshes its cached settings.
pub async fn r12_settings_are_in_force_on_other_handles(world: &dyn World) {
    let other = world.second_handle().await.expect("the harness said it can");
    let admin = other.capabilities().admin.expect("Admin");
    let name = default_queue();
    let set = async |patch: QueuePatch| admin.configure(&name, &patch).await.expect("configure");
    // This handle has seen the queue as it was.
    world.enqueue_n(200).await;
    let ended = world.reserve_one().await;
    world.complete(&ended).await;
    set(QueuePatch::default().paused(true)).await;
    in_force("paused", async {
        while !world.reserve(1).await.is_empty() {
            look_again().await;
        }
    })
    .await;
    assert!(world.count(Status::Ready).await > 0, "some jobs should still be ready");
    set(QueuePatch::default().paused(false)).await;
    in_force("resumed", async {
        while world.reserve(1).await.is_empty() {
            look_again().await;
        }
    })
    .await;
    set(QueuePatch::default().max_pending(0)).await;
    in_force("max_pending", async {
        while world.try_enqueue(draft()).await.is_created() {
            look_again().await;
        }
    })
    .await;
    let age = Keep::ALL.max_age(10 * MINUTE);
    set(QueuePatch::default().retention(Retention::ALL.done(age).dead(age))).await;
    world.advance(10 * MINUTE).await;
    in_force("retention", async {
        while world.prune().await == 0 {
            look_again().await;
        }
    })
    .await;
    other.close().await.expect("close");
}

/// Waits for as long as a change of settings may take, by the machine's clock, because handles may
/// cache settings by that clock.
async fn in_force(what: &str, seen: impl Future<Output = ()>) {
    answered(&format!("the setting is in force: {what}"), Duration::from_secs(1), seen).await;
}

async fn look_again() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
