//! Leases of one reserve: what was granted together is settled, extended and cancelled apart.

use std::time::Duration;

use queuekit_core::capability::ExtendOutcome;
use queuekit_core::{Ack, AckOutcome, EnqueueOutcome, Lease, LeaseToken, State};

use crate::World;
use crate::kit::{HOUR, MILLISECOND, MINUTE, Moment, TTL, draft, ttl, unique};

/// As many jobs as a store may have to see before it takes those behind them to be like them.
const PLAIN: usize = 9;

fn extended(length: Duration) -> ExtendOutcome {
    ExtendOutcome::Extended { ttl: length, cancel_requested: false }
}

/// R1.5: jobs that are leased together have each the number of its own lease.
/// Guard: the number is that of the job, not of the reserve.
pub async fn r1_5_retried_and_new_jobs_of_one_reserve(world: &dyn World) {
    let ids = world.enqueue_n(5).await;
    for lease in world.reserve(4).await.iter().skip(1).step_by(2) {
        world.fail(lease, Duration::ZERO).await;
    }
    world.expire().await;
    let leases = world.reserve(5).await;
    assert_eq!(leases.len(), 5);
    for lease in &leases {
        let number = if lease.id() == ids[4] { 1 } else { 2 };
        assert_eq!((lease.token.lease_seq, lease.attempt), (number, number as u32));
        assert_eq!(world.job(lease.id()).await.lease_seq, number);
        world.complete(lease).await;
    }
}

/// R1.5: the same where the jobs that were leased before come behind many new ones.
/// Guard: a job is new only if it was never leased.
pub async fn r1_5_a_retried_job_behind_new_ones_of_one_reserve(world: &dyn World) {
    let retried = world.lease(draft()).await;
    world.fail(&retried, MINUTE).await;
    world.enqueue_n(PLAIN).await;
    world.advance(MINUTE).await;
    let leases = world.reserve(PLAIN + 1).await;
    assert_eq!(leases.len(), PLAIN + 1);
    let last = &leases[PLAIN];
    assert_eq!((last.id(), last.attempt, last.token.lease_seq), (retried.id(), 2, 2));
    world.complete(last).await;
}

/// R2.5: the key of a job that is leased together with others holds for its window after the end.
/// Guard: the lease of a job tells that it has a key.
pub async fn r2_5_a_key_behind_jobs_without_one_holds_for_its_window(world: &dyn World) {
    world.enqueue_n(PLAIN).await;
    let id = world.enqueue(unique("k")).await;
    let leases = world.reserve(PLAIN + 1).await;
    let lease = leases.iter().find(|lease| lease.id() == id).expect("all were leased");
    world.complete(lease).await;
    let duplicate = EnqueueOutcome::Duplicate { existing: id };
    assert_eq!(world.try_enqueue(unique("k")).await, duplicate);
}

/// R5.7: a job past its deadline is not leased with the jobs before it.
/// Guard: the deadline of each job is tested.
pub async fn r5_7_a_missed_deadline_behind_other_jobs_dead_letters(world: &dyn World) {
    let before = world.enqueue_n(PLAIN).await;
    let doomed = world.enqueue(draft().deadline(HOUR)).await;
    let behind = world.enqueue(draft()).await;
    world.advance(HOUR).await;
    let wanted: Vec<_> = before.into_iter().chain([behind]).collect();
    assert_eq!(world.reserve_ids(100).await, wanted);
    assert_eq!(world.state(doomed).await, State::Dead);
}

/// R5.8: the same for a record that cannot be read.
/// Guard: each record is tested before its job is leased.
pub async fn r5_8_an_unreadable_record_behind_other_jobs_dead_letters(world: &dyn World) {
    let mut wanted = world.enqueue_n(PLAIN + 1).await;
    let broken = wanted.remove(PLAIN - 1);
    assert!(world.corrupt(broken).await, "the harness states `can_corrupt`, but corrupt failed");
    let mut served = world.reserve_ids(100).await;
    served.extend(world.reserve_ids(100).await);
    assert_eq!(served, wanted);
    assert_eq!(world.state(broken).await, State::Dead);
}

