//! R8.1 and R8.2: reading one job, and listing many.

use std::time::Duration;

use queuekit_core::queue::Order;
use queuekit_core::{
    JobDraft, JobFilter, JobId, Nack, NackKind, Priority, QueuePatch, Reserve, State, Status,
};

use crate::World;
use crate::kit::{DAY, HOUR, MINUTE, default_queue, draft, keyed, kind, queue, ttl, worker};

fn all() -> JobFilter {
    JobFilter::default()
}

/// R8.1: an unknown id returns `None`, and a handle sees its own writes at once.
/// Guard: reads use the data that the handle has written.
pub async fn r8_1_a_handle_sees_its_own_writes(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    assert_eq!(world.state(id).await, State::Pending);
    assert_eq!(world.list_ids(all()).await, [id]);
    let lease = world.reserve_one().await;
    assert_eq!(world.state(id).await, State::Running);
    world.complete(&lease).await;
    assert_eq!(world.state(id).await, State::Completed);
    assert!(world.delete(id, false).await.expect("delete_job"));
    assert!(world.find(id).await.is_none());
    assert_eq!(world.list_ids(all()).await, []);
}

/// R8.1: the states of jobs, in the order in which they were asked for, whatever queue they are in.
/// Guard: a job of each state is found, and one that is not stored is not.
pub async fn r8_1_states_of_many_jobs_are_told_in_order(world: &dyn World) {
    let leases = {
        world.enqueue_n(4).await;
        world.reserve(4).await
    };
    world.complete(&leases[0]).await;
    world.kill(&leases[1]).await;
    world.call_off(&leases[2]).await;
    let waits = world.enqueue(keyed("k").queue(queue("other")).delay(DAY)).await;
    let gone = world.enqueue(draft()).await;
    assert!(world.delete(gone, false).await.expect("delete_job"));
    let of = |lease: usize| leases[lease].token.id;
    let asked = [waits, of(1), gone, of(2), of(3), of(0), waits];
    let states = world.backend().job_states(&asked).await.expect("job_states");
    let [pending, dead] = [Some(State::Pending), Some(State::Dead)];
    let [cancelled, running] = [Some(State::Cancelled), Some(State::Running)];
    let completed = Some(State::Completed);
    assert_eq!(states, [pending, dead, None, cancelled, running, completed, pending]);
    assert_eq!(world.backend().job_states(&[]).await.expect("job_states"), []);
}

/// R8.1: reads change nothing, whatever state jobs are in.
/// Guard: no read reclaims, dead-letters or prunes.
pub async fn r8_1_reads_change_nothing(world: &dyn World) {
    world.enqueue_n(3).await;
    let leases = world.reserve(2).await;
    world.complete(&leases[0]).await;
    let doomed = world.enqueue(draft().deadline(MINUTE)).await;
    world.advance(2 * DAY).await;
    let before = world.dump().await;
    for _ in 0..3 {
        world.job(doomed).await;
        world.all_jobs().await;
        world.queue(&default_queue()).await;
    }
    world.assert_unchanged(&before).await;
    assert_eq!(world.status(leases[1].id()).await, Status::Expired);
}

/// R8.2: jobs are listed queue by queue, by name; in a queue status by status; and in a status in
/// its own order.
/// Guard: the whole order of a listing.
pub async fn r8_2_jobs_are_listed_in_the_documented_order(world: &dyn World) {
    let mut wanted = Vec::new();
    for name in ["b", "a"] {
        let name = queue(name);
        let make = || draft().queue(&name);
        let mut ended = Vec::new();
        for state in [State::Dead, State::Cancelled, State::Completed] {
            let mut newest_first = Vec::new();
            for _ in 0..2 {
                world.enqueue(make()).await;
                let lease = world.reserve_one_from(&name).await;
                world.advance(MINUTE).await;
                match state {
                    State::Dead => world.kill(&lease).await,
                    State::Cancelled => world.call_off(&lease).await,
                    _ => world.complete(&lease).await,
                }
                newest_first.insert(0, lease.id());
            }
            ended.extend(newest_first);
        }
        let mut failed = Vec::new();
        for delay in [3 * HOUR, 2 * HOUR] {
            world.enqueue(make()).await;
            let lease = world.reserve_one_from(&name).await;
            world.fail(&lease, delay).await;
            failed.insert(0, lease.id());
        }
        let mut running = Vec::new();
        for (key, length) in [("y", 3 * HOUR), ("x", 2 * HOUR)] {
            world.enqueue(make().partition_key(key)).await;
            let request = Reserve::new(name.clone(), 1, ttl(length), worker("w"));
            let lease = world.reserve_with(&request.expect("a nonce")).await.leases.remove(0);
            running.insert(0, lease.id());
        }
        let blocked = [
            world.enqueue(make().partition_key("y")).await,
            world.enqueue(make().partition_key("x")).await,
        ];
        let scheduled = [
            world.enqueue(make().delay(2 * HOUR).priority(Priority::LOW)).await,
            world.enqueue(make().delay(3 * HOUR)).await,
            world.enqueue(make().delay(HOUR)).await,
        ];
        let ready =
            [world.enqueue(make()).await, world.enqueue(make().priority(Priority::HIGH)).await];
        let mut of_queue = running;
        of_queue.extend([ready[1], ready[0]]);
        of_queue.extend(failed);
        of_queue.extend([scheduled[2], scheduled[1], scheduled[0]]);
        of_queue.extend([blocked[1], blocked[0]]);
        of_queue.extend(ended);
        wanted.splice(0..0, of_queue);
    }
    for size in [1, 2, 7, 1000] {
        let listed = world.list(all().limit(size)).await;
        let shown: Vec<_> = listed.iter().map(|job| (job.id, job.status)).collect();
        assert_eq!(shown.iter().map(|(id, _)| *id).collect::<Vec<_>>(), wanted, "{shown:#?}");
    }
}

