//! R7.1, R7.2 and R7.4: in which order jobs are served.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::queue::Order;
use queuekit_core::{JobDraft, JobId, Lease, Priority, QueuePatch};

use crate::World;
use crate::kit::{HOUR, MINUTE, default_queue, draft, in_parallel, keyed, request, unique};

/// R7.1: the order is priority, then time, then sequence.
/// Guard: the order of the index that reserve reads.
pub async fn r7_1_priority_then_time_then_sequence(world: &dyn World) {
    let mut wanted = Vec::new();
    for at in 0..60_u64 {
        // Every combination comes twice, in a mixed-up order.
        let (level, minutes) = ((at * 7 % 5) as u8 * 7, at * 11 % 6);
        let priority = Priority::new(level).expect("a priority");
        let due = Duration::from_secs(60 * minutes);
        let id = world.enqueue(draft().priority(priority).delay(due)).await;
        wanted.push((std::cmp::Reverse(level), world.job(id).await.scheduled_at, at, id));
    }
    world.advance(HOUR).await;
    wanted.sort();
    let wanted: Vec<JobId> = wanted.into_iter().map(|(.., id)| id).collect();
    let mut served = Vec::new();
    for limit in [1, 2, 3, 10, 44] {
        served.extend(world.reserve_ids(limit).await);
    }
    assert_eq!(served, wanted);
}

/// R7.1: within a batch, and across batches of one instant, the sequence decides.
/// Guard: items get their sequence in their order.
pub async fn r7_1_jobs_of_one_instant_are_first_come_first_served(world: &dyn World) {
    let mut wanted = Vec::new();
    for round in 0..5 {
        wanted.extend(world.enqueue_n(20).await);
        wanted.extend(world.enqueue_all((0..5).map(|n| unique(&format!("{round}-{n}")))).await);
        wanted.push(world.enqueue(draft()).await);
    }
    assert_eq!(world.serve_all(&default_queue()).await, wanted);
}

/// R7.1: a job that fails or is rescheduled is ordered by its new time and its old sequence.
/// Guard: nack changes the schedule, not the sequence.
pub async fn r7_1_a_failed_run_goes_by_its_new_time(world: &dyn World) {
    let ids = world.enqueue_n(3).await;
    let lease = world.reserve_one().await;
    world.advance(MINUTE).await;
    world.fail(&lease, Duration::ZERO).await;
    assert_eq!(world.reserve_ids(5).await, [ids[1], ids[2], ids[0]]);
    for priority in [Priority::LOW, Priority::HIGH] {
        world.enqueue(draft().priority(priority)).await;
    }
    let urgent = world.reserve_one().await;
    world.fail(&urgent, Duration::ZERO).await;
    let low = world.reserve(2).await.pop().expect("both");
    world.fail(&low, Duration::ZERO).await;
    let normal = world.enqueue(draft()).await;
    assert_eq!(
        world.reserve_ids(5).await,
        [normal, low.id()],
        "a failed job should be served by its priority"
    );
}

/// R7.1: a delayed job is ordered by the time at which it became due, not by its enqueue.
/// Guard: `scheduled_at` in the order.
pub async fn r7_1_a_delayed_job_goes_by_when_it_was_due(world: &dyn World) {
    let late = world.enqueue(draft().delay(30 * MINUTE)).await;
    let soon = world.enqueue(draft().delay(10 * MINUTE)).await;
    world.advance(20 * MINUTE).await;
    let middle = world.enqueue(draft()).await;
    world.advance(20 * MINUTE).await;
    assert_eq!(world.reserve_ids(5).await, [soon, middle, late]);
}

/// R7.1: with one reserver, the most urgent job is served next, whenever it is enqueued.
/// Guard: no search hint skips a job that appears before the remembered place.
pub async fn r7_1_the_most_urgent_is_next(world: &dyn World) {
    world.enqueue_n(20).await;
    for level in [11, 12, 13] {
        world.reserve(3).await;
        let priority = Priority::new(level).expect("a priority");
        let urgent = world.enqueue(draft().priority(priority)).await;
        assert_eq!(world.reserve_ids(1).await, [urgent]);
    }
}

