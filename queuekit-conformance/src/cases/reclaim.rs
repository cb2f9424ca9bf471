//! R5.6 to R5.8: what reserve does with expired leases, doomed jobs and unreadable records.

use queuekit_core::limits::{DEAD_LETTERS_PER_RESERVE, reclaims_per_reserve};
use queuekit_core::{JobFilter, JobId, Lease, PageSize, Priority, Reserve, State, Status};

use crate::World;
use crate::kit::{HOUR, MINUTE, TTL, default_queue, draft, queue, request, ttl, worker};

/// R5.6: the next reserve reclaims an expired lease and leases the job again, in one call.
/// Guard: reserve reclaims first.
pub async fn r5_6_the_next_reserve_reclaims_and_grants(world: &dyn World) {
    let lost = world.lease(draft()).await;
    world.expire().await;
    let again = world.reserve_one().await;
    assert_eq!((again.id(), again.attempt), (lost.id(), 2));
    assert_ne!(again.token, lost.token);
    world.complete(&again).await;
}

/// R5.6: any worker can reclaim: the same one, another with its name, or a new one.
/// Guard: reclaim tests the expiry, never the worker.
pub async fn r5_6_any_worker_reclaims(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(10)).await;
    for name in ["w", "w", "other", "w-2"] {
        let leases = world.reserve_as(worker(name), 1, TTL).await;
        assert_eq!(leases.iter().map(Lease::id).collect::<Vec<_>>(), [id], "{name}");
        world.expire().await;
    }
}

/// R5.6: one call reclaims a bounded number of leases, the earliest expiry first.
/// Guard: the limit and the order of the reclaim.
pub async fn r5_6_reclaim_is_bounded_and_in_order_of_expiry(world: &dyn World) {
    // Leased in one order, expiring in the other.
    world.enqueue_n(250).await;
    let late = world.reserve_as(worker("w"), 250 - reclaims_per_reserve(1), HOUR).await;
    let soon = world.reserve_as(worker("w"), 250, MINUTE).await;
    assert_eq!(late.len() + soon.len(), 250);
    world.advance(2 * HOUR).await;
    assert_eq!(world.count(Status::Expired).await, 250);
    let again = world.reserve_one().await;
    assert!(
        soon.iter().any(|lease| lease.id() == again.id()),
        "the lease that expired first should be reclaimed first"
    );
    for lease in &late {
        let status = world.status(lease.id()).await;
        assert_eq!(status, Status::Expired, "more than max(2 x limit, 100) reclaimed");
    }
    assert_eq!(world.serve_all(&default_queue()).await.len(), 249);
}

/// R5.6: an expired lease is found behind any number of live ones.
/// Guard: the search is ordered by expiry, not by place.
pub async fn r5_6_live_leases_hide_no_expired_one(world: &dyn World) {
    world.enqueue_n(300).await;
    assert_eq!(world.reserve_as(worker("w"), 299, HOUR).await.len(), 299);
    let short = world.reserve_as(worker("w"), 1, TTL).await.remove(0);
    world.expire().await;
    assert_eq!(world.reserve_ids(1).await, [short.id()]);
}

/// R5.6: every eligible job is served while calls succeed, whatever happened to earlier runs.
/// Guard: only the end of a job removes it from the serving order.
pub async fn r5_6_every_eligible_job_is_served_at_last(world: &dyn World) {
    let mut ids = world.enqueue_all((0..40).map(|_| draft().max_attempts(100))).await;
    for round in 0..12 {
        for (at, lease) in world.reserve(7).await.iter().enumerate() {
            match (round + at) % 3 {
                0 => world.fail(lease, MINUTE).await,
                1 => world.release(lease, MINUTE).await,
                _ => {}
            }
        }
        world.advance(MINUTE / 4).await;
    }
    world.advance(HOUR).await;
    let mut served = world.serve_all(&default_queue()).await;
    ids.sort();
    served.sort();
    assert_eq!(served, ids);
}

/// R5.7: if a lease expired on the final attempt, its job is dead-lettered with this reason.
/// Guard: reclaim checks the attempts.
pub async fn r5_7_expiry_on_the_final_attempt_dead_letters(world: &dyn World) {
    let lease = world.lease(draft().max_attempts(1)).await;
    world.expire().await;
    assert_eq!(world.status(lease.id()).await, Status::Expired);
    let reserved = world.reserve_with(&request(default_queue(), 5)).await;
    assert_eq!(reserved.leases, []);
    let job = world.job(lease.id()).await;
    assert_eq!((job.state, job.attempts), (State::Dead, 1));
    let reason = job.reason.expect("a reason").to_string();
    assert!(reason.contains("lease expired"), "{reason}");
    assert!(job.finished_at.is_some());
}

