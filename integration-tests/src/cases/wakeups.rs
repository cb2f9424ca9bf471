//! R13.6, the store's part: wake-ups are hints, and there are some.

use std::time::Duration;

use queuekit_core::QueuePatch;
use queuekit_core::limits::NAME_BYTES;

use crate::World;
use crate::kit::{default_queue, draft, queue};

/// Real time: a wake-up that does not ring within this never will.
const PATIENCE: Duration = Duration::from_secs(10);

/// R13.6: whoever waits for a queue hears of its new work, and keeps hearing.
/// Guard: enqueue rings for its queues.
pub async fn r13_6_an_enqueue_rings(world: &dyn World) {
    let longest = "q".repeat(NAME_BYTES);
    let wakeup = world.wakeups().subscribe(&[default_queue(), queue(&longest)]).expect("subscribe");
    for name in ["default", &longest, "default"] {
        world.enqueue(draft().queue(name)).await;
        let rung = tokio::time::timeout(PATIENCE, wakeup.rung()).await;
        rung.unwrap_or_else(|_| panic!("an enqueue into {name} did not ring"));
    }
}

/// R13.6: a queue that goes on after a pause rings.
/// Guard: a change of settings can make jobs ready.
pub async fn r13_6_the_end_of_a_pause_rings(world: &dyn World) {
    world.enqueue(draft()).await;
    world.configure(&default_queue(), QueuePatch::default().paused(true)).await;
    let wakeup = world.wakeups().subscribe(&[default_queue()]).expect("subscribe");
    // A store may ring once at the start.
    while tokio::time::timeout(Duration::from_millis(100), wakeup.rung()).await.is_ok() {}
    world.configure(&default_queue(), QueuePatch::default().paused(false)).await;
    let rung = tokio::time::timeout(PATIENCE, wakeup.rung()).await;
    rung.expect("the end of a pause did not ring");
}

/// R13.6: a run that is given back without delay rings for its queue.
/// Guard: whatever makes a job ready rings.
pub async fn r13_6_a_release_rings(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let wakeup = world.wakeups().subscribe(&[default_queue()]).expect("subscribe");
    // A store may ring once at the start.
    while tokio::time::timeout(Duration::from_millis(100), wakeup.rung()).await.is_ok() {}
    world.release(&lease, Duration::ZERO).await;
    let rung = tokio::time::timeout(PATIENCE, wakeup.rung()).await;
    rung.expect("a release did not ring");
}