/// R7.2: concurrent reservers share a prefix of the order, without gaps and duplicates.
/// Guard: a reserve skips only the jobs that others hold.
pub async fn r7_2_reservers_at_once_take_a_prefix(world: &dyn World) {
    let drafts = (0..300_u32).map(|at| {
        let priority = Priority::new((at * 13 % 32) as u8).expect("a priority");
        draft().priority(priority)
    });
    let ids = world.enqueue_all(drafts).await;
    let mut wanted = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        wanted.push((std::cmp::Reverse(at * 13 % 32), at, *id));
    }
    wanted.sort();
    let handles = world.handles().await;
    let reservers = (0..8).map(|at| {
        let store = Arc::clone(&handles[at % handles.len()]);
        async move {
            let mut taken: Vec<Vec<JobId>> = Vec::new();
            for limit in [1, 5, 10, 4] {
                let request = request(default_queue(), limit);
                let leases = store.reserve(&request).await.expect("reserve").leases;
                assert_eq!(
                    leases.len(),
                    limit,
                    "there are enough jobs, so every batch should be full"
                );
                taken.push(leases.iter().map(Lease::id).collect());
            }
            taken
        }
    });
    let calls: Vec<Vec<JobId>> = in_parallel(reservers).await.into_iter().flatten().collect();
    let place = |id: &JobId| wanted.iter().position(|(.., wanted)| wanted == id);
    for call in &calls {
        assert!(call.is_sorted_by_key(place), "a batch is out of order");
    }
    let taken: HashSet<JobId> = calls.iter().flatten().copied().collect();
    let prefix: HashSet<JobId> = wanted.iter().take(160).map(|(.., id)| *id).collect();
    assert_eq!(calls.iter().flatten().count(), 160);
    assert!(taken == prefix, "the calls together took no prefix of the order");
}

/// R7.4: in a fair queue each key with eligible jobs gets at least half its share.
/// Guard: keys take turns, however long the backlog of one key is.
pub async fn r7_4_no_key_starves_behind_a_long_backlog(world: &dyn World) {
    for limit in [1, 4, 10] {
        fair(world, 100).await;
        world.enqueue_all((0..500).map(|_| keyed("long"))).await;
        for key in ["a", "b", "c"] {
            world.enqueue_all((0..60).map(|_| keyed(key))).await;
        }
        let claims = claim(world, 40, limit).await;
        for key in ["long", "a", "b", "c"] {
            let got = claims.get(key).copied().unwrap_or_default();
            assert!(got >= 5, "{key} got {got} of 40 claims by {limit}: {claims:?}");
        }
        world.admin().remove_queue(&default_queue(), true).await.expect("remove_queue");
    }
}

/// R7.4: jobs without a key share one turn.
/// Guard: jobs without a key are treated as one key.
pub async fn r7_4_jobs_without_a_key_share_one_turn(world: &dyn World) {
    fair(world, 100).await;
    world.enqueue_all((0..500).map(|_| draft())).await;
    world.enqueue_all((0..60).map(|_| keyed("a"))).await;
    world.enqueue_all((0..60).map(|_| keyed("b"))).await;
    let claims = claim(world, 30, 1).await;
    for key in ["", "a", "b"] {
        let got = claims.get(key).copied().unwrap_or_default();
        assert!(got >= 5, "{key:?} got {got} of 30 claims: {claims:?}");
    }
}

/// R7.4: within a key, the order and the exclusion of R7.3 hold.
/// Guard: a turn serves the head of the key.
pub async fn r7_4_within_a_key_the_order_holds(world: &dyn World) {
    fair(world, 1).await;
    let mut wanted: BTreeMap<&str, Vec<JobId>> = BTreeMap::new();
    for at in 0..30 {
        let key = ["a", "b", "c"][at % 3];
        let priority = Priority::new((at % 7) as u8).expect("a priority");
        let id = world.enqueue(keyed(key).priority(priority)).await;
        wanted.entry(key).or_default().push(id);
    }
    let first = world.reserve(10).await;
    assert_eq!(first.len(), 3, "one job of each key should be leased");
    let mut served: BTreeMap<String, Vec<JobId>> = BTreeMap::new();
    for lease in &first {
        served.entry(key_of(lease)).or_default().push(lease.id());
        world.complete(lease).await;
    }
    for _ in 0..27 {
        let lease = world.reserve_one().await;
        served.entry(key_of(&lease)).or_default().push(lease.id());
        world.complete(&lease).await;
    }
    for (key, ids) in wanted {
        assert_eq!(served[key], ids, "key {key}");
    }
}