/// R9.3: a job that is not due is not leased with the jobs before it.
/// Guard: the comparison of each job's time with the store's now.
pub async fn r9_3_a_reserve_ends_before_the_first_job_that_is_not_due(world: &dyn World) {
    let mut wanted = world.enqueue_n(PLAIN).await;
    let last = world.enqueue(draft().delay(HOUR)).await;
    world.advance_to(Moment::Before, HOUR).await;
    assert_eq!(world.reserve_ids(100).await, wanted);
    wanted = world.enqueue_n(PLAIN).await;
    world.advance(world.slack().max(MILLISECOND)).await;
    wanted.push(last);
    assert_eq!(world.reserve_ids(100).await, wanted);
}

/// R3.3: a stale lease stays lost in a call that also settles a lease of the reserve that has its
/// job again.
/// Guard: the fence compares id, number and nonce of each item together.
pub async fn r3_3_a_stale_token_beside_a_valid_lease_of_its_successor(world: &dyn World) {
    let stale = world.lease(draft()).await;
    world.expire().await;
    world.enqueue(draft()).await;
    let leases = world.reserve(2).await;
    let has = |lease: &&Lease| lease.id() == stale.id();
    assert_eq!(leases.iter().filter(has).count(), 1, "its job was leased again, with another");
    let other = leases.iter().find(|lease| !has(lease)).expect("the other job");
    let acks = [Ack::new(stale.token.clone()), Ack::new(other.token.clone())];
    let outcomes = world.backend().ack(&acks).await.expect("ack");
    assert_eq!(outcomes, [AckOutcome::LeaseLost, AckOutcome::Acked]);
    assert_eq!(world.state(stale.id()).await, State::Running);
    world.complete(leases.iter().find(has).expect("its job")).await;
}

/// R3.7: an extend of some leases of a reserve moves the end of these alone.
/// Guard: leases that were granted together do not end together.
pub async fn r3_7_an_extend_of_some_of_a_reserve_spares_the_others(world: &dyn World) {
    world.enqueue_n(5).await;
    let leases = world.reserve(5).await;
    let some = [leases[1].token.clone(), leases[3].token.clone(), leases[1].token.clone()];
    let outcomes = world.leases().extend(&some, ttl(HOUR)).await.expect("extend");
    assert_eq!(outcomes, [extended(HOUR), extended(HOUR), extended(HOUR)]);
    for (at, lease) in leases.iter().enumerate() {
        let left = if at % 2 == 1 { HOUR } else { TTL };
        world.assert_left(world.job(lease.id()).await.lease_expires_in, left);
    }
    world.advance(TTL).await;
    let mut again = world.reserve_ids(5).await;
    again.sort_unstable();
    let mut others = [leases[0].id(), leases[2].id(), leases[4].id()];
    others.sort_unstable();
    assert_eq!(again, others, "only what was not extended runs out");
    world.complete(&leases[1]).await;
    world.complete(&leases[3]).await;
}

/// R6.6: a request to stop one of the jobs that were granted together reaches that job alone.
/// Guard: a request to cancel is kept for each job.
pub async fn r6_6_a_cancel_of_one_of_a_reserve_is_told_to_it_alone(world: &dyn World) {
    world.enqueue_n(3).await;
    let leases = world.reserve(3).await;
    world.request_cancel(leases[1].id()).await;
    let tokens: Vec<LeaseToken> = leases.iter().map(|lease| lease.token.clone()).collect();
    for part in [&tokens[..2], &tokens[..]] {
        let outcomes = world.leases().extend(part, ttl(HOUR)).await.expect("extend");
        for (at, outcome) in outcomes.into_iter().enumerate() {
            let asked = ExtendOutcome::Extended { ttl: HOUR, cancel_requested: at == 1 };
            assert_eq!(outcome, asked, "lease {at}");
        }
    }
}