/// R8.2: blocked jobs, and all waiting jobs of a fair queue, are listed by key, then sequence.
/// Guard: blocked jobs have no place in the serving order.
pub async fn r8_2_blocked_jobs_are_listed_by_key(world: &dyn World) {
    let mut by_key = Vec::new();
    for key in ["b", "a", "c", "a", "b"] {
        by_key.push((key, world.enqueue(keyed(key).priority(Priority::HIGH)).await));
        by_key.push((key, world.enqueue(keyed(key).priority(Priority::LOW)).await));
    }
    by_key.sort_by_key(|(key, _)| *key);
    assert_eq!(world.reserve(10).await.len(), 3);
    let blocked = world.list_ids(all().status(Status::Blocked).limit(2)).await;
    let mut heads = Vec::new();
    let wanted: Vec<JobId> = by_key
        .into_iter()
        .filter(|(key, _)| {
            let behind = heads.contains(key);
            heads.push(*key);
            behind
        })
        .map(|(_, id)| id)
        .collect();
    assert_eq!(blocked, wanted);
}

/// R8.2: the waiting jobs of a fair queue are listed by key, then sequence.
/// Guard: a fair queue has no order by priority.
pub async fn r8_2_a_fair_queue_is_listed_by_key(world: &dyn World) {
    let fair = QueuePatch::default().order(Order::Fair).per_key(9);
    world.configure(&default_queue(), fair).await;
    let mut by_key = Vec::new();
    for key in ["b", "a", "b", "a"] {
        by_key.push((key, world.enqueue(keyed(key)).await));
    }
    by_key.sort_by_key(|(key, _)| *key);
    let wanted: Vec<JobId> = by_key.into_iter().map(|(_, id)| id).collect();
    assert_eq!(world.list_ids(all().status(Status::Ready).limit(1)).await, wanted);
    let later = ["d", "c"].map(|key| keyed(key).delay(HOUR));
    let [of_d, of_c] = later.map(|job| world.enqueue(job));
    let (of_d, of_c) = (of_d.await, of_c.await);
    let scheduled = all().status(Status::Scheduled).limit(1);
    assert_eq!(
        world.list_ids(scheduled).await,
        [of_c, of_d],
        "scheduled jobs should be listed in this order, too"
    );
}

/// R8.2: the waiting jobs of a strict queue are listed in serving order, including the later ones
/// of a key.
/// Guard: a page begins after the last job of the previous page, wherever that job is.
pub async fn r8_2_ready_jobs_of_keys_are_listed_once(world: &dyn World) {
    world.configure(&default_queue(), QueuePatch::default().per_key(9)).await;
    let drafts = [keyed("a"), keyed("a"), draft(), keyed("b"), keyed("b"), keyed("a")];
    let ids = world.enqueue_all(drafts).await;
    for size in [1, 2] {
        let ready = all().status(Status::Ready).limit(size);
        assert_eq!(world.list_ids(ready).await, ids, "pages of {size}");
    }
}