/// R5.7: a job past its deadline is dead-lettered instead of leased, and the call continues.
/// Guard: the deadline in the condition of reserve.
pub async fn r5_7_a_missed_deadline_dead_letters_and_the_call_goes_on(world: &dyn World) {
    let urgent = draft().priority(Priority::CRITICAL).deadline(HOUR);
    let doomed = world.enqueue_all((0..50).map(|_| urgent.clone())).await;
    let good = world.enqueue(draft().priority(Priority::LOW)).await;
    world.advance(HOUR).await;
    assert_eq!(world.reserve_ids(1).await, [good]);
    for id in doomed {
        let job = world.job(id).await;
        assert_eq!((job.state, job.attempts), (State::Dead, 0));
        assert!(job.reason.expect("a reason").as_str().contains("deadline"));
    }
}

/// R5.7: a job can be leased before its deadline, and a run that has begun is not affected by it.
/// Guard: the deadline is tested only at the start of a run.
pub async fn r5_7_a_deadline_is_for_the_start(world: &dyn World) {
    let id = world.enqueue(draft().deadline(HOUR)).await;
    world.advance(50 * MINUTE).await;
    let lease = world.reserve_as(worker("w"), 1, HOUR).await.remove(0);
    world.advance(30 * MINUTE).await;
    world.assert_nothing_to_lease().await;
    world.complete(&lease).await;
    assert_eq!(world.state(id).await, State::Completed);
}

/// R5.7: a failed run whose retry comes after the deadline is dead-lettered then, not run.
/// Guard: the deadline is tested at every start.
pub async fn r5_7_a_retry_after_the_deadline_is_dead_lettered(world: &dyn World) {
    let lease = world.lease(draft().deadline(HOUR)).await;
    world.fail(&lease, 2 * HOUR).await;
    world.advance(2 * HOUR).await;
    world.assert_nothing_to_lease().await;
    assert_eq!(world.state(lease.id()).await, State::Dead);
}

/// R5.7: at most 100 jobs are dead-lettered in one call, even if more leases may be reclaimed.
/// Guard: dead-letterings have their own limit.
pub async fn r5_7_leases_that_may_be_taken_back_are_dead_lettered_within_the_bound(
    world: &dyn World,
) {
    world.enqueue_all((0..250).map(|_| draft().max_attempts(1))).await;
    assert_eq!(world.reserve(250).await.len(), 250);
    world.expire().await;
    let reserved = world.reserve_with(&request(default_queue(), 200)).await;
    assert!(reserved.leases.is_empty() && reserved.more, "{reserved:?}");
    assert_eq!(world.count(Status::Dead).await, DEAD_LETTERS_PER_RESERVE);
}

/// R5.7: at most 100 jobs are dead-lettered in one call, a call that only dead-lettered returns
/// `more`, and no job is left over.
/// Guard: the limit of dead-letterings, and `more`.
pub async fn r5_7_dead_letters_are_bounded_and_say_more(world: &dyn World) {
    for doom in ["deadline", "lease"] {
        let name = queue(doom);
        if doom == "deadline" {
            world.enqueue_all((0..250).map(|_| draft().queue(doom).deadline(MINUTE))).await;
        } else {
            world.enqueue_all((0..250).map(|_| draft().queue(doom).max_attempts(1))).await;
            assert_eq!(world.reserve_from(&name, 250).await.len(), 250);
        }
        world.advance(HOUR).await;
        let filter = JobFilter::default().queue(name.clone()).status(State::Dead);
        let filter = filter.limit(PageSize::MAX.get());
        let mut dead = 0;
        for call in 0.. {
            let reserved = world.reserve_with(&request(name.clone(), 5)).await;
            assert_eq!(reserved.leases, []);
            let now_dead = world.list(filter.clone()).await.len();
            assert!(now_dead - dead <= DEAD_LETTERS_PER_RESERVE, "{} in one call", now_dead - dead);
            dead = now_dead;
            if dead == 250 {
                break;
            }
            assert!(reserved.more, "{doom}: call {call} dead-lettered and said there is no more");
        }
    }
}

