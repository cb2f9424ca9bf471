//! R5.1 to R5.3 and R5.10: asking for work.

use queuekit_core::queue::{KeyOnWait, Order};
use queuekit_core::{
    AckOutcome, DeadLetter, JobId, Lease, Nonce, Priority, QueueName, QueuePatch, Queues, Reserve,
    State, WeightedQueues,
};

use crate::World;
use crate::kit::{
    DAY, HOUR, MINUTE, TTL, default_queue, draft, keyed, queue, request, ttl, worker,
};

/// R5.1: without work, with limit 0 and for an unknown queue, reserve returns at once without
/// leases.
/// Guard: reserve never waits, and lack of work is not an error.
pub async fn r5_1_no_work_is_an_empty_answer(world: &dyn World) {
    world.assert_nothing_to_lease().await;
    let id = world.enqueue(draft()).await;
    let nothing = world.reserve_with(&request(default_queue(), 0)).await;
    assert_eq!(nothing.leases, []);
    assert_eq!(world.reserve_from(&queue("unknown"), 5).await, []);
    assert_eq!(world.job(id).await.attempts, 0);
    assert_eq!(world.reserve_ids(5).await, [id]);
}

/// R5.1: `next_due_in` is never later than the next due job or the next expiry.
/// Guard: the minimum of due times and expiries.
pub async fn r5_1_the_hint_is_the_next_due_time(world: &dyn World) {
    world.enqueue(draft().delay(2 * HOUR)).await;
    world.enqueue(draft().delay(HOUR)).await;
    world.assert_left(world.reserve_with(&request(default_queue(), 5)).await.next_due_in, HOUR);
    let running = world.lease(draft()).await;
    let reserved = world.reserve_with(&request(default_queue(), 5)).await;
    world.assert_left(reserved.next_due_in, TTL);
    world.complete(&running).await;
    world.advance(30 * MINUTE).await;
    let reserved = world.reserve_with(&request(default_queue(), 5)).await;
    world.assert_left(reserved.next_due_in, 30 * MINUTE);
}

/// R5.1: `next_due_in` includes jobs with a partition key, in every order of the queue.
/// Guard: the due times of waiting keys.
pub async fn r5_1_the_hint_sees_partition_keys(world: &dyn World) {
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    for (name, patch) in [("fair", QueuePatch::default().order(Order::Fair)), ("skip", skip)] {
        let name = queue(name);
        world.configure(&name, patch).await;
        world.enqueue(draft().queue(&name).partition_key("k").delay(HOUR)).await;
        let hint = world.reserve_with(&request(name.clone(), 5)).await.next_due_in;
        assert!(hint.is_some_and(|hint| hint <= HOUR), "{name}: {hint:?}");
    }
}

/// R5.1: `more` says that a full batch was taken.
/// Guard: the comparison of leases with the limit.
pub async fn r5_1_a_full_batch_says_more(world: &dyn World) {
    world.enqueue_n(5).await;
    let full = world.reserve_with(&request(default_queue(), 3)).await;
    assert!(full.leases.len() == 3 && full.more);
    let rest = world.reserve_with(&request(default_queue(), 3)).await;
    assert!(rest.leases.len() == 2 && !rest.more);
    let nothing = world.reserve_with(&request(default_queue(), 3)).await;
    assert!(nothing.leases.is_empty() && !nothing.more);
}

/// R5.1: `more` says that the call left jobs of a partition key whose time had come to the next
/// call.
/// Guard: a key that was left counts as more.
pub async fn r5_1_a_call_that_left_due_jobs_of_a_key_says_more(world: &dyn World) {
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    world.configure(&default_queue(), skip).await;
    let due_together = (0..2500).map(|_| draft().partition_key("k").delay(MINUTE));
    let ids = world.enqueue_all(due_together).await;
    world.advance(MINUTE).await;
    let reserve = async || world.reserve_with(&request(default_queue(), 1)).await;
    let mut reserved = reserve().await;
    while reserved.leases.is_empty() && reserved.more {
        reserved = reserve().await;
    }
    let leased: Vec<_> = reserved.leases.iter().map(Lease::id).collect();
    assert_eq!(leased, ids[..1], "reserve says that there is nothing more to lease");
}

/// R5.2: one step sets state, attempts, lease, expiry and worker.
/// Guard: reserve grants a lease in one write.
pub async fn r5_2_one_step_sets_everything(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    world.advance(MINUTE).await;
    let lease = world.reserve_as(worker("w-1"), 1, HOUR).await.remove(0);
    assert_eq!((lease.token.id, &lease.token.queue), (id, &default_queue()));
    assert_eq!((lease.attempt, lease.releases), (1, 0));
    let job = world.job(id).await;
    assert_eq!((job.state, job.attempts), (State::Running, 1));
    assert_eq!(job.lease_seq, lease.token.lease_seq);
    assert_eq!(job.worker, Some(worker("w-1")));
    world.assert_left(job.lease_expires_in, HOUR);
    assert!(job.started_at.expect("a start") >= job.created_at + MINUTE);
    assert_eq!(job.finished_at, None);
}

