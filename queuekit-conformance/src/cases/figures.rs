//! R8.3: the figures of queues.

use std::time::Duration;

use queuekit_core::queue::{KeyOnWait, Totals};
use queuekit_core::{
    Ack, AckOutcome, BackendExt, PageSize, Priority, Queue, QueuePage, QueuePatch, State, Status,
    Timestamp,
};

use crate::World;
use crate::kit::{DAY, HOUR, MINUTE, TTL, beat_of, default_queue, draft, keyed, queue};

async fn listed(world: &dyn World) -> Queue {
    world.queue(&default_queue()).await
}

/// R8.3: every queue that was ever used is listed, by name, also if it is empty.
/// Guard: a queue has its own record, and is not derived from its jobs.
pub async fn r8_3_every_queue_ever_used_is_listed(world: &dyn World) {
    for name in ["c", "a", "b"] {
        let id = world.enqueue(draft().queue(name)).await;
        if name != "b" {
            world.delete(id, false).await.expect("delete_job");
        }
    }
    world.reserve_from(&queue("never-used"), 1).await;
    let queues = world.backend().all_queues().await.expect("list_queues");
    let names: Vec<_> = queues.iter().map(|queue| queue.name.as_str()).collect();
    let used: Vec<_> = names.iter().filter(|name| **name != "never-used").copied().collect();
    assert_eq!(used, ["a", "b", "c"]);
    assert!(names.is_sorted(), "{names:?}");
    let ready = |queue: &Queue| queue.counts.get(Status::Ready).value;
    assert_eq!(queues.iter().map(ready).sum::<u64>(), 1);
}

/// R8.3: queues are found by their names, as they are listed, and no others.
/// Guard: queues that were not asked for or do not exist are left out.
pub async fn r8_3_queues_are_found_by_name(world: &dyn World) {
    for name in ["c", "a", "b"] {
        world.enqueue_all(vec![draft().queue(name), draft().queue(name).delay(HOUR)]).await;
    }
    world.reserve_from(&queue("b"), 1).await;
    let asked = ["c", "unknown", "b", "c"].map(queue);
    let found = world.backend().find_queues(&asked).await.expect("find_queues");
    let mut listed = world.backend().all_queues().await.expect("list_queues");
    listed.retain(|queue| ["b", "c"].contains(&queue.name.as_str()));
    // The clock may have gone on between the two reads.
    let timeless = |mut queue: Queue| {
        queue.as_of = Timestamp::default();
        queue.oldest_ready_age = queue.oldest_ready_age.map(|_| Duration::ZERO);
        queue
    };
    let timeless = |queues: Vec<Queue>| queues.into_iter().map(timeless).collect::<Vec<_>>();
    assert_eq!(timeless(found), timeless(listed));
    assert_eq!(world.backend().find_queues(&[]).await.expect("find_queues"), []);
    assert_eq!(world.backend().find_queues(&asked[1..2]).await.expect("find_queues"), []);
}

/// R8.3: queues are listed page by page, by name and each once, from any
/// name on.
/// Guard: a page begins behind the last name of the one before, and only the last has no `after`.
pub async fn r8_3_queues_are_listed_page_by_page(world: &dyn World) {
    let names: Vec<String> = (0..23).map(|number| format!("q{number:02}")).collect();
    for name in names.iter().rev() {
        world.enqueue(draft().queue(name.as_str())).await;
    }
    for limit in [1, 7, 22, 23, PageSize::MAX.get()] {
        let limit = PageSize::new(limit).expect("a size");
        let (mut after, mut listed) = (None, Vec::new());
        loop {
            let page = world.backend().list_queues(after.as_ref(), limit).await;
            let page = page.expect("list_queues");
            assert!(page.queues.len() <= limit.get(), "a page of {}", limit.get());
            let ready = |queue: &Queue| queue.counts.get(Status::Ready).value;
            assert!(page.queues.iter().all(|queue| ready(queue) == 1), "{page:?}");
            listed.extend(page.queues.into_iter().map(|queue| queue.name.to_string()));
            assert!(listed.len() <= names.len(), "a page should get on: {listed:?}");
            after = page.after;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, names, "pages of {}", limit.get());
    }
    // The name to begin after need not be a queue.
    for (after, first) in [("a", "q00"), ("q05", "q06"), ("q05x", "q06"), ("q21", "q22")] {
        let limit = PageSize::new(2).expect("a size");
        let page = world.backend().list_queues(Some(&queue(after)), limit).await;
        let page = page.expect("list_queues");
        assert_eq!(page.queues.first().map(|queue| queue.name.as_str()), Some(first));
        assert_eq!(page.after.is_none(), first == "q22", "{page:?}");
    }
    let none = world.backend().list_queues(Some(&queue("q22")), PageSize::MAX).await;
    assert_eq!(none.expect("list_queues"), QueuePage::default());
}

