//! R12: how many workers a store lists.

use std::sync::Arc;

use queuekit_core::capability::Orders;
use queuekit_core::{Backend, Result};

use crate::World;
use crate::kit::{MILLISECOND, Moment, TTL, assert_invalid, beat_of, in_parallel};

/// R12: a store lists no more workers than its limit, however many begin at once. Listed workers
/// stay; expired ones do not count, and one that comes back is new.
/// Guard: listing a new worker counts the live ones in the same step.
pub async fn r12_workers(world: &dyn World) {
    let most = world.limits().workers();
    world.beat(&beat_of("old")).await;
    world.advance(2 * TTL).await;
    for n in 2..most {
        world.beat(&beat_of(&format!("w{n}"))).await;
    }
    of_workers_at_once_one_is_listed(world).await;
    assert_eq!(world.workers().await.len(), most);
    world.beat(&beat_of("w2")).await;
    world.advance_to(Moment::Before, TTL).await;
    assert_invalid(world.leases().beat(&beat_of("late")).await, "workers");
    world.advance(world.slack().max(MILLISECOND)).await;
    world.beat(&beat_of("late")).await;
    assert_invalid(world.leases().beat(&beat_of("old")).await, "workers");
    assert!(world.forget("late").await);
    world.beat(&beat_of("old")).await;
}

/// There is room for one worker. Ten rounds, because a race shows only by chance.
async fn of_workers_at_once_one_is_listed(world: &dyn World) {
    let mut handles = Vec::new();
    for _ in 0..4 {
        let other = world.second_handle().await.unwrap_or_else(|| Arc::clone(world.backend()));
        // So that each has its connection.
        beat(&other, "w2").await.expect("beat");
        handles.push(other);
    }
    for round in 0..10 {
        let begin = |(n, store): (usize, &Arc<dyn Backend>)| {
            let (id, store) = (format!("new-{round}-{n}"), Arc::clone(store));
            async move { beat(&store, &id).await.map(|_| id) }
        };
        let answers = in_parallel(handles.iter().enumerate().map(begin)).await;
        let (listed, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((listed.len(), refused.len()), (1, 3), "round {round}");
        refused.into_iter().for_each(|answer| assert_invalid(answer, "workers"));
        let last = round == 9;
        for id in listed.into_iter().flatten().filter(|_| !last) {
            assert!(world.forget(&id).await);
        }
    }
}

async fn beat(store: &Arc<dyn Backend>, id: &str) -> Result<Orders> {
    store.capabilities().leases.expect("Leases").beat(&beat_of(id)).await
}
