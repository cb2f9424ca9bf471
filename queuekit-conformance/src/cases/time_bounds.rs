//! Changes that come with time come at their bound, and not 1 ms before it (R9.3): leases, waiting
//! jobs, deadlines. The bounds of upkeep are in `upkeep_bounds.rs`.

use std::time::Duration;

use queuekit_core::capability::{ExtendOutcome, RescheduleOutcome};
use queuekit_core::queue::{KeyOnWait, Order};
use queuekit_core::{
    AckOutcome, JobDraft, JobId, NackKind, NackOutcome, Priority, QueuePatch, State, Status,
};

use crate::World;
use crate::kit::{HOUR, MINUTE, Moment, TTL, default_queue, draft, keyed};

/// R5.2: a lease lasts for its ttl, and shows as expired once a reserve may reclaim it.
/// Guard: expiry = now + ttl, compared with now, in reads and in reserve.
pub async fn r5_2_a_lease_lives_for_its_ttl(world: &dyn World) {
    for length in [TTL, HOUR] {
        assert_lives(world, draft(), length).await;
    }
}

/// R5.2: a lease of a fair queue lasts for its ttl too.
/// Guard: expiry = now + ttl in the step of a fair queue.
pub async fn r5_2_a_lease_of_a_fair_queue_lives_for_its_ttl(world: &dyn World) {
    world.configure(&default_queue(), QueuePatch::default().order(Order::Fair)).await;
    for draft in [draft(), keyed("k")] {
        assert_lives(world, draft, HOUR).await;
    }
}

async fn assert_lives(world: &dyn World, draft: JobDraft, length: Duration) {
    for moment in Moment::ALL {
        let id = world.enqueue(draft.clone()).await;
        let worker = crate::kit::worker("w");
        assert_eq!(world.reserve_as(worker, 1, length).await.len(), 1);
        world.advance_to(moment, length).await;
        let status = if moment.has_come() { Status::Expired } else { Status::Running };
        assert_eq!(world.status(id).await, status, "{moment:?} of {length:?}");
        assert_eq!(world.count(status).await, 1, "{moment:?} of {length:?}");
        assert_is_leased(world, id, moment).await;
    }
}

/// Asserts that the job is leased if its bound has come; then removes it.
async fn assert_is_leased(world: &dyn World, id: JobId, moment: Moment) {
    let leased = world.reserve_ids(10).await.contains(&id);
    assert_eq!(leased, moment.has_come(), "{moment:?}");
    world.delete(id, true).await.expect("delete_job");
}

/// R5.6, R5.7: a job is reclaimed or dead-lettered at the expiry of its lease, not before.
/// Guard: the expiry in the condition of reclaim.
pub async fn r5_6_nothing_is_reclaimed_before_its_expiry(world: &dyn World) {
    let last = || draft().max_attempts(1);
    let ends: [(&str, JobDraft, State); 3] = [
        ("goes on", keyed("k"), State::Running),
        ("ends dead", last(), State::Dead),
        ("ends cancelled", draft(), State::Cancelled),
    ];
    for (what, draft, state) in ends {
        for moment in Moment::ALL {
            let lease = world.lease(draft.clone()).await;
            if state == State::Cancelled {
                world.request_cancel(lease.id()).await;
            }
            world.advance_to(moment, TTL).await;
            world.reserve(10).await;
            let job = world.job(lease.id()).await;
            let wanted = if moment.has_come() { state } else { State::Running };
            assert_eq!(job.state, wanted, "{what}: {moment:?}");
            let is_new = job.lease_seq > lease.token.lease_seq;
            assert_eq!(is_new, moment.has_come() && state == State::Running, "{what}: {moment:?}");
            world.delete(lease.id(), true).await.expect("delete_job");
        }
    }
}