/// R8.3: counts follow every transition, and are exact when the queue is quiet.
/// Guard: each transition lowers one count and raises another.
pub async fn r8_3_counts_follow_every_transition(world: &dyn World) {
    let mut drafts: Vec<_> = (0..8).map(|_| draft().max_attempts(1)).collect();
    drafts.push(draft().delay(HOUR));
    drafts.extend([keyed("k").delay(HOUR), keyed("k")]);
    world.enqueue_all(drafts).await;
    assert_counts(world, &[(Status::Ready, 8), (Status::Scheduled, 2), (Status::Blocked, 1)]).await;
    let leases = world.reserve(7).await;
    world.complete(&leases[0]).await;
    world.kill(&leases[1]).await;
    world.call_off(&leases[2]).await;
    world.release(&leases[3], HOUR).await;
    world.delete(leases[4].id(), true).await.expect("delete_job");
    let counts = [
        (Status::Running, 2),
        (Status::Ready, 1),
        (Status::Scheduled, 3),
        (Status::Blocked, 1),
        (Status::Completed, 1),
        (Status::Dead, 1),
        (Status::Cancelled, 1),
    ];
    assert_counts(world, &counts).await;
    world.expire().await;
    world.reserve(1).await;
    let counts = [
        (Status::Running, 1),
        (Status::Scheduled, 3),
        (Status::Blocked, 1),
        (Status::Completed, 1),
        (Status::Dead, 3),
        (Status::Cancelled, 1),
    ];
    assert_counts(world, &counts).await;
}

/// Asserts these counts, and that listing by status finds the same numbers.
async fn assert_counts(world: &dyn World, expected: &[(Status, u64)]) {
    let counts = listed(world).await.counts;
    for (status, count) in counts.iter() {
        let expected = expected.iter().find(|(of, _)| *of == status).map_or(0, |(_, n)| *n);
        assert_eq!((count.value, count.exact), (expected, true), "{status}: {counts:?}");
        assert_eq!(world.count(status).await as u64, expected, "{status}, listed");
    }
}

/// R8.3: the totals count how jobs have ended since the queue was created, including jobs that are
/// no longer stored.
/// Guard: the totals rise with each end and never fall.
pub async fn r8_3_totals_outlive_the_jobs(world: &dyn World) {
    world.enqueue_all((0..9).map(|_| draft().max_attempts(1))).await;
    let leases = world.reserve(8).await;
    for lease in &leases[..3] {
        world.complete(lease).await;
    }
    world.kill(&leases[3]).await;
    world.kill(&leases[4]).await;
    world.call_off(&leases[5]).await;
    world.release(&leases[6], HOUR).await;
    world.call_off(&leases[7]).await;
    let totals = Totals::of_ends(7, 2, 2);
    assert_eq!(ends(listed(world).await.totals), totals);
    let _ = world.retry(leases[3].id()).await;
    let again = world.reserve_from(&default_queue(), 2).await;
    assert_eq!(again.len(), 2);
    for lease in &again {
        world.complete(lease).await;
    }
    for gone in [&leases[4], &leases[7]] {
        world.delete(gone.id(), false).await.expect("delete_job");
    }
    let totals = Totals { completed: 5, ..totals };
    assert_eq!(ends(listed(world).await.totals), totals, "before anything is pruned");
    world.advance(2 * DAY).await;
    while world.prune().await > 0 {}
    let left = listed(world).await;
    let ended = [State::Completed, State::Dead, State::Cancelled];
    assert!(ended.iter().all(|state| left.counts.of_state(*state).value == 0), "{left:?}");
    assert_eq!(ends(left.totals), totals);
    world.admin().remove_queue(&default_queue(), true).await.expect("remove_queue");
    world.enqueue(draft()).await;
    assert_eq!(
        ends(listed(world).await.totals),
        Totals::default(),
        "a queue that was removed and created again should start from zero"
    );
}