/// R8.2: a job that ran while its queue changed its order is listed when it waits again, and a
/// listing has every job that the counts include.
/// Guard: a listing finds waiting jobs independently of the order that the queue had before.
pub async fn r8_2_a_job_that_ran_while_the_order_changed_is_listed(world: &dyn World) {
    for (name, was, will_be) in
        [("to-fair", Order::Strict, Order::Fair), ("to-strict", Order::Fair, Order::Strict)]
    {
        let name = queue(name);
        world.configure(&name, QueuePatch::default().order(was)).await;
        let mut stored = Vec::new();
        for n in 0..4 {
            stored.push(world.enqueue(draft().queue(&name)).await);
            stored.push(world.enqueue(keyed(&format!("k{n}")).queue(&name)).await);
        }
        let request = Reserve::new(name.clone(), 8, ttl(MINUTE), worker("w")).expect("a nonce");
        let leases = world.reserve_with(&request).await.leases;
        assert_eq!(leases.len(), 8);
        world.configure(&name, QueuePatch::default().order(will_be)).await;
        let (plain, of_keys): (Vec<_>, Vec<_>) =
            leases.iter().partition(|lease| lease.partition_key.is_none());
        for leases in [plain, of_keys] {
            world.release(leases[0], Duration::ZERO).await;
            world.fail(leases[1], Duration::ZERO).await;
            world.fail(leases[2], HOUR).await;
        }
        world.advance(MINUTE).await;
        // The last two have run out: one job is leased, all others wait.
        world.reserve_one_from(&name).await;
        let counts = world.queue(&name).await.counts;
        stored.sort_unstable();
        for size in [1, 3, 1000] {
            let mut listed = world.list(all().queue(name.clone()).limit(size)).await;
            for (status, count) in counts.iter() {
                let shown = listed.iter().filter(|job| job.status == status).count() as u64;
                assert_eq!(shown, count.value, "{status} jobs of {name}, pages of {size}");
            }
            listed.sort_unstable_by_key(|job| job.id);
            assert_eq!(listed.iter().map(|job| job.id).collect::<Vec<_>>(), stored, "{name}");
        }
    }
}

/// R8.2: every part of a filter filters.
/// Guard: each condition of the listing.
pub async fn r8_2_every_part_of_a_filter_filters(world: &dyn World) {
    let early = world.enqueue(draft()).await;
    world.advance(HOUR).await;
    let described = JobDraft::new("other", "").queue("q").partition_key("p");
    let late = world.enqueue(described.delay(HOUR)).await;
    let lease = world.reserve_as(worker("w-7"), 1, HOUR).await.remove(0);
    let nack = Nack::new(lease.token, NackKind::Fatal, "disk is 100% full", Duration::ZERO);
    let _ = world.backend().nack(&[nack]).await.expect("nack");
    let (early_job, late_job) = (world.job(early).await, world.job(late).await);
    let created = late_job.created_at;
    let finished = early_job.finished_at.expect("an end");
    let filters = [
        (all(), vec![early, late]),
        (all().queue(queue("q")), vec![late]),
        (all().queue(queue("unknown")), vec![]),
        (all().status(State::Dead), vec![early]),
        (all().status(Status::Scheduled), vec![late]),
        (all().kind(kind("other")), vec![late]),
        (all().kind(kind("othe")), vec![]),
        (all().partition_key("p"), vec![late]),
        (all().worker("w-7"), vec![early]),
        (all().worker("w"), vec![]),
        (all().error_contains("100% full"), vec![early]),
        (all().error_contains("100_ full"), vec![]),
        (all().created(created..), vec![late]),
        (all().created(..created), vec![early]),
        (all().finished(finished..), vec![early]),
        (all().finished(..finished), vec![]),
        (all().queue(default_queue()).kind(kind("work")).status(State::Dead), vec![early]),
        (all().queue(default_queue()).kind(kind("other")), vec![]),
    ];
    for (filter, wanted) in filters {
        assert_eq!(world.list_ids(filter.clone()).await, wanted, "{filter:?}");
    }
}

/// R8.2: a failed job that waits is found by its last error, too.
/// Guard: the error filter covers failed jobs.
pub async fn r8_2_failed_jobs_are_found_by_their_last_error(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    for (error, delay) in [("first error", Duration::ZERO), ("second error", HOUR)] {
        let lease = world.reserve_one().await;
        let nack = Nack::new(lease.token, NackKind::Retry, error, delay);
        let _ = world.backend().nack(&[nack]).await.expect("nack");
    }
    world.enqueue(draft()).await;
    for (text, wanted) in [("second", vec![id]), ("first", vec![]), ("third", vec![])] {
        let filter = all().error_contains(text);
        assert_eq!(world.list_ids(filter).await, wanted, "{text}");
    }
}

/// R8.2: the filter by error finds only dead and failed jobs, even if others have failed before.
/// Guard: the error filter tests the status.
pub async fn r8_2_an_error_is_found_in_dead_and_failed_jobs_only(world: &dyn World) {
    let again = || async {
        let lease = world.lease(draft()).await;
        world.fail(&lease, Duration::ZERO).await;
        world.reserve_one().await
    };
    let (completed, called_off, dead) = (again().await, again().await, again().await);
    world.complete(&completed).await;
    world.call_off(&called_off).await;
    world.kill(&dead).await;
    let failed = world.lease(draft()).await;
    world.fail(&failed, HOUR).await;
    let running = again().await;
    let ready = world.lease(draft()).await;
    world.fail(&ready, Duration::ZERO).await;
    assert_eq!(world.status(ready.id()).await, Status::Ready);
    assert_eq!(world.state(running.id()).await, State::Running);
    let filter = all().error_contains("went wrong");
    assert_eq!(world.list_ids(filter).await, [failed.id(), dead.id()]);
}