/// R3.2: the holder can settle until a reserve has reclaimed the job, and no reserve does so before
/// the expiry.
/// Guard: the fence tests no time, and reclaim does.
pub async fn r3_2_a_late_holder_settles_until_the_lease_is_reclaimed(world: &dyn World) {
    for moment in Moment::ALL {
        for somebody_reserves in [false, true] {
            let (first, second) = (world.lease(draft()).await, world.lease(draft()).await);
            world.advance_to(moment, TTL).await;
            if somebody_reserves {
                world.reserve(10).await;
            }
            let acked = world.ack(&first.token).await;
            let nacked = world.nack(&second.token, NackKind::Fatal, Duration::ZERO).await;
            let wanted = match somebody_reserves && moment.has_come() {
                true => (AckOutcome::LeaseLost, NackOutcome::LeaseLost),
                false => (AckOutcome::Acked, NackOutcome::Dead),
            };
            assert_eq!((acked, nacked), wanted, "{moment:?}, reserve: {somebody_reserves}");
            for lease in [first, second] {
                world.delete(lease.id(), true).await.expect("delete_job");
            }
        }
    }
}

/// R3.7: an extended lease lasts for its new ttl from the extend on, even if it had expired.
/// Guard: expiry = now + ttl in extend.
pub async fn r3_7_an_extended_lease_lives_for_its_new_ttl(world: &dyn World) {
    for held in [TTL / 2, 2 * TTL] {
        for moment in Moment::ALL {
            let lease = world.lease(draft()).await;
            world.advance(held).await;
            let outcome = world.extend(&lease.token, MINUTE).await;
            let extended = ExtendOutcome::Extended { ttl: MINUTE, cancel_requested: false };
            assert_eq!(outcome, extended);
            world.advance_to(moment, MINUTE).await;
            assert_is_leased(world, lease.id(), moment).await;
        }
    }
}

/// The ways in which a job waits for an hour.
#[derive(Clone, Copy, Debug)]
enum Waits {
    Delayed,
    RunAt,
    Failed,
    Released,
}

impl Waits {
    const ALL: [Self; 4] = [Self::Delayed, Self::RunAt, Self::Failed, Self::Released];

    async fn of(self, world: &dyn World, draft: JobDraft) -> JobId {
        match self {
            Self::Delayed => world.enqueue(draft.delay(HOUR)).await,
            Self::RunAt => {
                let now = world.store_now().await;
                world.enqueue(draft.run_at(now + HOUR)).await
            }
            Self::Failed => {
                let lease = world.lease(draft).await;
                world.fail(&lease, HOUR).await;
                lease.id()
            }
            Self::Released => {
                let lease = world.lease(draft).await;
                world.release(&lease, HOUR).await;
                lease.id()
            }
        }
    }
}

/// R9.3: no job is leased before its time, and each is leased at its time, for every way in which a
/// job comes to wait.
/// Guard: the comparison of `scheduled_at` with the store's now.
pub async fn r9_3_nothing_runs_early(world: &dyn World) {
    for waits in Waits::ALL {
        for draft in [draft(), keyed("k")] {
            for moment in Moment::ALL {
                let id = waits.of(world, draft.clone()).await;
                world.advance_to(moment, HOUR).await;
                assert_is_due(world, id, moment, waits).await;
            }
        }
    }
}

/// Asserts that the job shows as ready and is leased if its time has come; then removes it.
async fn assert_is_due(world: &dyn World, id: JobId, moment: Moment, waits: Waits) {
    let waiting = match waits {
        Waits::Failed => Status::Failed,
        _ => Status::Scheduled,
    };
    let status = if moment.has_come() { Status::Ready } else { waiting };
    assert_eq!(world.status(id).await, status, "{waits:?}, {moment:?}");
    let counts = world.queue(&default_queue()).await.counts;
    assert_eq!(counts.get(status).value, 1, "{waits:?}, {moment:?}");
    let leased = world.reserve_ids(10).await.contains(&id);
    assert_eq!(leased, moment.has_come(), "{waits:?}, {moment:?}");
    world.delete(id, true).await.expect("delete_job");
}