/// The totals of what has ended.
fn ends(totals: Totals) -> Totals {
    Totals { enqueued: 0, failed: 0, ..totals }
}

/// R8.3: the oldest ready job's age counts from when it became due.
/// Guard: the age counts from `scheduled_at`, not from the enqueue.
pub async fn r8_3_the_oldest_age_counts_from_when_it_was_due(world: &dyn World) {
    world.enqueue(draft().delay(HOUR)).await;
    assert_eq!(listed(world).await.oldest_ready_age, None);
    world.advance(HOUR + 10 * MINUTE).await;
    world.enqueue(draft()).await;
    let age = listed(world).await.oldest_ready_age.expect("a ready job");
    world.assert_passed(age, 10 * MINUTE);
    let due = world.reserve_one().await;
    let age = listed(world).await.oldest_ready_age.expect("a ready job");
    world.assert_passed(age, Duration::ZERO);
    world.complete(&due).await;
    world.reserve_one().await;
    assert_eq!(listed(world).await.oldest_ready_age, None);
}

/// R8.3: the age is that of the oldest ready job, even if a younger one is served first.
/// Guard: the earliest time of all ready jobs, not that of the first in the order.
pub async fn r8_3_the_oldest_is_not_the_next(world: &dyn World) {
    for oldest in [draft(), keyed("oldest")] {
        world.enqueue(oldest).await;
        world.advance(20 * MINUTE).await;
        for priority in [Priority::CRITICAL, Priority::LOW] {
            world.enqueue(draft().priority(priority)).await;
            world.enqueue(keyed(&priority.to_string()).priority(priority)).await;
        }
        let age = listed(world).await.oldest_ready_age.expect("a ready job");
        world.assert_passed(age, 20 * MINUTE);
        world.serve_all(&default_queue()).await;
    }
}

/// R8.3: under `skip` the figures count the jobs that may run now, even if no reserve has run since
/// they became due.
/// Guard: figures do not rely on what earlier reserves have placed.
pub async fn r8_3_under_skip_each_job_counts_once(world: &dyn World) {
    let skip = QueuePatch::default().key_on_wait(KeyOnWait::Skip);
    world.configure(&default_queue(), skip).await;
    world.enqueue(keyed("k").delay(2 * MINUTE)).await;
    world.enqueue(keyed("k").delay(MINUTE)).await;
    world.advance(3 * MINUTE).await;
    assert_counts(world, &[(Status::Ready, 1), (Status::Blocked, 1)]).await;
    let age = listed(world).await.oldest_ready_age.expect("a ready job");
    world.assert_passed(age, MINUTE);
    world.enqueue(draft()).await;
    assert_counts(world, &[(Status::Ready, 2), (Status::Blocked, 1)]).await;
}

/// R8.3: a failed job whose time has come is ready, to the millisecond.
/// Guard: the comparison of `scheduled_at` with now.
pub async fn r8_3_a_retry_that_is_due_is_ready(world: &dyn World) {
    let failed = world.lease(draft()).await;
    world.fail(&failed, MINUTE).await;
    world.enqueue(draft().delay(HOUR)).await;
    assert_counts(world, &[(Status::Failed, 1), (Status::Scheduled, 1)]).await;
    world.advance(MINUTE).await;
    assert_counts(world, &[(Status::Ready, 1), (Status::Scheduled, 1)]).await;
}

