//! R13.6, the store's part: wake-ups are hints, and stores send them.

use std::time::Duration;

use queuekit_core::capability::Wakeup;
use queuekit_core::limits::NAME_BYTES;
use queuekit_core::{QueueName, QueuePatch};

use crate::World;
use crate::kit::{default_queue, draft, queue};

/// Real time: a wake-up that has not rung within this time never will.
const PATIENCE: Duration = Duration::from_secs(10);

/// R13.6: a subscriber of a queue is woken for its new work, again and again.
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

/// R13.6: a resumed queue rings.
/// Guard: a change of settings can make jobs ready.
pub async fn r13_6_the_end_of_a_pause_rings(world: &dyn World) {
    world.enqueue(draft()).await;
    world.configure(&default_queue(), QueuePatch::default().paused(true)).await;
    let wakeup = world.wakeups().subscribe(&[default_queue()]).expect("subscribe");
    until_quiet(&wakeup).await;
    world.configure(&default_queue(), QueuePatch::default().paused(false)).await;
    assert_rings(&wakeup, "the end of a pause").await;
}

/// R13.6: a release without delay rings for its queue.
/// Guard: every change that makes a job ready rings.
pub async fn r13_6_a_release_rings(world: &dyn World) {
    let lease = world.lease(draft()).await;
    let wakeup = world.wakeups().subscribe(&[default_queue()]).expect("subscribe");
    until_quiet(&wakeup).await;
    world.release(&lease, Duration::ZERO).await;
    assert_rings(&wakeup, "a release").await;
}

/// R13.6: the same holds if another process waits.
/// Guard: every change that makes a job ready notifies the other handles through the store.
pub async fn r13_6_work_rings_on_other_handles(world: &dyn World) {
    let names = ["enqueued", "released", "resumed"].map(queue);
    let [enqueued, released, resumed]: &[QueueName; 3] = &names;
    world.enqueue_all([released, resumed].map(|name| draft().queue(name))).await;
    let lease = world.reserve_one_from(released).await;
    world.configure(resumed, QueuePatch::default().paused(true)).await;
    let other = world.second_handle().await.expect("the harness said it can");
    let wakeups = other.capabilities().wakeups.expect("the capability Wakeups");
    let [enqueue, release, resume] = [enqueued, released, resumed]
        .map(|name| wakeups.subscribe(std::slice::from_ref(name)).expect("subscribe"));
    for wakeup in [&enqueue, &release, &resume] {
        until_quiet(wakeup).await;
    }
    for what in ["the first enqueue of a queue", "another enqueue"] {
        world.enqueue(draft().queue(enqueued)).await;
        assert_rings(&enqueue, what).await;
    }
    world.release(&lease, Duration::ZERO).await;
    assert_rings(&release, "a release").await;
    world.configure(resumed, QueuePatch::default().paused(false)).await;
    assert_rings(&resume, "the end of a pause").await;
    other.close().await.expect("the other handle should close");
}

/// A store may ring at the start, for earlier changes.
async fn until_quiet(wakeup: &Wakeup) {
    while tokio::time::timeout(Duration::from_millis(100), wakeup.rung()).await.is_ok() {}
}

async fn assert_rings(wakeup: &Wakeup, what: &str) {
    let rung = tokio::time::timeout(PATIENCE, wakeup.rung()).await;
    rung.unwrap_or_else(|_| panic!("{what} did not ring"));
}