/// R5.3: only a job that is due, whose key is free and whose deadline has not passed is leased.
/// Guard: each condition of eligibility.
pub async fn r5_3_only_the_eligible_is_leased(world: &dyn World) {
    let head = world.enqueue(keyed("k")).await;
    let behind = world.enqueue(keyed("k")).await;
    world.enqueue(draft().delay(HOUR)).await;
    let failed = world.enqueue(draft().priority(Priority::CRITICAL)).await;
    let lease = world.reserve_one().await;
    assert_eq!(lease.id(), failed);
    world.fail(&lease, HOUR).await;
    for end in 0..4 {
        let ended = world.enqueue(draft().priority(Priority::HIGH)).await;
        let lease = world.reserve_one().await;
        assert_eq!(lease.id(), ended);
        match end {
            0 => world.complete(&lease).await,
            1 => world.kill(&lease).await,
            2 => world.call_off(&lease).await,
            _ => drop(world.dead_letter(DeadLetter::of_lease(lease.token, "poison")).await),
        }
    }
    let late = world.enqueue(draft().deadline(MINUTE)).await;
    world.advance(2 * MINUTE).await;
    assert_eq!(world.reserve_ids(50).await, [head]);
    assert_eq!(world.state(behind).await, State::Pending);
    assert_eq!(world.state(late).await, State::Dead);
}

/// R5.3: a paused queue leases nothing, while another queue does.
/// Guard: the pause in the condition of reserve.
pub async fn r5_3_a_paused_queue_leases_nothing(world: &dyn World) {
    use queuekit_core::capability::AdminExt;
    world.enqueue_all([draft(), draft(), keyed("k")]).await;
    let other = world.enqueue(keyed("k").queue("other")).await;
    assert!(world.admin().pause(&default_queue()).await.expect("pause").paused);
    world.assert_nothing_to_lease().await;
    let both = vec![default_queue(), queue("other")];
    let both = Reserve::new(both, 5, ttl(TTL), worker("w")).expect("a nonce");
    let leased: Vec<JobId> = world.reserve_with(&both).await.leases.iter().map(Lease::id).collect();
    assert_eq!(leased, [other]);
    assert!(!world.admin().resume(&default_queue()).await.expect("resume").paused);
    assert_eq!(world.reserve(5).await.len(), 3);
}

/// R5.10: a lost reply costs one ttl and one attempt.
/// Guard: nothing waits for the reply of a reserve.
pub async fn r5_10_a_lost_reply_costs_one_ttl_and_one_attempt(world: &dyn World) {
    let id = world.enqueue(draft()).await;
    drop(world.reserve(1).await);
    world.expire().await;
    let again = world.reserve_one().await;
    assert_eq!((again.id(), again.attempt), (id, 2));
    world.complete(&again).await;
}

/// R5.10: a repeat under the same nonce returns the same leases or others, and all of them can be
/// settled.
/// Guard: a repeat grants no job twice.
pub async fn r5_10_a_repeat_under_one_nonce_is_safe(world: &dyn World) {
    world.enqueue_n(4).await;
    let mut request = request(default_queue(), 2);
    request.nonce = Nonce::from_bytes([9; 16]);
    let first = world.reserve_with(&request).await.leases;
    let second = world.reserve_with(&request).await.leases;
    let ids = |leases: &[Lease]| leases.iter().map(Lease::id).collect::<Vec<_>>();
    let repeated = ids(&first) == ids(&second);
    let disjoint = second.iter().all(|lease| !ids(&first).contains(&lease.id()));
    assert!(repeated || disjoint, "{first:?} {second:?}");
    for lease in &first {
        world.complete(lease).await;
    }
    for lease in &second {
        let expected = if repeated { AckOutcome::AlreadyDone } else { AckOutcome::Acked };
        assert_eq!(world.ack(&lease.token).await, expected);
    }
}

/// R7.5: of several queues, a later one is served when the earlier ones have nothing.
/// Guard: queues are read in the given order.
pub async fn r7_5_strict_queues_are_served_in_their_order(world: &dyn World) {
    let names = ["urgent", "normal", "bulk"];
    for name in ["bulk", "normal", "urgent"] {
        world.enqueue_all((0..3).map(|_| draft().queue(name))).await;
    }
    let queues: Queues = names.map(queue).to_vec().into();
    let mut served = Vec::new();
    for limit in [2, 2, 3, 2] {
        let request = Reserve::new(queues.clone(), limit, ttl(HOUR), worker("w")).expect("a nonce");
        let leases = world.reserve_with(&request).await.leases;
        assert_eq!(leases.len(), limit);
        served.extend(leases.into_iter().map(|lease| lease.token.queue));
    }
    let expected: Vec<_> = names.iter().flat_map(|name| vec![queue(name); 3]).collect();
    assert_eq!(served, expected);
}

