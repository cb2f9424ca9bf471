//! Says that the worker is there, and in the end that it is gone.

use std::sync::Arc;
use std::time::Duration;

use queuekit_core::capability::{About, Beat, BeatTtl, Served};
use queuekit_core::limits::QUIET;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::about;
use super::beat_interval;
use super::orders::obey;
use crate::state::shared::Shared;

/// How long a worker that ends may take to say so; one that is not heard is listed a while longer.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);

/// Beats until the worker ends, then takes it off the list, so that no reader counts a worker that
/// has ended.
pub(super) async fn beat(shared: &Arc<Shared>, stopped: &CancellationToken) {
    let beating = async {
        // A beat that is under way comes to its end first: it might arrive behind the farewell.
        beat_until(stopped, shared).await;
        if let Some(leases) = shared.leases() {
            // A failure needs no repeat: the presence expires by itself.
            let _ = leases.forget_worker(shared.id()).await;
        }
    };
    let late = async {
        stopped.cancelled().await;
        sleep(FAREWELL).await;
    };
    tokio::select! {
        () = beating => {}
        () = late => {}
    }
}

async fn beat_until(stopped: &CancellationToken, shared: &Arc<Shared>) {
    // Listed for three of it, however long the leases are.
    let ttl = BeatTtl::from(shared.settings.ttl);
    let about = about::process(shared);
    loop {
        // Read once: if a beat said more than this knows, one more would follow in the rest.
        let rests = shared.rest.is_on();
        let mut answered = beat_once(shared, ttl, &about, rests).await;
        if answered == Some(true) {
            // So that the list shows at once that they are obeyed.
            answered = beat_once(shared, ttl, &about, rests).await;
        }
        let next = async {
            if rests && answered.is_some() {
                // That beat said how long the worker makes no call.
                return shared.rest.changes(true).await;
            }
            tokio::select! {
                () = sleep(beat_interval(shared.settings.ttl)) => {}
                () = shared.rest.changes(rests) => {}
            }
        };
        if stopped.run_until_cancelled(next).await.is_none() {
            return;
        }
    }
}

/// Beats, and obeys the orders of the answer; whether they were new, if the store has answered.
async fn beat_once(shared: &Arc<Shared>, ttl: BeatTtl, about: &About, rests: bool) -> Option<bool> {
    let leases = shared.leases()?;
    match leases.beat(&present(shared, ttl, about, rests)).await {
        Ok(orders) => {
            shared.vitals.store_answered();
            Some(obey(shared, orders))
        }
        // Nothing depends on presence: the next beat is soon enough.
        Err(error) => {
            shared.store_error(&error);
            None
        }
    }
}

fn present(shared: &Arc<Shared>, ttl: BeatTtl, about: &About, rests: bool) -> Beat {
    let queues = Served::first(shared.settings.queues.iter().cloned());
    let kinds = Served::first(shared.settings.kinds.names());
    let mut beat = Beat::new(shared.id().clone(), queues, kinds, ttl);
    beat.name.clone_from(&shared.settings.name);
    beat.slots = u32::try_from(shared.ordered.slots()).unwrap_or(u32::MAX);
    beat.running = u32::try_from(shared.registry.busy()).unwrap_or(u32::MAX);
    beat.about = about::now(about, shared);
    beat.obeyed = shared.ordered.obeyed();
    if rests {
        beat.quiet_for = QUIET;
    }
    beat
}