/// R9.3: the same holds in queues of every order, in which a store finds due jobs in other ways.
/// Guard: the comparison with now, for partition keys and for jobs without one.
pub async fn r9_3_nothing_runs_early_in_any_order(world: &dyn World) {
    for order in [Order::Strict, Order::Fair] {
        for on_wait in [KeyOnWait::Block, KeyOnWait::Skip] {
            let settings = QueuePatch::default().order(order).key_on_wait(on_wait);
            world.configure(&default_queue(), settings).await;
            for draft in [keyed("k"), draft()] {
                for moment in Moment::ALL {
                    let id = Waits::Delayed.of(world, draft.clone()).await;
                    let behind = world.enqueue(draft.clone().delay(2 * HOUR)).await;
                    world.advance_to(moment, HOUR).await;
                    let leased = world.reserve_ids(10).await;
                    let wanted = if moment.has_come() { vec![id] } else { Vec::new() };
                    assert_eq!(leased, wanted, "{order:?}, {on_wait:?}, {moment:?}");
                    for id in [id, behind] {
                        world.delete(id, true).await.expect("delete_job");
                    }
                }
            }
        }
    }
}

/// R9.3: a job waits for its own time even if the job before it in its key, and less urgent jobs,
/// are leased.
/// Guard: the comparison with now when the next job of a key is placed.
pub async fn r9_3_the_next_of_a_key_waits_beside_less_urgent_jobs(world: &dyn World) {
    let settings = QueuePatch::default().per_key(2);
    world.configure(&default_queue(), settings).await;
    let urgent = || keyed("k").priority(Priority::HIGH);
    for moment in Moment::ALL {
        let ids = world.enqueue_all([urgent(), urgent().delay(HOUR), draft()]).await;
        world.advance_to(moment, HOUR).await;
        let leased = world.reserve_ids(10).await;
        assert_eq!(leased.contains(&ids[1]), moment.has_come(), "{moment:?}");
        assert!(leased.contains(&ids[0]) && leased.contains(&ids[2]), "{moment:?}");
        for id in ids {
            world.delete(id, true).await.expect("delete_job");
        }
    }
}

/// R6.4: a rescheduled job is leased at its new time.
/// Guard: the new time is the store's now and the delay.
pub async fn r6_4_a_rescheduled_job_is_leased_at_its_time(world: &dyn World) {
    for draft in [draft(), keyed("k")] {
        for moment in Moment::ALL {
            let id = world.enqueue(draft.clone().delay(2 * HOUR)).await;
            world.advance(MINUTE).await;
            assert_eq!(world.reschedule(id, HOUR).await, RescheduleOutcome::Rescheduled);
            world.advance_to(moment, HOUR).await;
            assert_is_leased(world, id, moment).await;
        }
    }
}

/// R5.7: a job can be leased until its deadline; from then on it is dead-lettered instead.
/// Guard: the deadline in the condition of reserve.
pub async fn r5_7_a_job_runs_until_its_deadline(world: &dyn World) {
    for draft in [draft(), keyed("k")] {
        for moment in Moment::ALL {
            let id = world.enqueue(draft.clone().deadline(HOUR)).await;
            world.advance_to(moment, HOUR).await;
            assert_runs_or_dies(world, id, moment).await;
        }
    }
}

async fn assert_runs_or_dies(world: &dyn World, id: JobId, moment: Moment) {
    let leased = world.reserve_ids(10).await.contains(&id);
    assert_eq!(leased, !moment.has_come(), "{moment:?}");
    let state = if moment.has_come() { State::Dead } else { State::Running };
    assert_eq!(world.state(id).await, state, "{moment:?}");
    world.delete(id, true).await.expect("delete_job");
}

/// R6.3, R5.7: the deadline of a retried job counts from the retry.
/// Guard: retry sets the deadline from the store's now.
pub async fn r6_3_a_deadline_counts_anew_from_the_retry(world: &dyn World) {
    for moment in Moment::ALL {
        let id = world.enqueue(draft().deadline(HOUR)).await;
        world.dead_letter_waiting(id).await;
        world.advance(50 * MINUTE).await;
        world.bring_back(id).await;
        world.advance_to(moment, HOUR).await;
        assert_runs_or_dies(world, id, moment).await;
    }
}
