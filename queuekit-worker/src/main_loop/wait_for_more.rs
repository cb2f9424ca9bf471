//! Waits for more outcomes when one has arrived.

use std::future::poll_fn;
use std::task::Poll;

use crate::state::shared::Shared;

/// Others may be about to end too, and one larger batch is cheaper than two: waits while they
/// do, but not until the slots run dry.
pub(super) async fn wait_for_more(shared: &Shared) {
    let enough = shared.settings.slots / 2;
    let mut ended = 0;
    loop {
        yield_once().await;
        let now = shared.inbox().len();
        if now >= enough || now == ended {
            return;
        }
        ended = now;
    }
}

/// Lets other tasks run, in a way that leaves this one where any thread can take it up: tokio's
/// own yield ties it to a thread, which a handler may then block.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
