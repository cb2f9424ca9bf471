//! R16.10: a pause that has a reason and an end.

use queuekit_core::capability::Why;
use queuekit_core::queue::{KeyOnWait, Order};
use queuekit_core::{
    Lease, QueueName, QueuePatch, QueueSettings, Queues, Reserve, Status, WeightedQueues,
};

use crate::World;
use crate::kit::{HOUR, MINUTE, Moment, TTL, draft, queue, ttl, worker};

fn pause() -> QueuePatch {
    QueuePatch::default().paused(true)
}

/// Queues that stores serve in ways of their own.
fn orders() -> [(&'static str, QueuePatch); 3] {
    [
        ("strict", QueuePatch::default()),
        ("fair", QueuePatch::default().order(Order::Fair)),
        ("skip", QueuePatch::default().key_on_wait(KeyOnWait::Skip)),
    ]
}

/// R16.10: after its end, a pause is over though no process has done anything, in every order, and
/// with partition keys.
/// Guard: reserve compares the end with the time of the call.
pub async fn r16_10_a_pause_ends_by_itself(world: &dyn World) {
    for moment in Moment::ALL {
        let mut names = Vec::new();
        for (order, patch) in orders() {
            for key in [None, Some("k")] {
                let name = queue(&format!("{moment:?}.{order}.{}", key.unwrap_or("plain")));
                world.configure(&name, patch.clone()).await;
                let job = draft().queue(&name);
                world.enqueue(key.into_iter().fold(job, |job, key| job.partition_key(key))).await;
                names.push(name);
            }
        }
        for name in &names {
            world.configure(name, pause().pause_for(HOUR)).await;
        }
        for name in &names {
            assert_eq!(world.reserve_from(name, 5).await, [], "{name}");
        }
        world.advance_to(moment, HOUR).await;
        let due = usize::from(moment.has_come());
        for name in &names {
            let shown = world.queue(name).await.settings;
            assert_eq!(shown.paused, !moment.has_come(), "{name}");
            assert_eq!(world.reserve_from(name, 5).await.len(), due, "{name}");
        }
        // Not through a later moment.
        world.advance(MINUTE).await;
    }
}

/// R16.10: a weighted request gives a queue its share from the end of its pause on.
/// Guard: what a queue has to give is counted by the end of its pause.
pub async fn r16_10_shares_count_a_queue_from_the_end_of_its_pause(world: &dyn World) {
    let names = ["paused", "other"].map(queue);
    for name in &names {
        for _ in 0..4 {
            world.enqueue(draft().queue(name)).await;
        }
    }
    world.configure(&names[0], pause().pause_for(HOUR)).await;
    let leased = async || {
        let both = WeightedQueues::new(names.clone().map(|name| (name, 1))).expect("weights");
        let both = Reserve::new(Queues::Weighted(both), 2, ttl(3 * HOUR), worker("w"));
        let reserved = world.reserve_with(&both.expect("a nonce")).await;
        reserved.leases.iter().map(|lease| lease.token.queue.clone()).collect::<Vec<_>>()
    };
    assert_eq!(leased().await, [names[1].clone(), names[1].clone()]);
    world.advance(HOUR).await;
    let mut both = leased().await;
    both.sort_unstable_by_key(|name| *name != names[0]);
    assert_eq!(both, names);
}

/// R16.10: until the end nothing of the queue is reclaimed; then a lease that ran out is.
/// Guard: the reclaim compares the end with the time of the call.
pub async fn r16_10_leases_are_reclaimed_from_the_end_on(world: &dyn World) {
    let names = ["plain", "keyed"].map(queue);
    for name in &names {
        let job = draft().queue(name);
        world.enqueue(if *name == names[1] { job.partition_key("k") } else { job }).await;
        let lease = world.reserve_one_from(name).await;
        world.configure(name, pause().pause_for(HOUR)).await;
        world.expire().await;
        assert_eq!(world.reserve_from(name, 5).await, []);
        assert_eq!(world.status(lease.id()).await, Status::Expired);
        world.advance(HOUR - TTL).await;
        let again = world.reserve_one_from(name).await;
        assert_eq!((again.id(), again.attempt), (lease.id(), 2));
    }
}

/// R16.10: until the end, `next_due_in` is the end, unless another queue has something earlier.
/// Guard: the ends of pauses in the minimum.
pub async fn r16_10_the_hint_is_the_end_of_the_pause(world: &dyn World) {
    for (order, patch) in orders() {
        let names = ["paused", "other"].map(|name| queue(&format!("{order}.{name}")));
        for name in &names {
            world.configure(name, patch.clone()).await;
        }
        world.enqueue(draft().queue(&names[0])).await;
        world.enqueue(draft().queue(&names[1]).delay(2 * HOUR)).await;
        let hint = async |names: &[QueueName]| {
            let request = Reserve::new(names.to_vec(), 5, ttl(TTL), worker("w")).expect("a nonce");
            let reserved = world.reserve_with(&request).await;
            assert_eq!(reserved.leases, []);
            reserved.next_due_in
        };
        world.configure(&names[0], pause()).await;
        world.assert_left(hint(&names).await, 2 * HOUR);
        assert_eq!(hint(&names[..1]).await, None, "a pause without an end");
        world.configure(&names[0], pause().pause_for(HOUR)).await;
        world.assert_left(hint(&names).await, HOUR);
        world.assert_left(hint(&names[..1]).await, HOUR);
        world.configure(&names[0], pause().pause_for(3 * HOUR)).await;
        world.assert_left(hint(&names).await, 2 * HOUR);
        world.assert_left(hint(&names[..1]).await, 3 * HOUR);
    }
}

/// R16.10: the latest pause or resume holds, with its own reason and end; other settings change
/// neither.
/// Guard: a patch replaces the pause as a whole.
pub async fn r16_10_the_latest_pause_holds(world: &dyn World) {
    let name = queue("mail");
    let id = world.enqueue(draft().queue(&name)).await;
    let told = |settings: QueueSettings| (settings.paused, settings.pause_reason);
    let reason = "the provider is down: \"503\"";
    let paused = world.configure(&name, pause().pause_reason(reason).pause_for(HOUR)).await;
    let until = paused.paused_until.expect("an end");
    assert_eq!(told(paused), (true, Some(reason.to_owned())));
    world.assert_left(Some(until.since(world.queue(&name).await.as_of)), HOUR);
    let other = world.configure(&name, QueuePatch::default().per_key(2)).await;
    assert_eq!(other.paused_until, Some(until), "another setting changes");
    assert_eq!(world.queue(&name).await.settings, other);
    let why = async || world.admin().why(id).await.expect("why").expect("the job is stored");
    let Why::Paused { queue, reason: shown, ends_in } = why().await else {
        panic!("the queue is paused")
    };
    assert_eq!((queue, shown.as_deref()), (name.clone(), Some(reason)));
    world.assert_left(ends_in, HOUR);

    let again = world.configure(&name, pause()).await;
    assert_eq!((told(again.clone()), again.paused_until), ((true, None), None));
    world.advance(2 * HOUR).await;
    assert_eq!(world.reserve_from(&name, 5).await, [], "the pause without an end is the latest");
    world.configure(&name, pause().pause_reason(reason).pause_for(HOUR)).await;
    let resumed = world.configure(&name, QueuePatch::default().paused(false)).await;
    assert_eq!((told(resumed.clone()), resumed.paused_until), ((false, None), None));
    world.configure(&name, pause().pause_reason(reason).pause_for(HOUR)).await;
    world.advance(HOUR).await;
    assert!(!matches!(why().await, Why::Paused { .. }));
    let over = world.configure(&name, QueuePatch::default().per_key(3)).await;
    assert_eq!((told(over.clone()), over.paused_until), ((false, None), None));
    assert_eq!(world.queue(&name).await.settings, over);
    let leased: Vec<_> = world.reserve_from(&name, 5).await.iter().map(Lease::id).collect();
    assert_eq!(leased, [id]);
}