/// R5.7: the limit applies to the whole call, over all its queues.
/// Guard: one budget, also for queues from which nothing is leased.
pub async fn r5_7_the_bound_of_dead_letters_is_of_the_whole_call(world: &dyn World) {
    let names = ["first", "second", "third"].map(queue);
    for name in &names[1..] {
        let drafts = (0..80).map(|_| draft().queue(name.clone()).max_attempts(1));
        world.enqueue_all(drafts).await;
        assert_eq!(world.reserve_from(name, 80).await.len(), 80);
    }
    world.advance(HOUR).await;
    for limit in [1, 5] {
        world.enqueue(draft().queue(names[0].clone())).await;
        let before = world.count_everywhere(Status::Dead).await;
        let reserve = Reserve::new(names.to_vec(), limit, ttl(TTL), worker("w")).expect("a nonce");
        assert_eq!(world.reserve_with(&reserve).await.leases.len(), 1);
        let dead_lettered = world.count_everywhere(Status::Dead).await - before;
        assert!(
            dead_lettered <= DEAD_LETTERS_PER_RESERVE,
            "one call dead-lettered {dead_lettered} jobs"
        );
    }
}

/// R5.7: a call that only dead-lettered one job returns `more`; the next call, which did nothing,
/// does not.
/// Guard: `more` after any dead-lettering without a lease, not only at the limit.
pub async fn r5_7_a_call_that_only_dead_lettered_one_says_more(world: &dyn World) {
    let doomed = world.enqueue(draft().deadline(MINUTE)).await;
    world.advance(HOUR).await;
    let reserved = world.reserve_with(&request(default_queue(), 5)).await;
    assert_eq!(reserved.leases, []);
    assert!(reserved.more, "a call that only dead-lettered should say `more`");
    assert_eq!(world.state(doomed).await, State::Dead);
    let reserved = world.reserve_with(&request(default_queue(), 5)).await;
    assert!(
        reserved.leases.is_empty() && !reserved.more,
        "an empty queue should grant nothing and not say `more`: {reserved:?}"
    );
}

/// R5.8: an unreadable record blocks no other job: it is dead-lettered as `corrupt` and counted.
/// Guard: the reserve that finds an unreadable record dead-letters it.
pub async fn r5_8_an_unreadable_record_stops_nobody(world: &dyn World) {
    let ids = world.enqueue_n(5).await;
    assert!(
        world.corrupt(ids[0]).await && world.corrupt(ids[2]).await,
        "the harness states `can_corrupt`, but corrupt failed"
    );
    let served = world.serve_all(&default_queue()).await;
    assert_eq!(served, [ids[1], ids[3], ids[4]]);
    for id in [ids[0], ids[2]] {
        assert_corrupt(world, id).await;
    }
    assert_eq!(world.queue(&default_queue()).await.corrupt, 2);
}

/// R5.8: a record that became unreadable while its job ran is dead-lettered when the lease has
/// expired.
/// Guard: reclaim dead-letters records that it cannot read.
pub async fn r5_8_a_running_record_that_became_unreadable_is_dead_lettered(world: &dyn World) {
    let broken = world.lease(draft()).await;
    let good = world.lease(draft()).await;
    assert!(
        world.corrupt(broken.id()).await,
        "the harness states `can_corrupt`, but corrupt failed"
    );
    world.expire().await;
    assert_eq!(world.reserve_one().await.id(), good.id());
    assert_corrupt(world, broken.id()).await;
    assert_eq!(
        world.job(broken.id()).await.errors,
        [],
        "an unreadable job should be dead-lettered, not reclaimed"
    );
}

/// R5.8: reads show an unreadable record before and after it is dead-lettered, and no listing fails
/// because of it.
/// Guard: a listing dead-letters nothing and skips nothing.
pub async fn r5_8_reads_show_an_unreadable_record(world: &dyn World) {
    let ids = world.enqueue_n(3).await;
    assert!(world.corrupt(ids[1]).await, "the harness states `can_corrupt`, but corrupt failed");
    for _ in 0..2 {
        let mut listed = world.list_ids(JobFilter::default()).await;
        listed.sort();
        let mut wanted = ids.clone();
        wanted.sort();
        assert_eq!(listed, wanted);
        let broken = world.find(ids[1]).await.expect("an unreadable job should still be stored");
        assert!(broken.payload.is_empty(), "an unreadable job should show an empty payload");
        assert_eq!(world.reserve(5).await.len(), 2);
        world.expire().await;
    }
    assert!(
        world.delete(ids[1], true).await.expect("delete_job"),
        "an unreadable job should be deletable"
    );
}

async fn assert_corrupt(world: &dyn World, id: JobId) {
    let job = world.job(id).await;
    assert_eq!(job.state, State::Dead);
    assert!(job.reason.expect("a reason").as_str().contains("corrupt"));
}