/// R8.3: a death counts until 1,000 jobs have ended after it.
/// Guard: the number of ends that are kept.
pub async fn r8_3_health_remembers_the_last_thousand_ends(world: &dyn World) {
    world.enqueue_n(500).await;
    for (at, lease) in world.reserve_many(&default_queue(), 500).await.iter().enumerate() {
        match at < 100 {
            true => world.kill(lease).await,
            false => world.complete(lease).await,
        }
    }
    assert_eq!(
        listed(world).await.health.score,
        80,
        "100 of 500 jobs died, which should cost 20 points"
    );
}

/// R8.3: deaths count among the last 1,000 jobs that ended, then no more.
/// Guard: ends that leave the window are subtracted.
pub async fn r8_3_health_forgets_deaths_of_long_ago(world: &dyn World) {
    world.enqueue_n(10).await;
    for lease in world.reserve(10).await {
        world.kill(&lease).await;
    }
    assert_eq!(
        listed(world).await.health.score,
        60,
        "all ended jobs died, which should cost 40 points"
    );
    for (jobs, score) in [(90, 90), (910, 100)] {
        world.enqueue_n(jobs).await;
        let leases = world.reserve_many(&default_queue(), jobs).await;
        let acks: Vec<_> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
        let outcomes = world.backend().ack(&acks).await.expect("ack");
        assert_eq!(outcomes, vec![AckOutcome::Acked; jobs]);
        let health = listed(world).await.health;
        assert_eq!(health.score, score, "after {jobs} more: {health:?}");
    }
    assert_eq!(listed(world).await.health.reasons, Vec::<String>::new());
}

/// R8.3: health loses points for age, deaths and missing workers, and gives the reasons. Fewer than
/// 20 ended jobs count as 20.
/// Guard: the figures that are passed to the function of health.
pub async fn r8_3_health_says_why(world: &dyn World) {
    world.enqueue(draft().delay(HOUR)).await;
    let well = listed(world).await.health;
    assert_eq!((well.score, well.reasons.len()), (100, 0));
    world.advance(HOUR + 10 * MINUTE).await;
    let ill = listed(world).await.health;
    assert_eq!(ill.score, 40, "age should cost 40 points, no live worker 20: {ill:?}");
    assert_eq!(ill.reasons.len(), 2);
    let lease = world.reserve_one().await;
    world.kill(&lease).await;
    let dead = listed(world).await.health;
    assert_eq!((dead.score, dead.reasons.len()), (95, 1), "few count as 20: {dead:?}");
    for (more, ended, score) in [(19, 20, 95), (5, 25, 96)] {
        for _ in 0..more {
            let lease = world.lease(draft()).await;
            world.complete(&lease).await;
        }
        assert_eq!(listed(world).await.health.score, score, "one of {ended} ended jobs died");
    }
}

/// R8.3: live workers of a queue are counted, and its health recovers when one is live.
/// Guard: presence is counted by queue.
pub async fn r8_3_live_workers_are_counted(world: &dyn World) {
    world.enqueue(draft()).await;
    world.enqueue(draft().queue("other")).await;
    assert_eq!(listed(world).await.workers, 0);
    for id in ["w-1", "w-2"] {
        world.beat(&beat_of(id)).await;
    }
    let queue_now = listed(world).await;
    assert_eq!(queue_now.workers, 2);
    assert!(queue_now.health.score >= 99, "{:?}", queue_now.health);
    assert_eq!(world.queue(&queue("other")).await.workers, 0);
    world.advance(3 * TTL).await;
    assert_eq!(listed(world).await.workers, 0);
}

/// R8.3: figures have the time at which they were read, by the store's clock.
/// Guard: `as_of` is read with the counts.
pub async fn r8_3_figures_say_of_when_they_are(world: &dyn World) {
    world.enqueue(draft()).await;
    let before: Timestamp = listed(world).await.as_of;
    world.advance(HOUR).await;
    let after = listed(world).await.as_of;
    world.assert_passed(after.since(before), HOUR);
}
