//! R0: the guarantees of every operation.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::capability::Settlement;
use queuekit_core::{
    Ack, AckOutcome, Backend, DeadLetter, DeadLetterOutcome, LeaseToken, Nack, NackKind,
    NackOutcome, State,
};

use crate::World;
use crate::kit::{DAY, HOUR, default_queue, draft, in_parallel, request};

/// R0.1: if many callers settle one lease at the same time, exactly one takes effect.
/// Guard: the conditional write of ack, nack and dead-lettering.
pub async fn r0_1_of_settlers_at_once_one_takes_effect(world: &dyn World) {
    let handles = world.handles().await;
    for _ in 0..20 {
        let lease = world.lease(draft()).await;
        let settlers = (0..8).map(|turn| {
            let store = Arc::clone(&handles[turn % handles.len()]);
            settle(store, lease.token.clone(), turn)
        });
        let effects = in_parallel(settlers).await;
        let took_effect = effects.iter().filter(|effect| **effect).count();
        assert_eq!(took_effect, 1, "{:?}", lease.token);
        world.delete(lease.id(), true).await.expect("delete_job");
    }
}

/// Settles the lease: mostly by ack, once by nack and once by dead-lettering. Returns whether it
/// took effect.
async fn settle(store: Arc<dyn Backend>, token: LeaseToken, turn: usize) -> bool {
    match turn {
        0 => {
            let nack = Nack::new(token, NackKind::Retry, "failed", HOUR);
            let outcomes = store.nack(&[nack]).await.expect("nack");
            matches!(outcomes[0], NackOutcome::Retrying { .. })
        }
        1 => {
            let dead_letter = DeadLetter::of_lease(token, "dead_lettered");
            let outcomes = store.dead_letter(&[dead_letter]).await.expect("dead_letter");
            outcomes[0] == DeadLetterOutcome::DeadLettered
        }
        _ => {
            let outcomes = store.ack(&[Ack::new(token)]).await.expect("ack");
            outcomes[0] == AckOutcome::Acked
        }
    }
}

/// R0.1: an exchange returns what ack, nack and reserve would, in this order, in one step.
/// Guard: an exchange settles first, which frees partition keys for the reserve.
pub async fn r0_1_exchange_settles_before_it_reserves(world: &dyn World) {
    let drafts = ["first", "second", "third"].map(|_| draft().partition_key("k"));
    let [first, second, third] = world.enqueue_all(drafts).await[..] else {
        unreachable!("three jobs")
    };
    let lease = world.reserve_one().await;
    let settlement = Settlement {
        acks: vec![Ack::new(lease.token.clone()), Ack::new(lease.token)],
        nacks: Vec::new(),
    };
    let reserve = request(default_queue(), 5);
    let exchanged = world.exchange().exchange(&settlement, &reserve).await.expect("exchange");
    assert_eq!(exchanged.acks, [AckOutcome::Acked, AckOutcome::AlreadyDone]);
    assert_eq!(world.state(first).await, State::Completed);
    let [lease] = &exchanged.reserved.leases[..] else {
        panic!("one job of the key should run: {exchanged:?}")
    };
    assert_eq!(lease.id(), second);

    let nack = Nack::new(lease.token.clone(), NackKind::Fatal, "failed", Duration::ZERO);
    let settlement = Settlement { acks: Vec::new(), nacks: vec![nack] };
    let exchanged = world.exchange().exchange(&settlement, &request(default_queue(), 5)).await;
    let exchanged = exchanged.expect("exchange");
    assert_eq!(exchanged.nacks, [NackOutcome::Dead]);
    assert_eq!(exchanged.reserved.leases[0].id(), third);
}

/// R0.2: a job that enqueue accepted ends, is still stored, or was deleted on request.
/// Guard: only delete and retention remove a job.
pub async fn r0_2_an_accepted_job_is_never_lost(world: &dyn World) {
    let ids = world.enqueue_n(60).await;
    let leases = world.reserve(50).await;
    assert_eq!(leases.len(), 50);
    for (turn, lease) in leases.iter().enumerate() {
        match turn % 5 {
            0 => world.complete(lease).await,
            1 => world.fail(lease, HOUR).await,
            2 => world.kill(lease).await,
            3 => world.call_off(lease).await,
            _ => {}
        }
    }
    world.expire().await;
    world.reserve(5).await;
    for (turn, id) in ids.iter().enumerate() {
        let state = world.state(*id).await;
        match turn {
            50.. => assert_eq!(state, State::Pending),
            _ => {
                let ended = [
                    &[State::Completed][..],
                    &[State::Pending],
                    &[State::Dead],
                    &[State::Cancelled],
                    &[State::Pending, State::Running],
                ];
                assert!(ended[turn % 5].contains(&state), "job {turn} is {state}");
            }
        }
    }
}

/// R0.3: a job never has more leases than `max_attempts`, however often they expire.
/// Guard: reclaim checks the attempts.
pub async fn r0_3_never_more_leases_than_max_attempts(world: &dyn World) {
    let id = world.enqueue(draft().max_attempts(3)).await;
    let mut leases = 0;
    for _ in 0..8 {
        leases += world.reserve(5).await.len();
        world.expire().await;
    }
    assert_eq!(leases, 3);
    assert_eq!(world.state(id).await, State::Dead);
}

/// R0.3: a job never has two live leases.
/// Guard: reserve leases only pending jobs and those with an expired lease.
pub async fn r0_3_a_leased_job_is_leased_to_nobody_else(world: &dyn World) {
    let lease = world.lease(draft()).await;
    for store in world.handles().await {
        let reserved = store.reserve(&request(default_queue(), 10)).await.expect("reserve");
        assert_eq!(reserved.leases, []);
    }
    world.complete(&lease).await;
    world.assert_nothing_to_lease().await;
}

/// R0.4: now is the time of the store's clock, whatever the client's clock shows.
/// Guard: the store's clock in enqueue and reserve.
pub async fn r0_4_now_is_the_stores_clock(world: &dyn World) {
    let before = world.store_now().await;
    world.advance(400 * DAY).await;
    let id = world.enqueue(draft().delay(HOUR)).await;
    let job = world.job(id).await;
    assert!(
        job.created_at >= before + 400 * DAY,
        "created_at should be the store's time, not the client's"
    );
    assert_eq!(job.scheduled_at, job.created_at + HOUR);
    world.assert_nothing_to_lease().await;
    world.advance(HOUR).await;
    let lease = world.reserve_one().await;
    assert_eq!(lease.id(), id);
    world.fail(&lease, HOUR).await;
    world.assert_nothing_to_lease().await;
    world.advance(HOUR).await;
    assert_eq!(world.reserve_one().await.id(), id);
}