/// R7.4: a new key gets its turn at once; a key without jobs takes no turn.
/// Guard: only keys with eligible jobs take turns.
pub async fn r7_4_a_late_key_gets_its_turn(world: &dyn World) {
    fair(world, 100).await;
    world.enqueue_all((0..200).map(|_| keyed("early"))).await;
    claim(world, 50, 5).await;
    let late = world.enqueue(keyed("late")).await;
    let next: Vec<JobId> = (0..20).map(|_| late).collect();
    let mut served = Vec::new();
    for _ in &next {
        served.extend(world.reserve_ids(1).await);
    }
    assert!(served.contains(&late), "the late job should be among the next 20 of 2 keys");
    assert_eq!(world.reserve(50).await.len(), 50, "a key alone gets every turn");
}

/// R7.4: a key that was idle while another key took many turns does not catch up: they alternate.
/// Guard: an idle key returns at the present turn, not at its last one.
pub async fn r7_4_a_key_that_was_idle_is_owed_nothing(world: &dyn World) {
    fair(world, 1).await;
    for way in ["running", "scheduled", "gone", "plain"] {
        let idle = || if way == "plain" { draft() } else { keyed("idle") };
        let first = world.lease(idle()).await;
        if way != "running" {
            world.complete(&first).await;
        }
        match way {
            "running" => drop(world.enqueue_all((0..20).map(|_| idle())).await),
            "scheduled" => drop(world.enqueue_all((0..20).map(|_| idle().delay(MINUTE))).await),
            _ => {}
        }
        world.enqueue_all((0..120).map(|_| keyed("busy"))).await;
        assert_eq!(claim(world, 100, 1).await, BTreeMap::from([("busy".to_owned(), 100)]));
        match way {
            "running" => world.complete(&first).await,
            "scheduled" => world.advance(MINUTE).await,
            _ => drop(world.enqueue_all((0..20).map(|_| idle())).await),
        }
        // A key that comes back may get one extra turn, but no debt of missed turns; from then on
        // they alternate.
        let claims = claim(world, 20, 1).await;
        assert!(claims.len() == 2 && claims.values().all(|got| *got >= 9), "{way}: {claims:?}");
        world.serve_all(&default_queue()).await;
    }
}

/// R7.4: keys that appear repeatedly do not delay the turns of an older key.
/// Guard: a new key joins the next round, not the current one.
pub async fn r7_4_new_keys_take_no_turn_from_an_old_one(world: &dyn World) {
    fair(world, 1).await;
    world.enqueue_all((0..20).map(|_| keyed("old"))).await;
    let mut old = 0;
    for n in 0..20 {
        world.enqueue(keyed(&format!("new-{n:02}"))).await;
        let lease = world.reserve_one().await;
        old += usize::from(key_of(&lease) == "old");
        world.complete(&lease).await;
    }
    assert!(old >= 4, "the old key should have at least 4 of 20 turns, not {old}");
}

async fn fair(world: &dyn World, per_key: u32) {
    let patch = QueuePatch::default().order(Order::Fair).per_key(per_key);
    world.configure(&default_queue(), patch).await;
}

fn key_of(lease: &Lease) -> String {
    lease.partition_key.clone().map(String::from).unwrap_or_default()
}

/// Reserves this number of jobs, a few at a time, and acks them. Returns how many each key had.
async fn claim(world: &dyn World, jobs: usize, limit: usize) -> BTreeMap<String, usize> {
    let mut claims = BTreeMap::new();
    for _ in 0..jobs / limit {
        let leases = world.reserve(limit).await;
        assert_eq!(leases.len(), limit, "every key has jobs, so the batch should be full");
        for lease in leases {
            *claims.entry(key_of(&lease)).or_default() += 1;
            world.complete(&lease).await;
        }
    }
    claims
}

/// R7.1: a job's place depends on its priority and time, not on its content.
/// Guard: kinds, payloads and attempts are not part of the order.
pub async fn r7_1_nothing_else_has_a_place_in_the_order(world: &dyn World) {
    let drafts = [
        JobDraft::new("z", "z").max_attempts(9),
        JobDraft::new("a", "").timeout(MINUTE),
        JobDraft::new("m", "m".repeat(5000)).deadline(HOUR),
    ];
    let ids = world.enqueue_all(drafts).await;
    assert_eq!(world.reserve_ids(5).await, ids);
}