/// R7.5: by weights, a queue with a backlog gets at least half its share of any 100 leases.
/// Guard: turns by weight, which are kept between calls.
pub async fn r7_5_weighted_queues_get_their_share(world: &dyn World) {
    let weights = [("a", 60_u8), ("b", 30), ("c", 10)];
    for (name, _) in weights {
        world.enqueue_all((0..400).map(|_| draft().queue(name))).await;
    }
    let named = weights.map(|(name, weight)| (queue(name), weight));
    let queues: Queues = WeightedQueues::new(named).expect("weights").into();
    for limit in [1, 7, 50] {
        let mut claims = Vec::new();
        while claims.len() < 100 {
            let wanted = limit.min(100 - claims.len());
            let request =
                Reserve::new(queues.clone(), wanted, ttl(DAY / 2), worker("w")).expect("a nonce");
            let leases = world.reserve_with(&request).await.leases;
            assert_eq!(
                leases.len(),
                wanted,
                "every queue has waiting jobs, so the batch should be full"
            );
            claims.extend(leases.into_iter().map(|lease| lease.token.queue));
        }
        for (name, weight) in weights {
            let got = claims.iter().filter(|claim| claim.as_str() == name).count();
            assert!(2 * got >= usize::from(weight), "{name} got {got} of 100 by {limit}");
        }
    }
}

/// R7.5: the unused share of a queue goes to the others, and an unknown queue takes no share.
/// Guard: turns of empty queues are given to other queues.
pub async fn r7_5_what_a_queue_leaves_goes_to_the_others(world: &dyn World) {
    world.enqueue_all((0..20).map(|_| draft().queue("b"))).await;
    let named = [(queue("a"), 100), (queue("unknown"), 50), (queue("b"), 1)];
    let queues: Queues = WeightedQueues::new(named).expect("weights").into();
    let request = Reserve::new(queues, 20, ttl(HOUR), worker("w")).expect("a nonce");
    assert_eq!(world.reserve_with(&request).await.leases.len(), 20);
}

/// R7.5: with calls for one lease or for ten, each queue gets at least half its share of 100
/// leases.
/// Guard: the turns are kept between calls, however few jobs a call requests.
pub async fn r7_5_shares_hold_across_calls_of_any_size(world: &dyn World) {
    let queues = three_to_one();
    for limit in [1, 10] {
        backlog(world, &["a", "b"], 100).await;
        assert_shares(&claim(world, &queues, 100, limit).await);
    }
}

/// R7.5: a queue that was empty for long gets its share again, but not what it missed.
/// Guard: an idle queue collects no credit.
pub async fn r7_5_an_idle_queue_is_owed_nothing(world: &dyn World) {
    for (idle, busy) in [("a", "b"), ("b", "a")] {
        let queues = three_to_one();
        backlog(world, &[busy], 600).await;
        let claims = claim(world, &queues, 600, 10).await;
        assert!(claims.iter().all(|claim| *claim == queue(busy)), "{idle} is idle");
        for limit in [1, 10] {
            backlog(world, &["a", "b"], 100).await;
            assert_shares(&claim(world, &queues, 100, limit).await);
        }
        for name in ["a", "b"] {
            while !world.reserve_from(&queue(name), 100).await.is_empty() {}
        }
    }
}

fn three_to_one() -> Queues {
    WeightedQueues::new([(queue("a"), 3), (queue("b"), 1)]).expect("weights").into()
}

async fn backlog(world: &dyn World, names: &[&str], jobs: usize) {
    for name in names {
        world.enqueue_all((0..jobs).map(|_| draft().queue(*name))).await;
    }
}

/// Reserves this number of leases, a few at a time. Returns their queues.
async fn claim(world: &dyn World, queues: &Queues, jobs: usize, limit: usize) -> Vec<QueueName> {
    let mut claims = Vec::new();
    while claims.len() < jobs {
        let request =
            Reserve::new(queues.clone(), limit, ttl(DAY / 2), worker("w")).expect("a nonce");
        let leases = world.reserve_with(&request).await.leases;
        assert_eq!(
            leases.len(),
            limit,
            "both queues have waiting jobs, so the batch should be full"
        );
        claims.extend(leases.into_iter().map(|lease| lease.token.queue));
    }
    claims
}

/// At least half of three quarters, and half of one quarter.
fn assert_shares(claims: &[QueueName]) {
    let of_a = claims.iter().filter(|claim| **claim == queue("a")).count();
    let of_b = claims.len() - of_a;
    assert!(8 * of_a >= 3 * claims.len() && 8 * of_b >= claims.len(), "a: {of_a}, b: {of_b}");
}
