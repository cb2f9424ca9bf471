//! R2.10: calls that are merged into one flush do not hurt each other.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use queuekit_core::{
    Ack, AckOutcome, BackendExt, Client, EnqueueOutcome, ErrorKind, Nack, NackKind, State,
};

use crate::World;
use crate::kit::{HOUR, build, carrying, draft, in_parallel, unique};

fn client(world: &dyn World) -> Client {
    Client::shared(Arc::clone(world.backend()))
}

/// R2.10: equal ids, keys and leases in one call are allowed, and act in order.
/// Guard: each item sees the writes of the items before it.
pub async fn r2_10_items_of_a_call_act_in_order(world: &dyn World) {
    let job = build(draft());
    let other = build(carrying("other").id(job.id()));
    let outcomes = world.backend().enqueue(&[job.clone(), job.clone(), other]).await;
    let existing = job.id();
    assert_eq!(
        outcomes.expect("enqueue"),
        [
            EnqueueOutcome::Created { id: existing },
            EnqueueOutcome::Duplicate { existing },
            EnqueueOutcome::Conflict { existing },
        ]
    );
    let lease = world.reserve_one().await;
    let first = Ack::new(lease.token.clone()).with_result("first");
    let second = Ack::new(lease.token.clone()).with_result("second");
    let outcomes = world.backend().ack(&[first, second]).await.expect("ack");
    assert_eq!(outcomes, [AckOutcome::Acked, AckOutcome::AlreadyDone]);
    assert_eq!(world.job(existing).await.result.expect("a result"), "first");
}

/// R2.10: equal leases inside one nack take effect once.
/// Guard: the fence, within one call.
pub async fn r2_10_equal_leases_in_one_nack_take_effect_once(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let nack = |kind| Nack::new(lease.token.clone(), kind, "failed", HOUR);
    let nacks = [nack(NackKind::Retry), nack(NackKind::Fatal)];
    world.backend().nack(&nacks).await.expect("nack");
    let job = world.job(lease.id()).await;
    assert_eq!((job.state, job.errors.len()), (State::Pending, 1));
}

/// R2.10: a refused item of one caller does not affect the other callers.
/// Guard: a flush that fails permanently is repeated caller by caller.
pub async fn r2_10_a_refused_caller_hurts_no_other(world: &dyn World) {
    let client = client(world);
    let calls = (0..20).map(|turn| {
        let huge = turn % 5 == 3;
        let payload = if huge { "x".repeat(1024 * 1024 + 1) } else { "small".to_owned() };
        client.enqueue(carrying(payload)).into_future().map(move |answer| (huge, answer))
    });
    for (huge, answer) in join_all(calls).await {
        match answer {
            Ok(id) => assert!(!huge && world.find(id).await.is_some()),
            Err(error) => {
                assert!(huge, "{error}");
                assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
            }
        }
    }
}

/// R2.10: if only the store can refuse a call, the other calls of its flush are not affected.
/// Guard: a flush that the store refuses is repeated caller by caller.
pub async fn r2_10_a_refused_delete_hurts_no_other(world: &dyn World) {
    let held = world.lease(draft()).await;
    for _ in 0..5 {
        let calls = (0..20).map(|turn| {
            let (store, id) = (Arc::clone(world.backend()), held.id());
            async move {
                if turn % 5 == 3 {
                    return store.delete_job(id, false).await.map(|_| None);
                }
                let job = build(draft());
                store.enqueue(std::slice::from_ref(&job)).await.map(|_| Some(job.id()))
            }
        });
        for (turn, answer) in in_parallel(calls).await.into_iter().enumerate() {
            match answer {
                Ok(id) => assert!(world.find(id.expect("a job")).await.is_some()),
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Conflict), "{error}");
                    assert_eq!(turn % 5, 3, "{error}");
                }
            }
        }
    }
}

/// R2.10: a caller that is refused after it has changed something refuses nobody else in its flush.
/// Guard: a flush that the store undoes is repeated caller by caller.
pub async fn r2_10_a_caller_refused_halfway_hurts_no_other(world: &dyn World) {
    let most = world.limits().queues();
    world.enqueue_all((1..most).map(|at| draft().queue(format!("q{at}")))).await;
    for _ in 0..5 {
        let calls = (0..20).map(|turn| {
            let store = Arc::clone(world.backend());
            // Of two queues there is room for the first.
            let refused = turn % 5 == 3;
            let queues = if refused { vec!["last", "one-more"] } else { vec!["q1"] };
            let jobs: Vec<_> = queues.into_iter().map(|name| build(draft().queue(name))).collect();
            async move { (refused, jobs[0].id(), store.enqueue(&jobs).await) }
        });
        for (refused, id, answer) in in_parallel(calls).await {
            assert_eq!(world.find(id).await.is_some(), !refused, "{answer:?}");
            match answer {
                Ok(_) => assert!(!refused),
                Err(error) => {
                    assert!(refused, "{error}");
                    assert!(matches!(error.kind(), ErrorKind::Invalid { .. }), "{error}");
                }
            }
        }
    }
    assert_eq!(world.backend().all_queues().await.expect("list_queues").len(), most - 1);
}

/// R2.10: callers at the same time each get their own outcomes.
/// Guard: a flush returns outcomes in the order of its items.
pub async fn r2_10_callers_at_once_get_their_own_outcomes(world: &dyn World) {
    let client = client(world);
    let calls = (0..50).map(|turn| {
        let draft = unique(&format!("k{}", turn % 25)).delay(Duration::from_secs(turn));
        client.enqueue(draft).into_future()
    });
    let ids = join_all(calls).await;
    for (turn, answer) in ids.iter().enumerate() {
        let id = *answer.as_ref().expect("enqueue");
        assert_eq!(id, *ids[turn % 25].as_ref().expect("enqueue"), "caller {turn}");
        let key = world.job(id).await.idempotency_key.map(String::from);
        assert_eq!(key, Some(format!("k{}", turn % 25)));
    }
}

/// R2.10: a caller that drops its call does not affect the others in the flush.
/// Guard: all waiting callers share the flush.
pub async fn r2_10_a_caller_that_goes_away_harms_none(world: &dyn World) {
    let client = client(world);
    for _ in 0..10 {
        let mut leaver = client.enqueue(draft()).into_future();
        let stayers: Vec<_> = (0..5).map(|_| client.enqueue(draft()).into_future()).collect();
        // Polled once, so that it has joined a flush; then it goes away.
        let left = (&mut leaver).now_or_never();
        drop((left, leaver));
        for id in join_all(stayers).await {
            assert!(world.find(id.expect("enqueue")).await.is_some());
        }
    }
}
